"""What changed between two snapshots: rows added, removed and changed, state by state.

May import job, state and columnar; must not know of Spark or of the command line.
"""
