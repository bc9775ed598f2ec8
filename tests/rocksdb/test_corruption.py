"""Damaged databases: every error is one of ours, names file and position, and costs neither time nor memory."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from stateextract.errors import (
    ChecksumError,
    FormatError,
    StateExtractError,
    TruncatedError,
    UnsupportedError,
    ValueRefusedError,
)
from stateextract.metadata.model import IncrementalHandle
from stateextract.rocksdb import RocksOptions, blocks, checksums, open_rocksdb
from tests.rocksdb.model import ENGINES, Pairs, drain, expected, open_inline, read
from tests.writers import sst as w
from tests.writers.sst import Entry, Format, SstFile, database

ENTRIES = tuple(
    Entry(bytes([i // 10]) + b"key-%05d" % i, i + 1, w.MERGE if i % 5 == 0 else w.PUT, b"value-%d," % i * (i % 7))
    for i in range(60)
)
FORMS = [
    Format(),
    Format(checksum=checksums.CRC32C, compression=w.LZ4, block_size=300),
    Format(checksum=checksums.XXHASH64, compression=w.ZSTD, block_size=300, index_type=w.TWO_LEVEL),
    Format(checksum=checksums.XXHASH, compression=w.NONE, version=6),
    Format(version=0, checksum=checksums.CRC32C, delta=False, user_keys=False),
    Format(checksum=checksums.NONE, compression=w.NONE, index_type=w.FIRST_KEY, data_hash_index=True),
    Format(checksum=checksums.NONE, compression=w.ZLIB, block_size=300, index_restart_interval=4),
]


def make(form: Format) -> tuple[IncrementalHandle, bytes]:
    base = database([SstFile(0, ENTRIES, ((b"\x05", b"\x06", 200),), form)])
    return base, base.shared[0][1].data  # type: ignore[union-attr]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS[:4], ids=str)
def test_damage_in_a_data_block_is_a_checksum_error(form: Format, engine: str) -> None:
    base, data = make(form)
    for at in (3, 40, 100):
        broken = data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1 :]
        with pytest.raises(ChecksumError, match=checksums.NAMES[form.checksum]) as caught:
            read(w.with_file(base, "000010.sst", broken), engine)
        assert caught.value.file == "000010.sst"
        assert caught.value.offset is not None
        assert caught.value.offset <= at


@pytest.mark.parametrize("engine", ENGINES)
def test_verification_can_be_switched_off(engine: str) -> None:
    base, data = make(Format(compression=w.NONE))
    at = data.index(b"value-3,") + 6
    broken = w.with_file(base, "000010.sst", data[:at] + b"X" + data[at + 1 :])
    with pytest.raises(ChecksumError):
        read(broken, engine)
    wanted = expected(ENTRIES, [(b"\x05", b"\x06", 200)])
    found = read(broken, engine, verify=False)
    assert [one for one in zip(wanted, found, strict=True) if one[0] != one[1]] == [
        ((ENTRIES[3].key, ENTRIES[3].value), (ENTRIES[3].key, b"value-X," + ENTRIES[3].value[8:]))
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_other_size_than_the_manifest_says(engine: str) -> None:
    base, data = make(Format())
    with pytest.raises(TruncatedError, match="by the MANIFEST"):
        read(w.with_file(base, "000010.sst", data[:-1]), engine)
    with pytest.raises(FormatError, match="by the MANIFEST"):
        read(w.with_file(base, "000010.sst", data + b"x"), engine)


def resized(base: IncrementalHandle, data: bytes, form: Format) -> IncrementalHandle:
    """The database with another file in the place of its one, of whatever size."""
    file = SstFile(0, ENTRIES, ((b"\x05", b"\x06", 200),), form)
    return w.with_file(
        w.with_file(base, "000010.sst", data), "MANIFEST-000005", w.manifest([(10, len(data), file)], ("state",))
    )


def outcome(handle: IncrementalHandle, engine: str, *, verify: bool) -> object:
    """The pairs, or None for an error of ours with its file; every other exception is the test's failure."""
    try:
        return read(handle, engine, verify=verify)
    except StateExtractError as error:
        if error.file is None and error.offset is not None:
            raise AssertionError(f"{error} does not say in which file") from error
        return None


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_truncated(form: Format) -> None:
    base, data = make(form)
    for size in [*range(0, len(data), 37), len(data) - 1]:
        for engine in ENGINES:
            assert outcome(resized(base, data[:size], form), engine, verify=True) is None


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_mutations(form: Format) -> None:
    """Seeded damage anywhere, unverified: an error of ours or some pairs, and the same from both engines."""
    base, data = make(form)
    rng = random.Random(repr(form))
    for _ in range(300):
        broken = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(broken))
            broken[at] = rng.choice([0, 0xFF, 0x80, broken[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
        if rng.random() < 0.2:
            at = rng.randrange(len(broken))
            del broken[at : at + rng.randint(1, 9)]
        handle = resized(base, bytes(broken), form)
        first, second = (outcome(handle, engine, verify=False) for engine in ENGINES)
        assert first == second


def test_mutated_manifests() -> None:
    base, _ = make(Format())
    data = base.private[1][1].data  # type: ignore[union-attr]
    rng = random.Random(7)
    intact = 0
    for _ in range(400):
        broken = bytearray(data)
        at = rng.randrange(len(broken))
        broken[at] = rng.choice([0, 0xFF, 0x80, broken[at] ^ 1 << rng.randrange(8)])
        handle = w.with_file(base, "MANIFEST-000005", bytes(broken))
        found = outcome(handle, "kernel", verify=False)
        assert found == outcome(handle, "interpreter", verify=False)
        if broken != data:
            intact += outcome(handle, "kernel", verify=True) is not None
    # What the checksums do not cover is the log's end: a header of nothing.
    assert intact <= 40


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [w.SNAPPY, w.LZ4, w.ZSTD, w.ZLIB, w.BZIP2])
def test_announced_sizes_allocate_nothing(kind: int, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first data block, of some bytes, claims to be more than a gigabyte."""
    honest = w.compress
    lies = [w.varint((1 << 30) + 1) + b"\0" * 3]
    monkeypatch.setattr(w, "compress", lambda *given: lies.pop() if lies else honest(*given))
    base, _ = make(Format(compression=kind))
    tracemalloc.start()
    with pytest.raises(FormatError, match="claims 1073741825 plain ones") as caught:
        read(base, engine)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.offset == 0
    assert peak < 20 << 20


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [w.PUT, w.MERGE])
@pytest.mark.parametrize("compression", [w.NONE, w.SNAPPY, w.ZSTD])
def test_values_larger_than_the_largest(compression: int, kind: int, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that has to be larger is not decompressed, and merging ends when the value gets larger."""
    monkeypatch.setattr(blocks, "OTHERS", 3000)
    size, count = (60_000, 1) if kind == w.PUT else (1000, 60)
    entries = tuple(Entry(b"\1key", 1 + n, kind, bytes(size)) for n in range(count))
    handle = database([SstFile(0, entries, form=Format(compression=compression))])

    def pairs(most: int) -> Pairs:
        return drain(open_rocksdb(handle, open_inline, RocksOptions(True, engine, most)).pairs("state", 0, 127, 1))

    ((_, value),) = pairs(100_000)
    assert len(value) == size * count + count - 1
    with pytest.raises(ValueRefusedError, match=r"a value of at least \d+ bytes; expected at most 20000"):
        pairs(20_000)


@pytest.mark.parametrize("engine", ENGINES)
def test_counts_are_held_against_the_properties(engine: str) -> None:
    class Dropping(SstFile):
        def bytes(self) -> bytes:
            writer = w.SstWriter(self.form)
            properties = writer._properties

            writer._properties = lambda entries, deletions, n: properties([*entries, entries[-1]], deletions, n)  # type: ignore[method-assign]
            return writer.write(self.entries)

    with pytest.raises(FormatError, match="has 60 entries; expected 61"):
        read(database([Dropping(0, ENTRIES)]), engine)


def test_unknown_magic_and_versions() -> None:
    base, data = make(Format())
    for tail, error in (
        (bytes.fromhex("6495BF6396224282"), "a plain table"),
        (bytes(8), "ends in 0x0000000000000000"),
    ):
        with pytest.raises(StateExtractError, match=error):
            read(w.with_file(base, "000010.sst", data[:-8] + tail))
    with pytest.raises(UnsupportedError, match="format version 7"):
        read(w.with_file(base, "000010.sst", data[:-12] + b"\x07" + data[-11:]))
    with pytest.raises(UnsupportedError, match="checksum type 9"):
        read(w.with_file(base, "000010.sst", data[:-53] + b"\x09" + data[-52:]))
