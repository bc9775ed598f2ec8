"""Bytes of entries and ``completedCheckpoint`` files: what Flink's classes read in them, and what becomes of damaged ones."""

from __future__ import annotations

import base64
import json
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from stateextract.errors import FormatError, StateExtractError
from stateextract.files.javastream import JavaArray, JavaObject, parse_java_stream
from stateextract.files.reader import Reader
from stateextract.ha.documents import parse_documents
from stateextract.ha.kubernetes import stores_of_config_maps
from stateextract.ha.objects import MOST_ENTRY_BYTES, parse_completed_checkpoint, parse_entry
from stateextract.ha.zookeeper import nodes_of_dump, stores_of_znodes

EXAMPLE = Path(__file__).parents[2] / "examples" / "high-availability"
FOLDERS = {path.name: path for path in [EXAMPLE, *sorted((Path(__file__).parent / "data").iterdir())]}
"""The cases of ``generate.py``."""
EXPECTED: dict[str, Any] = {case: json.loads((path / "expected.json").read_text()) for case, path in FOLDERS.items()}
NEWEST = "f23-changes-canonical-ha-savepoint"
OLDEST = min(name for name in FOLDERS if name != EXAMPLE.name)


def files(case: str) -> list[Path]:
    return sorted((FOLDERS[case] / "ha").rglob("completedCheckpoint*"))


def entry(case: str = NEWEST) -> bytes:
    (store,) = stores_of_znodes(nodes_of_dump(json.loads((FOLDERS[case] / "znodes.json").read_text())))
    nodes = nodes_of_dump(json.loads((FOLDERS[case] / "znodes.json").read_text()))
    data = nodes[f"{store.location}/{store.entries[-1].name}"]
    assert data is not None
    return data


@pytest.mark.parametrize("case", FOLDERS)
def test_files(case: str) -> None:
    """All that Flink's own classes say of the files that the entries name."""
    found = {one.checkpoint_id: one for one in (parse_completed_checkpoint(path.read_bytes()) for path in files(case))}
    for right in EXPECTED[case]["checkpoints"]:
        one = found[right["id"]]
        assert {
            "job_id": one.job_id, "triggered": one.triggered, "completed": one.completed,
            "is_savepoint": one.properties.kind == "savepoint",
            "external_pointer": one.external_pointer, "metadata_size": one.metadata_size,
        } == {name: value for name, value in right.items() if name not in ("name", "id", "operators")}  # fmt: skip
        assert one.metadata_uri == f"{one.external_pointer}/_metadata"
        assert one.unclaimed is False


@pytest.mark.parametrize("case", FOLDERS)
def test_entries(case: str) -> None:
    (store,) = stores_of_znodes(nodes_of_dump(json.loads((FOLDERS[case] / "znodes.json").read_text())))
    assert store.job_id == EXPECTED[case]["job_id"]
    assert [one.name for one in store.entries] == [one["name"] for one in EXPECTED[case]["checkpoints"]]
    sizes = {path.name: path.stat().st_size for path in files(case)}
    for one in store.entries:
        assert one.handle is not None
        assert one.handle.uri is not None
        assert one.handle.uri.startswith(f"file:{EXPECTED[case]['work']}/ha/")
        assert one.handle.size == sizes[one.handle.uri.rpartition("/")[2]]
        assert one.checkpoint_id == int(one.name)


@pytest.mark.parametrize("case", [case for case in FOLDERS if (FOLDERS[case] / "configmap.yaml").exists()])
def test_config_maps(case: str) -> None:
    """JSON and YAML are the same, and their entries those of ZooKeeper; the one that is being removed is passed over."""
    document = json.loads((FOLDERS[case] / "configmap.json").read_text())
    assert parse_documents((FOLDERS[case] / "configmap.yaml").read_text()) == [document]
    (zookeeper,) = stores_of_znodes(nodes_of_dump(json.loads((FOLDERS[case] / "znodes.json").read_text())))
    for form in (document, {"kind": "List", "items": [document, {"kind": "Secret"}]}):
        (store,) = stores_of_config_maps(form)
        counting = [one for one in store.entries if one.skipped is None]
        assert [one.handle for one in counting] == [one.handle for one in zookeeper.entries]
        assert [one.checkpoint_id for one in counting] == [one.checkpoint_id for one in zookeeper.entries]
        removed = [one.skipped for one in store.entries if one.skipped is not None]
        assert removed == ["marked for deletion"]


# ---- damage


@pytest.mark.parametrize("case", [OLDEST, NEWEST])
def test_every_byte_of_an_entry_changed(case: str) -> None:
    """An entry with one byte changed is a handle, or one of our errors; never anything else."""
    whole = entry(case)
    for at in range(len(whole)):
        for value in (0, 0x70, 0x71, 0x7B, 0xFF, whole[at] ^ 1):
            try:
                parse_entry(whole[:at] + bytes([value]) + whole[at + 1 :])
            except StateExtractError:
                continue


def test_every_length_of_an_entry() -> None:
    whole = entry()
    for length in range(len(whole)):
        with pytest.raises(FormatError):
            parse_entry(whole[:length])
    assert parse_entry(whole + b"more") == parse_entry(whole)  # as Flink


