"""What the code of a job declares: classes that ``javac`` made of ``jobs/declared``, and damaged ones."""

from __future__ import annotations

import contextlib
import shutil
import struct
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from serializers.classcode import ClassCode, ClassLiteral, Lambda, Member, parameter_types
from serializers.registry import SerializerSnapshot
from stateextract.errors import FormatError, StateExtractError
from stateextract.metadata.uid import operator_id
from stateextract.restore.answers import Release
from stateextract.restore.by_classes import ByClasses, Candidates
from stateextract.restore.bytecode import Constant, Interpreter, New, Value
from stateextract.restore.compare_serializers import label
from stateextract.restore.declarations import Declarations, read_declarations
from stateextract.restore.derive import Derivation
from stateextract.restore.job_classes import JobClasses
from stateextract.restore.type_extractor import Extractor, simple
from stateextract.restore.typeinfo import TypeReader
from stateextract.snapshot.source import Store
from stateextract.state.header import NAMESPACE, VALUE, StateMeta
from tests.restore.test_golden import ARCHIVE

VISIT = "PojoSerializer<declared.plain.Visits$Visit>"
VOID = "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot"
PAIR = "TupleSerializer<org.apache.flink.api.java.tuple.Tuple2>"


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("declared")
    with tarfile.open(ARCHIVE) as found:
        members = [member for member in found.getmembers() if member.name.startswith("classes/declared/")]
        found.extractall(made, members, filter="data")
    return made / "classes" / "declared"


def job(path: Path) -> tuple[Declarations, TypeReader]:
    classes = JobClasses([str(path)], Store())
    found = read_declarations(classes)
    return found, TypeReader(Extractor(classes, Release(2, 3)), lambda value: found.resolved(value))


def states(path: Path) -> dict[str, tuple[str, bool | None, set[str], list[str | None]]]:
    found, types = job(path)
    made = {}
    for name, (one,) in found.states.items():
        read = [types.of(value) for value in one.types]
        labels = [None if snapshot is None else label(snapshot) for snapshot in read]
        made[name] = one.kind, one.ttl, set(one.uses), labels
    return made


def test_the_usual_ways_to_declare_a_state(declared: Path) -> None:
    assert states(declared / "plain") == {
        "last": ("VALUE", False, {"keyed"}, [VISIT]),
        "count": ("VALUE", True, {"keyed"}, ["LongSerializer"]),
        "pairs": ("LIST", False, {"keyed"}, [PAIR]),
        "maybe": ("VALUE", None, {"keyed"}, ["ListSerializer<LongSerializer>"]),
        "numbers": ("MAP", False, {"keyed"}, ["IntSerializer", "IntPrimitiveArraySerializer"]),
        "shared": ("LIST", False, {"UNION"}, ["StringSerializer"]),
        "own": ("LIST", False, {"keyed"}, [PAIR]),
        "rules": ("MAP", False, {"BROADCAST"}, ["StringSerializer", VISIT]),
    }


def test_keys_uids_and_the_maximum_parallelism(declared: Path) -> None:
    found, types = job(declared / "plain")
    keys = [types.of_key(value) for value in found.keys]
    assert [None if key is None else label(key) for key in keys] == [PAIR, "StringSerializer"]
    assert found.ids == {operator_id("visits")}
    assert found.max_parallelisms == {64}
    assert (found.unknown, found.other_types) == ((), False)


def test_a_method_sets_the_ttl_of_what_it_is_given(declared: Path) -> None:
    """So it is not known of a descriptor that other code can have, and of another it is."""
    assert states(declared / "helped") == {
        "lasting": ("VALUE", None, {"keyed"}, ["LongSerializer"]), "plain": ("LIST", False, {"keyed"}, ["LongSerializer"]),
    }  # fmt: skip


def test_what_is_computed_is_not_known(declared: Path) -> None:
    found, types = job(declared / "named")
    assert found.unknown == ("declared.named.Named",)
    assert [types.of_key(value) for value in found.keys] == [None]
    assert found.max_parallelisms == {None}
    assert found.states == {}


def test_states_of_windows(declared: Path) -> None:
    assert states(declared / "windowed") == {
        "of-window": ("VALUE", False, {"window"}, ["LongSerializer"]),
        "of-all": ("VALUE", False, {"keyed"}, ["LongSerializer"]),
    }


def test_a_field_that_other_classes_may_set_is_not_known(declared: Path) -> None:
    """A subclass, another class and a nested class, of which two have nothing of Flink's."""
    unknown = {name: ("VALUE", False, {"keyed"}, [None]) for name in ("by-subclass", "by-nested", "by-other")}
    assert states(declared / "hidden") == unknown | {"own": ("VALUE", False, {"keyed"}, ["LongSerializer"])}


