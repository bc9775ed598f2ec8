"""What notebooks show of snapshots, operators and states."""

from __future__ import annotations

from pathlib import Path

import stateextract
from stateextract.api.html import MOST, table
from tests.job.snapshots import numbered, write_snapshot


def test_tables_of_a_snapshot(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "chk-7", {"a<b>": {"s&t": numbered(8)}})
    snapshot = stateextract.open_snapshot(str(path))
    (operator,) = snapshot.operators
    (state,) = operator.states
    html = snapshot._repr_html_()
    title = f"Snapshot {snapshot.path}, checkpoint {snapshot.checkpoint_id}"
    assert html.startswith(f"<p>{title}</p><table><thead><tr><th>operator</th>")
    assert f"<td>a&lt;b&gt;</td><td>{operator.id}</td>" in html
    assert "<td>s&amp;t</td><td>value</td><td>decoded</td><td></td>" in operator._repr_html_()
    html = state._repr_html_()
    assert html.startswith("<p>State s&amp;t (value) of a&lt;b&gt;, decoded</p>")
    for field in state.schema:
        assert f"<td>{field.name}</td><td>{field.type}</td>" in html


def test_names_begin_no_markup_and_tables_have_an_end() -> None:
    html = table("<script>", ["<i>"], [("<img>\n\x1b[31m", None)] * (MOST + 2))
    assert html.startswith("<p>&lt;script&gt;</p><table><thead><tr><th>&lt;i&gt;</th></tr></thead>")
    assert html.count(r"<tr><td>&lt;img&gt;\n\x1b[31m</td><td></td></tr>") == MOST
    assert html.endswith("</table><p>and 2 more</p>")
