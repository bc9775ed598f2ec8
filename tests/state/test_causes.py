"""A cause that makes many states unreadable is told once, in the coverage report, statistics and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from serializers.classes import NOT_DESCRIBED
from stateextract.state.causes import causes_of, is_caused, problem_after
from tests.cli.test_cli import Out, out
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot

__all__ = ["out"]  # a fixture

SECRET = f"a value of com.acme.Secret cannot be decoded: {NOT_DESCRIBED}"


def test_one_class_and_the_states_after_it() -> None:
    states: list[tuple[Any, list[str | None]]] = [("s", [SECRET, SECRET])]
    states += [(n, [problem_after("s", SECRET)]) for n in range(12)]
    states += [("fine", [None]), ("other", ["the data ends inside a value"])]
    (cause,) = causes_of(states)
    assert cause.sentence == "1 class is not described: com.acme.Secret → 12 states after it are unreadable"
    assert (cause.class_name, cause.own, cause.after) == ("com.acme.Secret", ["s"], list(range(12)))
    assert is_caused(problem_after("it's in the same key group: odd", SECRET))
    assert not is_caused("the data ends inside a value")


def test_a_class_with_nothing_after_it() -> None:
    (cause,) = causes_of([("s", [SECRET])])
    assert cause.sentence == "1 class is not described: com.acme.Secret → 1 state is unreadable"
    (cause,) = causes_of([("s", ["values of X cannot be decoded: only the job knows how"]), ("t", [None])])
    assert cause.sentence == "values of X cannot be decoded → 1 state is unreadable"


SENTENCE = "1 serializer is not known: com.example.ShapeSerializerSnapshot → 3 states after it are unreadable"


def test_everywhere_once(out: Out, tmp_path: Path) -> None:
    states = {name: numbered(8) for name in ("a", "money", "x", "y", "z")}
    path = str(write_snapshot(tmp_path / "s", {"op": states}, values={"money": UNKNOWN}))
    folder = tmp_path / "out"
    code, text, _ = out("extract", path, "--engine", "local", "--on-undecodable", "skip", "-o", str(folder))
    assert (code, text.count("ShapeSerializerSnapshot"), text.count(SENTENCE)) == (3, 1, 1)
    document = json.loads((folder / "_coverage.json").read_text())
    (cause,) = document["causes"]
    assert cause["cause"] == SENTENCE
    assert [state["state_name"] for state in cause["states"]] == ["money"]
    assert [state["state_name"] for state in cause["states_after"]] == ["x", "y", "z"]
    code, text, _ = out("stats", path)
    assert (code, text.count("ShapeSerializerSnapshot"), text.count(SENTENCE)) == (3, 1, 1)
    assert out("report", path, "-o", str(tmp_path / "page.html"))[0] == 3
    page = (tmp_path / "page.html").read_text()
    assert page.count(json.dumps(SENTENCE)[1:-1]) == 1