def test_a_selector_that_says_the_type_of_its_keys_itself(declared: Path) -> None:
    found, types = job(declared / "hidden")
    assert [types.of_key(value) for value in found.keys] == [None]


def test_code_of_a_job_without_states_is_not_data_alone(declared: Path, tmp_path: Path) -> None:
    """A job that has windows alone declares keys and uids."""
    for name, source in (("keys", declared / "hidden" / "declared" / "hidden" / "Keys.class"),
                         ("data", declared / "plain" / "declared" / "plain" / "Visits$Visit.class")):  # fmt: skip
        (tmp_path / name).mkdir()
        shutil.copy(source, tmp_path / name)
    keys, data = (job(tmp_path / name)[0] for name in ("keys", "data"))
    assert (keys.states, keys.of_job, data.of_job) == ({}, True, False)


def test_a_type_inside_of_itself_is_not_known(declared: Path) -> None:
    assert states(declared / "settings")["endless"] == ("VALUE", False, {"keyed"}, [None])


def test_options_of_the_types_of_all_classes(declared: Path) -> None:
    assert job(declared / "settings")[0].other_types
    by_classes, old = proofs(declared / "settings"), simple("Long")
    problem = "the new job sets how Flink finds the types of classes"
    assert by_classes.keys(old, ["plain"]) == Candidates((old,), problem)
    meta = StateMeta("plain", "KEY_VALUE", "VALUE", {}, {VALUE: old, NAMESPACE: SerializerSnapshot(VOID, 3)})
    assert by_classes.states(meta, "keyed", 1, []) == Candidates((meta,), problem)


def test_keys_that_flink_makes(declared: Path) -> None:
    """``windowAll`` has the key of ``NullByteKeySelector``, whatever other keys the job has."""
    old = simple("Byte")
    problem = "Flink itself can have made the operator's keys, of all elements or of a query"
    assert proofs(declared / "plain").keys(old, ["window-contents"]) == Candidates((old,), problem)


def proofs(path: Path) -> ByClasses:
    classes = JobClasses([str(path)], Store())
    extractor = Extractor(classes, Release(2, 3))
    return ByClasses(read_declarations(classes), extractor, Derivation(extractor, None))


def test_the_function_says_which_of_several_keys_is_its_own(declared: Path) -> None:
    by_classes, old = proofs(declared / "plain"), simple("String")
    assert by_classes.keys(old, ["count", "_timer_state/event_user-timers"]) == Candidates((old,))
    both = by_classes.keys(old, ["another"])
    assert ([label(key) for key in both.found], both.problem) == ([PAIR, "StringSerializer"], "")


def test_a_state_of_two_operators_that_is_declared_once(declared: Path) -> None:
    value = {VALUE: simple("Long"), NAMESPACE: SerializerSnapshot(VOID, 3)}
    old = StateMeta("count", "KEY_VALUE", "VALUE", {}, value)
    by_classes = proofs(declared / "plain")
    (new,), problem = (found := by_classes.states(old, "keyed", 1, [])).found, found.problem
    assert (label(new.serializers[VALUE]), problem) == ("TtlSerializer<LongSerializer, LongSerializer>", "")
    twice = by_classes.states(old, "keyed", 2, []).problem
    assert twice == "2 operators have a state of this name, and the classes of the new job declare 1"
    renamed = by_classes.states(replace(old, name="visits"), "keyed", 1, [])
    assert renamed == Candidates((), "no class of the new job declares this state, so it may have been renamed")
    maybe = by_classes.states(replace(old, name="maybe"), "keyed", 1, []).problem
    assert maybe == "whether declared.plain.Visits sets a TTL for this state does not follow from its code"
    rules = by_classes.states(replace(old, name="rules"), "keyed", 1, []).problem
    assert rules.startswith("no class of the new job declares this state, but a state 'rules' of another scope")


def test_constants_of_a_class_file(declared: Path) -> None:
    code = ClassCode((declared / "plain" / "declared" / "plain" / "Visits.class").read_bytes())
    constants = [code.value(i) for i in range(1, len(code.constants))]
    assert "count" in constants
    assert ClassLiteral("java.lang.Long") in constants
    lambdas = [code.dynamic(i) for i in range(1, len(code.constants)) if code.tag(i) == 18]
    selector = "org/apache/flink/api/java/functions/KeySelector"
    method = "(Ldeclared/plain/Visits$Visit;)Ljava/lang/String;"
    assert lambdas == [Lambda(selector.replace("/", "."), method, f"()L{selector};")]
    assert parameter_types("(I[[JLjava/lang/String;D)V") == ["I", "[[J", "Ljava/lang/String;", "D"]
    assert len(parameter_types("(" + "I" * 255 + ")V")) == 255
    for wrong in ("", "I", "(I", "(Ljava/lang/String", "([", "(" + "I" * 256 + ")V"):
        with pytest.raises(FormatError):
            parameter_types(wrong)


