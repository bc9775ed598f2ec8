"""Databases that are whole and contradict themselves: what Flink never writes is reported, and all other states are read."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import stateextract
from stateextract.errors import FormatError
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.metadata.model import IncrementalHandle, InlineHandle, SubtaskState
from stateextract.options import JobOptions
from tests.cli.test_cli import Out, out
from tests.cli.test_contradictions import statuses
from tests.rocksdb.model import ENGINES, read
from tests.state.keyed_writer import Keyed, State, head, write
from tests.writers import sst as w
from tests.writers.sst import PUT, Entry, Format, SstFile, database

__all__ = ["out"]  # a fixture

ROWS = tuple(
    Entry(bytes([i // 10]) + struct.pack(">q", i) + b"\0", i + 1, PUT, struct.pack(">q", 10 * i)) for i in range(40)
)
OTHER = (Entry(b"\x01" + bytes(9), 99, PUT, bytes(8)),)


@dataclass(frozen=True)
class LyingFile(SstFile):
    """A file of other properties or bounds than its entries have."""

    properties: Mapping[bytes, bytes] = field(default_factory=dict)
    stated: tuple[bytes, bytes] | None = None

    def bytes(self) -> bytes:
        writer = w.SstWriter(self.form)
        found = writer._properties

        def lie(entries: Sequence[Entry], deletions: Sequence[object], blocks: int) -> list[tuple[bytes, bytes]]:
            return sorted({**dict(found(entries, deletions, blocks)), **self.properties}.items())

        writer._properties = lie  # type: ignore[method-assign]
        return writer.write(self.entries)

    def bounds(self) -> tuple[bytes, bytes]:
        return self.stated or super().bounds()


def snapshot(
    folder: Path, files: Sequence[SstFile], states: Sequence[str], change: Callable[..., IncrementalHandle], names: str = "ab"
) -> str:
    """Of one operator whose head has the states ``names``."""
    header = InlineHandle("meta", head(Keyed([State(name) for name in names]), False))
    handle = change(replace(database(files, states, 0, 4), meta=header))
    return str(write(folder / "chk-1", [SubtaskState(0, None, None, handle, None, (), (), None)]))


def same(handle: IncrementalHandle) -> IncrementalHandle:
    return handle


def cut_short(handle: IncrementalHandle) -> IncrementalHandle:
    """Its MANIFEST ends before the second file."""
    return w.with_file(handle, "MANIFEST-000005", w.manifest([(10, len(A.bytes()), A)], ("a", "b")))


SEQNO = b"rocksdb.external_sst_file.global_seqno"
A, B = SstFile(0, ROWS, state="a"), SstFile(0, OTHER, state="b")
EARLY = LyingFile(1, ROWS, state="a", stated=(ROWS[0].internal, ROWS[15].internal))
MORE = LyingFile(0, ROWS, state="a", properties={b"rocksdb.num.entries": w.varint(41)})


@pytest.mark.parametrize(
    ("files", "states", "change", "found", "reason"),
    [
        ([A], "a", same, {"a": ("decoded", 40), "b": ("unreadable", 0)},
         "the database has no column family 'b'; expected one of a;"),
        ([A, replace(B, state="c")], "abc", same, {"a": ("decoded", 40), "b": ("decoded", 0), "c": ("unreadable", 0)},
         "the database has 1 file of a state 'c', which its head does not list"),
        ([A, B], "ab", cut_short, {"a": ("partial", 40), "b": ("unreadable", 0)},
         "the MANIFEST does not list 000011.sst of the state handle, so rows may be missing"),
        ([MORE, B], "ab", same, {"a": ("partial", 40), "b": ("decoded", 1)},
         "the file has 40 entries; expected 41 by its properties"),
        ([EARLY, B], "ab", same, {"a": ("partial", 10), "b": ("decoded", 1)}, "a key is outside of the bounds of file 10"),
    ],
    ids=["no family", "family without head", "MANIFEST cut short", "more entries stated", "narrow bounds"],
)  # fmt: skip
def test_the_job_reports_it(
    tmp_path: Path, out: Out, files: list[SstFile], states: str, change: Callable[..., IncrementalHandle],
    found: dict[str, tuple[str, int]], reason: str,
) -> None:  # fmt: skip
    path = snapshot(tmp_path, files, tuple(states), change)
    outcome = run_job(JobOptions(snapshot=path, output=str(tmp_path / "rows")), in_this_process)
    entries = outcome.coverage.entries
    assert {str(e.state): (str(e.status), e.read.rows) for e in entries} == found
    assert any(reason in (e.reason or "") for e in entries)
    code, text, err = out("count", path, "--format", "json")
    assert (code in (1, 3), err) == (True, "")
    counted = {str(state): one for (_, state), one in statuses(text).items()}
    whole = [{name for name, (status, _) in one.items() if status == "decoded"} for one in (counted, found)]
    assert whole[0] == whole[1]
    assert out("validate", path)[0] == 1


def test_a_name_with_a_lone_surrogate(tmp_path: Path) -> None:
    """Java gave RocksDB a question mark."""
    path = snapshot(tmp_path, [replace(A, state="?")], "?", same, "\ud800")
    (state,) = stateextract.open_snapshot(path).states
    assert (state.name, state.count(), str(state.coverage.status)) == ("\ud800", 40, "decoded")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("file", "message"),
    [
        (LyingFile(0, ROWS, properties={b"rocksdb.num.range-deletions": w.varint(1)}), "has 0 range deletions; expected 1"),
        (LyingFile(0, ROWS, stated=(ROWS[1].internal, ROWS[39].internal)), "a key is outside of the bounds of file 10"),
        (LyingFile(0, ROWS, stated=(ROWS[0].internal, ROWS[38].internal)), "a key is outside of the bounds of file 10"),
        (LyingFile(0, ROWS, form=Format(global_seqno=70), properties={SEQNO: b"\x09" + bytes(7)}),
         "has the sequence number 9 by its properties; expected 70"),
    ],
    ids=["range deletions", "first key", "last key", "number of an ingested file"],
)  # fmt: skip
def test_a_file_and_its_manifest(file: SstFile, message: str, engine: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read(database([file]), engine)
    assert caught.value.file == "000010.sst"
