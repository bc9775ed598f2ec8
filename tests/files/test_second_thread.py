"""Two pieces of work at once: both have ended when anything comes back, and none needs a thread that is not to be had."""

from __future__ import annotations

import threading
from typing import NoReturn

import pytest

from stateextract.files import second_thread as beside
from stateextract.files.second_thread import SecondThread, done


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "usable_cores", lambda: 2)


def test_both_run_at_once() -> None:
    meeting = threading.Barrier(2, timeout=30)
    here, there = SecondThread().run(lambda: (meeting.wait(), threading.get_ident())[1], lambda: (meeting.wait(), 7)[1])
    assert here == threading.get_ident()
    assert there.result() == 7


def test_with_one_core_they_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "usable_cores", lambda: 1)
    one = SecondThread()
    assert not one.is_there
    here, there = one.run(threading.get_ident, threading.get_ident)
    assert here == there.result() == threading.get_ident()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_waits_for_the_other_one(error: type[BaseException]) -> None:
    failed, ended = threading.Event(), threading.Event()

    def here() -> NoReturn:
        failed.set()
        raise error

    def there() -> None:
        failed.wait()
        threading.Event().wait(0.05)
        ended.set()

    with pytest.raises(error):
        SecondThread().run(here, there)
    assert ended.is_set()


def test_an_interruption_while_it_waits_waits_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, ended = threading.Event(), threading.Event()
    waits = 0
    wait = beside.futures.wait

    def interrupted(of: object) -> object:
        nonlocal waits
        waits += 1
        if waits < 3:
            raise KeyboardInterrupt
        go_on.set()
        return wait(of)  # type: ignore[arg-type]

    monkeypatch.setattr(beside.futures, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SecondThread().run(lambda: None, lambda: (go_on.wait(), ended.set()))
    assert waits == 3
    assert ended.is_set()


def test_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    both = SecondThread()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        here, there = both.run(threading.get_ident, threading.get_ident)
        assert here == there.result() == threading.get_ident()
    # What could not be begun must not run later.
    assert not both.is_there
    assert both.run(threading.get_ident, threading.get_ident)[1].result() == threading.get_ident()


def test_what_was_done_at_once() -> None:
    assert done(lambda: 5).result() == 5
    with pytest.raises(ZeroDivisionError):
        done(lambda: 1 // 0).result()