def test_a_file_cut_anywhere() -> None:
    whole = files(NEWEST)[0].read_bytes()
    for length in range(0, len(whole), 97):
        with pytest.raises(FormatError):
            parse_completed_checkpoint(whole[:length])


def test_bytes_of_a_file_changed() -> None:
    whole = files(NEWEST)[0].read_bytes()
    for at in range(0, len(whole), 41):
        try:
            parse_completed_checkpoint(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        except StateExtractError:
            continue


def described(name: str, fields: str = "") -> bytes:
    """A class descriptor: serializable, with fields of objects of ``java.lang.Object``."""
    text = b"\x72" + struct.pack(">H", len(name)) + name.encode() + bytes(8) + b"\x02"
    text += struct.pack(">H", len(fields.split()))
    for field in fields.split():
        text += b"L" + struct.pack(">H", len(field)) + field.encode() + b"\x74\x00\x12Ljava/lang/Object;"
    return text + b"\x78\x70"


RETRIEVABLE = "org.apache.flink.runtime.state.RetrievableStreamStateHandle"
HOSTILE = {
    "another class": (b"\x73" + described("javax.management.BadAttributeValueExpException"), "the entry is an object of"),
    "a text": (b"\x74\x00\x01x", "the entry is something else"),
    "null": (b"\x70", "the entry is something else"),
    "itself": (
        b"\x73" + described(RETRIEVABLE, "wrappedStreamStateHandle") + b"\x71\x00\x7e\x00\x02", "the handle of the entry",
    ),
    "a class in place of an object": (
        b"\x73" + described(RETRIEVABLE, "wrappedStreamStateHandle") + b"\x71\x00\x7e\x00\x00", "the handle of the entry",
    ),
    "nothing that was before": (
        b"\x73" + described(RETRIEVABLE, "wrappedStreamStateHandle") + b"\x71\x00\x7e\x0f\xff", "reference to handle",
    ),
    "an exception": (b"\x7b", "broke off with an exception"),
    "a text of 2^62 bytes": (b"\x7c\x40" + bytes(7), "the data ends inside"),
    "an array of 2^31 elements": (b"\x75" + described("[I") + b"\x7f\xff\xff\xff", "invalid number"),
    "a thousand levels": (
        b"\x73" + described(RETRIEVABLE, "wrappedStreamStateHandle") + b"\x73" + described("x", "a")
        + b"\x73\x71\x00\x7e\x00\x03" * 1000,
        "nested deeper",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_entries(what: str) -> None:
    data, message = HOSTILE[what]
    begun = time.monotonic()
    with pytest.raises(FormatError, match=message):
        parse_entry(b"\xac\xed\x00\x05" + data)
    assert time.monotonic() - begun < 1


BYTES_HANDLE = "org.apache.flink.runtime.state.memory.ByteStreamStateHandle"


def entry_with(data: bytes) -> bytes:
    """An entry whose handle has its bytes in it, in the field ``data``."""
    handle = b"\x73" + described(BYTES_HANDLE, "data handleName") + data + b"\x74\x00\x01n"
    return b"\xac\xed\x00\x05\x73" + described(RETRIEVABLE, "wrappedStreamStateHandle") + handle


def test_bytes_in_an_entry() -> None:
    found = parse_entry(entry_with(b"\x75" + described("[B") + b"\x00\x00\x00\x03abc"))
    assert (found.uri, found.size, found.inline, found.marked) == (None, 3, b"abc", False)
    for wrong in (b"\x70", b"\x75" + described("[I") + bytes(4)):
        with pytest.raises(FormatError, match="a handle with its bytes in it has none"):
            parse_entry(entry_with(wrong))


def test_metadata_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the storage in the JobManager's memory has it: there is no file to read."""
    (data, *_) = (path.read_bytes() for path in files(NEWEST))
    value = parse_java_stream(Reader(data))
    assert isinstance(value, JavaObject)
    handle = JavaObject(BYTES_HANDLE, {BYTES_HANDLE: {"data": JavaArray("[B", b"abcd"), "handleName": "n"}})
    value.fields[value.class_name]["metadataHandle"] = handle
    monkeypatch.setattr("stateextract.ha.objects.parse_java_stream", lambda *_: value)
    found = parse_completed_checkpoint(data)
    assert (found.metadata_uri, found.metadata_size) == (None, 4)


def test_a_marker_without_its_flag() -> None:
    name = "org.apache.flink.kubernetes.highavailability.KubernetesStateHandleStore$StateHandleWithDeleteMarker"
    with pytest.raises(FormatError, match="has no flag markedForDeletion"):
        parse_entry(b"\xac\xed\x00\x05\x73" + described(name, "inner") + b"\x70")


def test_an_entry_is_no_larger_than_the_stores_take() -> None:
    with pytest.raises(FormatError, match=f"the entry has {MOST_ENTRY_BYTES + 1} bytes"):
        parse_entry(entry().ljust(MOST_ENTRY_BYTES + 1, b"\0"))


def test_a_file_of_another_class() -> None:
    with pytest.raises(FormatError, match=r"the file is an object of 'java\.util\.HashMap'"):
        parse_completed_checkpoint(b"\xac\xed\x00\x05\x73" + described("java.util.HashMap"))


# ---- the stores


JOB = "0123456789abcdef0011223344556677"


def of_nodes(*paths: str, root: str = "/flink/default") -> list[tuple[str, int | None, str | None]]:
    handle = entry()
    (store,) = stores_of_znodes({f"{root}{path}": handle for path in paths})
    assert store.job_id == JOB
    return [(one.name, one.checkpoint_id, one.skipped) for one in store.entries]


FOUR, FIVE = f"{4:019d}", f"{5:019d}"


def test_locks_are_no_entries() -> None:
    """Before 1.15 a lock is a child of the entry, and an entry without one counts."""
    old = f"/checkpoints/{JOB}"
    assert of_nodes(old, f"{old}/{FIVE}", f"{old}/{FIVE}/some-uuid", f"{old}/{FOUR}") == [(FOUR, 4, None), (FIVE, 5, None)]
    new = f"/jobs/{JOB}/checkpoints"
    assert of_nodes(new, f"{new}/{FIVE}", f"{new}/{FIVE}/uuid", f"{new}/{FOUR}") == [(FOUR, 4, None), (FIVE, 5, None)]


def test_an_entry_without_locks_is_being_removed_since_flink_115() -> None:
    new = f"/jobs/{JOB}/checkpoints"
    removed = "no locks child: the entry is being removed"
    paths = (f"{new}/{FOUR}", f"{new}/{FOUR}/locks", f"{new}/{FOUR}/locks/uuid", f"{new}/{FIVE}")
    assert of_nodes(*paths) == [(FOUR, 4, None), (FIVE, 5, removed)]
    # All of its entries may be on their way out: a graph always has locks.
    assert of_nodes(f"{new}/{FIVE}", f"/execution-plans/{JOB}/locks", root="/a/b") == [(FIVE, 5, removed)]


def test_names_that_are_no_ids_are_left_aside() -> None:
    new, none = f"/jobs/{JOB}/checkpoints", "the name is not the id of a checkpoint"
    names = ["abc", "1" * 20, "-4", "٤", "+4"]
    assert of_nodes(f"{new}/{FOUR}", *(f"{new}/{name}" for name in names)) == sorted(
        [(FOUR, 4, None), *((name, None, none) for name in names)]
    )


def test_a_node_without_data_is_no_handle() -> None:
    (store,) = stores_of_znodes({f"/flink/default/jobs/{JOB}/checkpoints/{FOUR}": None})
    reason = "entry is no handle: the data ends inside the header of a Java object stream"
    assert store.entries[0].skipped == reason


def test_a_job_in_both_layouts_has_two_stores() -> None:
    stores = stores_of_znodes({f"/f/checkpoints/{JOB}/{FOUR}": entry(), f"/f/jobs/{JOB}/checkpoints/{FIVE}": entry()})
    assert [(one.location, one.entries[0].checkpoint_id) for one in stores] == [
        (f"/f/checkpoints/{JOB}", 4), (f"/f/jobs/{JOB}/checkpoints", 5),
    ]  # fmt: skip


def test_other_nodes_are_none_of_a_store() -> None:
    of_job = (f"/jobs/{JOB}", f"/jobs/{JOB}/checkpoint_id_counter")
    others = (*of_job, f"/leader/{JOB}/job_manager_lock", f"/running_job_registry/{JOB}")
    (store,) = stores_of_znodes({f"/flink/default{path}": b"x" for path in others})
    assert (store.job_id, store.entries) == (JOB, [])


def test_a_value_that_is_not_base64_ends_the_start() -> None:
    data = {f"checkpointID-{FOUR}": base64.b64encode(entry()).decode().rstrip("="), f"checkpointID-{FIVE}": "???"}
    name = f"team-a-b-{JOB}-config-map"
    (store,) = stores_of_config_maps({"kind": "ConfigMap", "metadata": {"name": name}, "data": data})
    assert (store.job_id, [one.problem is None for one in store.entries]) == (JOB, [True, False])
    assert "is not Base64" in str(store.entries[1].problem)


@pytest.mark.parametrize(
    "document",
    [{"kind": "Secret"}, {"kind": "List"}, [], "text", {"kind": "List", "items": {}},
     {"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {f"checkpointID-{FOUR}": 4}}],
)  # fmt: skip
def test_other_documents_are_refused(document: Any) -> None:
    with pytest.raises(FormatError):
        stores_of_config_maps(document)


def test_config_maps_of_other_things_are_ignored() -> None:
    assert stores_of_config_maps({"kind": "ConfigMap", "metadata": {"name": "a-cluster-config-map"}, "data": None}) == []
    assert stores_of_config_maps({"kind": "ConfigMapList", "items": [{"metadata": {}}, {}]}) == []


@pytest.mark.parametrize("document", [{}, [1], [{"path": "x"}], [{"path": "/x/jobs", "data": 4}], [{"data": ""}]])
def test_other_dumps_are_refused(document: Any) -> None:
    with pytest.raises(FormatError):
        nodes_of_dump(document)