class _Nothing:
    def wants(self, member: object) -> bool:
        return True

    def called(self, *_: object) -> bool:
        return False

    def stored(self, *_: object) -> None:
        pass


def followed(data: bytes) -> None:
    code = ClassCode(data)
    for method in code.methods:
        Interpreter(code, method, _Nothing()).run()


@pytest.mark.parametrize("name", ["plain/declared/plain/Visits", "windowed/declared/windowed/Windowed"])
def test_a_damaged_class_file_is_an_error_or_read(declared: Path, name: str) -> None:
    data = (declared / f"{name}.class").read_bytes()
    followed(data)
    begun = time.process_time()
    for at in range(0, len(data), 11):
        for value in (0x00, 0xAA, 0xC4, 0xFF):
            with contextlib.suppress(StateExtractError):
                followed(data[:at] + bytes([value]) + data[at + 1 :])
        with pytest.raises(StateExtractError):
            followed(data[:at])
    assert time.process_time() - begun < 60


def method_of(code: bytes) -> bytes:
    """A class file whose one method stores in a field, which is what is followed, and goes on with this code."""

    def text(value: str) -> bytes:
        return b"\x01" + struct.pack(">H", len(value)) + value.encode()

    field = [b"\x0c\x00\x03\x00\x08", b"\x09\x00\x02\x00\x06", text("I")]
    constants = [text("A"), b"\x07\x00\x01", text("m"), text("()V"), text("Code"), *field]
    code = b"\x00\x01\xb3\x00\x07" + b"\x00" * 3 + code
    attribute = struct.pack(">HHI", 9, 9, len(code)) + code + b"\0\0\0\0"
    method = struct.pack(">HHHHHI", 8, 3, 4, 1, 5, len(attribute)) + attribute
    return (
        struct.pack(">IHHH", 0xCAFEBABE, 0, 61, len(constants) + 1) + b"".join(constants)
        + struct.pack(">HHHHHH", 1, 2, 2, 0, 0, 1) + method + b"\0\0"
    )  # fmt: skip


@pytest.mark.parametrize("code", [
    b"\xaa\0\0\0" + struct.pack(">iii", 0, -(1 << 31), (1 << 31) - 1),  # a table of 2^32 jumps
    b"\xab\0\0\0" + struct.pack(">ii", 0, 1 << 30), b"\xab\0\0\0" + struct.pack(">ii", 0, -1),
    b"\xca", b"\xff", b"\x12", b"\xa7\x00", b"\xc4", b"\xc4\x01\x00\x00", b"\xbb\x00\x09", b"\xb8\x00\x01",
])  # fmt: skip
def test_code_that_is_none(code: bytes) -> None:
    with pytest.raises(FormatError):
        followed(method_of(code))


@pytest.mark.parametrize("code", [bytes([opcode]) + b"\0" * 5 for opcode in range(202)])
def test_every_instruction_is_known(code: bytes) -> None:
    """With operands of zero: it is followed, or no valid code."""
    with contextlib.suppress(FormatError):
        followed(method_of(code))


def test_types_inside_of_one_another(declared: Path) -> None:
    """The type of a hostile class may be as deep as its code is long."""
    _, types = job(declared / "plain")
    name, init = "org.apache.flink.api.java.typeutils.ListTypeInfo", Member("", "<init>", "()V")
    deep: Value = ClassLiteral("java.lang.Long")
    for depth in range(20_000):
        deep = New(name, 0, init, (deep,))
        if depth == 1:
            found = types.of(deep)
            assert found is not None
            assert label(found) == "ListSerializer<ListSerializer<LongSerializer>>"
    assert types.of(deep) is None


def test_code_without_end(declared: Path) -> None:
    """What is too long to follow is an error, and the class one whose states are not known."""
    code = ClassCode(method_of(b"\x00" * 1000))
    with pytest.raises(FormatError, match="too long"):
        Interpreter(code, code.methods[0], _Nothing(), limit=100).run()


def test_a_subroutine_may_change_what_the_method_holds() -> None:
    """``jsr`` of class files before Java 7: what was on the stack before it does not reach the store after it."""
    seen: list[object] = []

    class Stores(_Nothing):
        def stored(self, *arguments: object) -> None:
            seen.append(arguments[1])

    code = ClassCode(method_of(b"\x08\xa8\x00\x07\xb3\x00\x07\xb1\x57\x57\x05\xb1"))
    Interpreter(code, code.methods[0], Stores()).run()
    assert seen == [None, None]


def test_nothing_is_under_an_empty_stack(declared: Path) -> None:
    """Code that takes more than was pushed, as after paths meet: the values are not known."""
    followed(method_of(b"\x57\x58\x5e\x5f\xb1"))
    assert New("A", 0).arguments == ()
    assert Constant(1) == Constant(1)
