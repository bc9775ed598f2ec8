"""What changed between two snapshots: rows added, removed and changed, state by state.

:func:`run_diff` compares and, if wanted, publishes datasets of changes. May import job, state and columnar; must not know of
Spark or of the command line.
"""

from stateextract.diff.diff_plan import DiffOptions, DiffPlan, DiffState, make_diff_plan
from stateextract.diff.diff_run import DiffResult, run_diff
from stateextract.diff.summary import DiffCounts

__all__ = ["DiffCounts", "DiffOptions", "DiffPlan", "DiffResult", "DiffState", "make_diff_plan", "run_diff"]
