from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateextract.job.directory_names import LONGEST, escaped, operator_folders, state_folders


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("counts", "counts"),
        ("_timer_state/event_user-timers", "timer_state-event_user-timers"),
        (".hidden", "hidden"),
        ("a=b", "a-b"),
        ("a b*?[{\\:", "a-b"),
        ("größe", "größe"),
        ("tab\tnul\0", "tab-nul"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("lone \ud800 surrogate", "lone---surrogate"),
        ("trailing.", "trailing"),
    ],
)
def test_escaped(name: str, folder: str) -> None:
    assert escaped(name) == folder


def test_operator_is_called_by_uid_then_name_then_id() -> None:
    one, two, three = "0a" * 16, "0b" * 16, "0c" * 16
    folders = operator_folders([(one, "my-uid", "name"), (two, None, "Window(Tumbling)"), (three, None, None)])
    assert folders == {one: "my-uid", two: "Window-Tumbling-0b0b0b0b", three: three}


def test_clashes_get_a_hash_of_the_name_each() -> None:
    folders = state_folders(["Count", "count", "other"])
    assert folders["other"] == "other"
    assert re.fullmatch(r"Count-[0-9a-f]{8}", folders["Count"])
    assert re.fullmatch(r"count-[0-9a-f]{8}", folders["count"])
    assert folders["Count"][5:] != folders["count"][5:]
    assert state_folders(["other", "count", "Count"]) == folders


def test_two_names_that_differ_only_in_replaced_characters() -> None:
    folders = state_folders(["a/b", "a:b"])
    assert len(set(folders.values())) == 2
    assert all(f.startswith("a-b-") for f in folders.values())


def test_a_state_called_like_a_raw_tail() -> None:
    folders = state_folders(["x", "x__raw", "X__RAW"])
    assert folders["x"] == "x"
    assert not any(f.casefold().endswith("__raw") for f in folders.values())
    like_its_folder = folders["x__raw"]
    more = state_folders(["x", "x__raw", like_its_folder])
    assert len(set(more.values())) == 3
    assert more["x__raw"] == like_its_folder


def test_names_like_others_with_their_hash() -> None:
    folders = state_folders(["a", "A"])
    more = state_folders(["a", "A", *folders.values()])
    assert len({f.casefold() for f in more.values()}) == 4


def test_long_names_are_cut_and_stay_apart() -> None:
    folders = state_folders(["ä" * 300, "ä" * 301])
    assert len(set(folders.values())) == 2
    assert all(len(f.encode()) <= LONGEST + 9 for f in folders.values())


@given(st.lists(st.text(max_size=200), unique=True, max_size=12))
def test_folders_are_safe_and_differ(names: list[str]) -> None:
    folders = state_folders(names)
    assert set(folders) == set(names)
    assert len({f.casefold() for f in folders.values()}) == len(names)
    for folder in folders.values():
        assert folder[0] not in "_."
        assert not set(folder) & set("/\\=*?[]{}:\0\n ")
        assert len(folder.encode()) < 160
