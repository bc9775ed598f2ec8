"""The changes whose restores were really run: what the old job was, and what the new one.

Each side is Java: the classes of its data in the package ``m.<cell>``, and a class ``Job`` that extends ``restore.Spec`` and
declares its state, its keys and its operator as a user's job does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Side:
    """One of the two jobs.

    :param type_: the type information of the state's values, in Java; :param value: the value of the key ``i``.
    :param classes: name and declaration of each class of its data.
    :param kind: value, list, map, reducing, oplist, union, broadcast or none.
    :param user_key: the type information of a map's keys; :param user_key_of: that of the key ``i``.
    :param key: the key ``i`` of the stream.
    :param ttl_hours: how long values live; 0: for ever.
    :param registered: classes that the job registers as POJOs, by commas; :param with_kryo: with Kryo.
    """

    type_: str
    value: str
    classes: tuple[tuple[str, str], ...] = ()
    kind: str = "value"
    name: str = "s"
    user_key: str = "Types.INT"
    user_key_of: str = "i"
    key: str = "i"
    uid: str = "op"
    max_parallelism: int = 4
    ttl_hours: int = 0
    registered: str = ""
    with_kryo: str = ""

    @property
    def job(self) -> str:
        """The members of ``Job``."""
        return "\n".join((self._state, self._graph, *map(" ".join, self._answers), ""))

    @property
    def _state(self) -> str:
        if self.kind == "none":
            return ""
        descriptor, arguments, getter = _KINDS[self.kind]
        types = arguments.format(type=self.type_, key=self.user_key)
        source = "OperatorStateStore" if self.kind in ("oplist", "union", "broadcast") else "RuntimeContext"
        lasting = (
            f"descriptor.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofHours({self.ttl_hours})).build());\n"
        )
        return (
            f"public State state({source} from) throws Exception {{\n"
            f'var descriptor = new {descriptor}<>("{self.name}", {types});\n'
            f"{lasting if self.ttl_hours else ''}return from.{getter}(descriptor);\n}}"
        )

    @property
    def _graph(self) -> str:
        keys = f"number -> {{ int i = (int) (number % 4); return {self.key}; }}"
        return (
            "public void graph(StreamExecutionEnvironment env, restore.Op op) {\n"
            'DataStream<Long> numbers = env.fromSequence(0, Long.MAX_VALUE - 1).uid("source")\n'
            '.map(new restore.Slow()).returns(Types.LONG).uid("slow");\n'
            f"DataStream<Long> states = numbers.keyBy({keys}).process((KeyedProcessFunction) op).returns(Types.LONG)\n"
            f'.uid("{self.uid}").setMaxParallelism({self.max_parallelism});\n'
            'states.sinkTo(new DiscardingSink<>()).uid("sink");\n}'
        )

    @property
    def _answers(self) -> Iterator[tuple[str, str]]:
        types = self.type_ + (f", {self.user_key}" if self.kind in ("map", "broadcast") else "")
        for method, answer in (
            ("TypeInformation<?>[] types()", f"new TypeInformation<?>[] {{{types}}}"),
            ("Object value(int i)", self.value),
            ("Object userKeyOf(int i)", self.user_key_of),
            ("String registered()", f'"{self.registered}"'),
            ("String registeredWithKryo()", f'"{self.with_kryo}"'),
        ):
            yield f"public {method}", f"{{ return {answer}; }}"


_KINDS = {
    "value": ("ValueStateDescriptor", "{type}", "getState"),
    "list": ("ListStateDescriptor", "{type}", "getListState"),
    "map": ("MapStateDescriptor", "{key}, {type}", "getMapState"),
    "reducing": ("ReducingStateDescriptor", "(before, after) -> after, {type}", "getReducingState"),
    "oplist": ("ListStateDescriptor", "{type}", "getListState"),
    "union": ("ListStateDescriptor", "{type}", "getUnionListState"),
    "broadcast": ("MapStateDescriptor", "{key}, {type}", "getBroadcastState"),
}
"""By kind the class that declares it, what that takes after the name, and who gives the state."""


@dataclass(frozen=True)
class Cell:
    """A change."""

    name: str
    change: str
    old: Side
    new: Side


def side(type_: str, value: str, *classes: str, **more: Any) -> Side:
    """A job with a state of that type.

    :param value: a Java expression of ``i``, the key.
    :param classes: declarations, each with its own name.
    :param more: other parameters of :class:`Side`.
    """
    return Side(type_, value, tuple((_name(text), text) for text in classes), **more)


def _name(declaration: str) -> str:
    words = declaration.replace("(", " ").replace("{", " ").split()
    return next(words[i + 1] for i, word in enumerate(words) if word in ("class", "enum", "record", "interface"))


P = "TypeInformation.of(P.class)"
E = "TypeInformation.of(E.class)"
K = "Types.GENERIC(K.class)"
NEW_P = "P.of(i)"
TWO = (
    "public class P { public int a; public String b; "
    'static P of(int i) { P p = new P(); p.a = i + 1; p.b = "b" + i; return p; } }'
)
THREE = TWO.replace("public String b;", "public String b; public long c;")
KRYO = (
    "public class K { int a; String b; K() {} "
    'static K of(int i) { K k = new K(); k.a = i + 1; k.b = "b" + i; return k; } }'
)
HOLDING = (
    "public class K { int a; Object o; K() {} static K of(int i) { K k = new K(); k.a = i + 1; k.o = %s; return k; } }"
)
MAP: dict[str, Any] = {"kind": "map"}
OF_KEY = (
    "public class P { public int a; static P of(int i) { P p = new P(); p.a = i; return p; } "
    "public int hashCode() { return a; } public boolean equals(Object o) { return o instanceof P && ((P) o).a == a; } }"
)
TWO_OF_KEY = OF_KEY.replace("public int a;", "public int a; public int z;")
SUB = "public class S extends P { public int x; }"
SUBCLASSED = "new S()"
WRITING = (
    "public class S extends P { public int x; public int y; static S of(int i) { S s = new S(); s.y = 9; return s; } }"
)
BASE = "public class P { public int a; }"
Q = "TypeInformation.of(Q.class)"
N = "public class N { public int x = 5; }"
NESTING = (
    "public class P { public int a; public N n; "
    "static P of(int i) { P p = new P(); p.a = i; p.n = new N(); return p; } }"
)
NULL_N = NESTING.replace("p.n = new N();", "")
BASE_OF = BASE[:-1] + "static P of(int i) { P p = new P(); p.a = i; return p; } }"
BELOW = "public class P extends Q { public String b; static P of(int i) { P p = new P(); p.a = i; return p; } }"
X = "public class X { int q = 7; X() {} }"
T = "public class T extends P { public int t; }"


def cells() -> list[Cell]:
    """All of them."""

    def same(name: str, change: str, one: Side) -> Cell:
        return Cell(name, change, one, one)

    def keyed(by: str, *classes: str) -> Side:
        return side("Types.LONG", "(long) i", *classes, key=by)

    def of_kind(kind: str, type_: str, value: str, *classes: str) -> Side:
        return side(type_, value, *classes, kind=kind)

    old = side(P, NEW_P, TWO)
    longs = side("Types.LONG", "(long) i")
    ints = side("Types.INT", "i")
    user_key: dict[str, Any] = {"user_key": P, "user_key_of": NEW_P}
    lasting: dict[str, Any] = {"ttl_hours": 24}
    enum_key: dict[str, Any] = {"user_key": E, "user_key_of": "E.X"}
    long_key: dict[str, Any] = {"key": "(long) i"}
    with_kryo: dict[str, Any] = {"with_kryo": "X"}
    registered: dict[str, Any] = {"registered": "S"}
    colored = (
        "public class P { public int a; public E e; "
        "static P of(int i) { P p = new P(); p.a = i; p.e = E.Y; return p; } }"
    )
    listing = (
        "public class P { public int a; public java.util.List<String> l; static P of(int i) { P p = new P(); p.a = i; "
        'p.l = new java.util.ArrayList<>(java.util.List.of("x" + i)); return p; } }'
    )
    kryo_list = (
        "public class K { int a; java.util.ArrayList<Object> l; K() {} static K of(int i) { K k = new K(); k.a = i; "
        'k.l = new java.util.ArrayList<>(java.util.List.of("l" + i, i)); return k; } }'
    )
    up = "public class P extends Q { public String b; static P of(int i) { return null; } }"
    return [
        same("value_same", "nothing", longs),
        Cell("value_int_to_long", "a value: int to long", ints, longs),
        same("pojo_same", "nothing", old),
        Cell("pojo_field_added", "a POJO gets a field", old, side(P, NEW_P, THREE)),
        Cell("pojo_field_removed", "a POJO loses a field", side(P, NEW_P, THREE), old),
        Cell(
            "pojo_field_renamed",
            "a POJO's field is renamed",
            old,
            side(P, NEW_P, TWO.replace("b;", "bb;").replace("p.b", "p.bb")),
        ),
        Cell(
            "pojo_field_retyped",
            "a POJO's field: String to int",
            old,
            side(P, "null", "public class P { public int a; public int b; }"),
        ),
        Cell(
            "pojo_class_renamed",
            "a POJO's class is renamed",
            old,
            side("TypeInformation.of(Q.class)", "null", "public class Q { public int a; public String b; }"),
        ),
        Cell(
            "pojo_no_longer",
            "a POJO's constructor is gone",
            old,
            side(P, "null", "public class P { public int a; public String b; P(int a) {} }"),
        ),
        Cell(
            "pojo_field_up",
            "a field moves into a superclass",
            old,
            side(P, "null", up, "public class Q { public int a; }"),
        ),
        Cell(
            "pojo_class_of_field_gone",
            "a field and its class are gone",
            side(P, NEW_P, NESTING, N),
            side(P, "null", BASE),
        ),
        Cell(
            "pojo_enum_removed",
            "an enum in a field loses a constant",
            side(P, NEW_P, colored, "public enum E { X, Y, Z }"),
            side(P, "null", colored.replace("E.Y", "null"), "public enum E { X, Y }"),
        ),
        same("pojo_list_field", "nothing: a POJO with a list", side(P, NEW_P, listing)),
        Cell(
            "subclass_registered_added",
            "a registered subclass gets a field",
            side(P, SUBCLASSED, BASE, SUB, **registered),
            side(P, "null", BASE, "public class S extends P { public int x; public int y; }", **registered),
        ),
        Cell(
            "subclass_gone",
            "a subclass that was not registered is gone",
            side(P, SUBCLASSED, BASE, SUB),
            side(P, "null", BASE),
        ),
        Cell(
            "subclass_changed",
            "a subclass that was not registered gets a field",
            side(P, SUBCLASSED, BASE, SUB),
            side(P, "S.of(i)", BASE, WRITING),
        ),
        Cell(
            "enum_reordered",
            "an enum's constants are reordered, and one is new",
            side(E, "E.values()[i % 2]", "public enum E { X, Y }"),
            side(E, "null", "public enum E { W, Y, X }"),
        ),
        Cell(
            "enum_removed",
            "an enum loses a constant",
            side(E, "E.X", "public enum E { X, Y }"),
            side(E, "null", "public enum E { X }"),
        ),
        Cell(
            "record_component_added",
            "a record gets a component",
            side(P, "new P(i)", "public record P(int a) {}"),
            side(P, "null", "public record P(int a, String b) {}"),
        ),
        Cell(
            "tuple_type",
            "a tuple's part: int to long",
            side("Types.TUPLE(Types.INT, Types.STRING)", 'Tuple2.of(i, "b")'),
            side("Types.TUPLE(Types.LONG, Types.STRING)", "null"),
        ),
        Cell(
            "tuple_of_pojo",
            "a POJO in a tuple gets a field",
            side(f"Types.TUPLE(Types.INT, {P})", f"Tuple2.of(i, {NEW_P})", TWO),
            side(f"Types.TUPLE(Types.INT, {P})", "null", THREE),
        ),
        Cell(
            "row_field_added",
            "a Row gets a field",
            side("Types.ROW(Types.INT)", "Row.of(i)"),
            side("Types.ROW(Types.INT, Types.STRING)", "null"),
        ),
        same("kryo_same", "nothing: a generic type", side(K, "K.of(i)", KRYO)),
        Cell(
            "kryo_field_added",
            "a generic type's class gets a field",
            side(K, "K.of(i)", KRYO),
            side(K, "null", KRYO.replace("String b;", "String b; long c;")),
        ),
        Cell(
            "kryo_int_to_long",
            "a generic type's field: int to long",
            side(K, "K.of(i)", KRYO),
            side(K, "null", KRYO.replace("int a;", "long a;")),
        ),
        same("kryo_list", "nothing: a generic type with a list", side(K, "K.of(i)", kryo_list)),
        Cell(
            "kryo_held_gone",
            "a class that a generic type holds is gone",
            side(K, "K.of(i)", HOLDING % "new X()", X),
            side(K, "null", HOLDING % "null"),
        ),
        Cell("value_to_list", "value state becomes list state", longs, of_kind("list", "Types.LONG", "null")),
        Cell(
            "state_renamed",
            "a state is renamed",
            longs,
            side("Types.LONG", "null", name="u"),
        ),
        Cell(
            "list_of_pojo",
            "a POJO in a list gets a field",
            of_kind("list", P, NEW_P, TWO),
            of_kind("list", P, "null", THREE),
        ),
        Cell(
            "map_value_pojo",
            "a POJO in a map gets a field",
            side(P, NEW_P, TWO, **MAP),
            side(P, "null", THREE, **MAP),
        ),
        Cell(
            "map_key_pojo",
            "a POJO that is a map's key gets a field",
            side("Types.LONG", "(long) i", OF_KEY, **MAP, **user_key),
            side("Types.LONG", "null", TWO_OF_KEY, **MAP, **user_key),
        ),
        Cell("key_pojo", "a POJO that is the key gets a field", keyed(NEW_P, OF_KEY), keyed(NEW_P, TWO_OF_KEY)),
        Cell("ttl_on", "time to live is switched on", longs, side("Types.LONG", "null", **lasting)),
        Cell(
            "ttl_off",
            "time to live is switched off",
            side("Types.LONG", "(long) i", **lasting),
            side("Types.LONG", "null"),
        ),
        Cell(
            "oplist_int_to_long",
            "an operator's list: int to long",
            of_kind("oplist", "Types.INT", "i"),
            of_kind("oplist", "Types.LONG", "null"),
        ),
        Cell(
            "oplist_to_union",
            "an operator's list becomes a union list",
            of_kind("oplist", "Types.INT", "i"),
            of_kind("union", "Types.INT", "null"),
        ),
        Cell(
            "broadcast_pojo",
            "a POJO in broadcast state gets a field",
            of_kind("broadcast", P, NEW_P, TWO),
            of_kind("broadcast", P, "null", THREE),
        ),
        Cell(
            "uid_changed",
            "the operator's uid is changed",
            longs,
            side("Types.LONG", "null", uid="other"),
        ),
        Cell(
            "max_parallelism",
            "the maximum parallelism is changed",
            longs,
            side("Types.LONG", "null", max_parallelism=8),
        ),
        Cell("value_to_map", "value state becomes map state", longs, of_kind("map", "Types.LONG", "null")),
        Cell(
            "list_to_map",
            "list state becomes map state",
            of_kind("list", "Types.LONG", "(long) i"),
            of_kind("map", "Types.LONG", "null"),
        ),
        Cell(
            "value_to_reducing", "value state becomes reducing state", longs, of_kind("reducing", "Types.LONG", "null")
        ),
        Cell(
            "list_to_value",
            "list state becomes value state of lists",
            of_kind("list", "Types.LONG", "(long) i"),
            side("Types.LIST(Types.LONG)", "null"),
        ),
        Cell("state_not_declared", "a state is no longer declared", longs, of_kind("none", "Types.LONG", "null")),
        Cell(
            "state_not_declared_class_gone",
            "a state is no longer declared, and its class is gone",
            old,
            of_kind("none", "Types.LONG", "null"),
        ),
        Cell(
            "oplist_not_declared_class_gone",
            "an operator's list is no longer declared, and its class is gone",
            of_kind("oplist", P, NEW_P, TWO),
            of_kind("none", "Types.LONG", "null"),
        ),
        Cell(
            "scalar_to_kryo", "a String becomes a generic type", side("Types.STRING", '"b" + i'), side(K, "null", KRYO)
        ),
        Cell(
            "kryo_to_scalar",
            "a generic type becomes a String",
            side(K, "K.of(i)", KRYO),
            side("Types.STRING", "null", KRYO),
        ),
        Cell(
            "kryo_to_pojo",
            "a generic type's class becomes a POJO",
            side("Types.GENERIC(P.class)", NEW_P, TWO),
            side(P, "null", TWO),
        ),
        Cell(
            "tuple_arity",
            "a tuple gets a part",
            side("Types.TUPLE(Types.INT, Types.STRING)", 'Tuple2.of(i, "b")'),
            side("Types.TUPLE(Types.INT, Types.STRING, Types.INT)", "null"),
        ),
        Cell(
            "array_of_pojo",
            "a POJO in an array gets a field",
            side(f"Types.OBJECT_ARRAY({P})", f"new P[] {{{NEW_P}}}", TWO),
            side(f"Types.OBJECT_ARRAY({P})", "null", THREE),
        ),
        Cell(
            "value_list_of_pojo",
            "a POJO in a list that is a value gets a field",
            side(f"Types.LIST({P})", f"new java.util.ArrayList<>(java.util.List.of({NEW_P}))", TWO),
            side(f"Types.LIST({P})", "null", THREE),
        ),
        Cell(
            "value_map_of_pojo",
            "a POJO in a map that is a value gets a field",
            side(f"Types.MAP(Types.INT, {P})", f"new java.util.HashMap<>(java.util.Map.of(i, {NEW_P}))", TWO),
            side(f"Types.MAP(Types.INT, {P})", "null", THREE),
        ),
        Cell(
            "ints_to_longs",
            "an array of int to one of long",
            side("Types.PRIMITIVE_ARRAY(Types.INT)", "new int[] {i}"),
            side("Types.PRIMITIVE_ARRAY(Types.LONG)", "null"),
        ),
        Cell(
            "pojo_accessors",
            "a POJO's field gets accessors",
            side(P, NEW_P, BASE_OF),
            side(
                P,
                "null",
                "public class P { private int a; public int getA() { return a; } public void setA(int a) { this.a = a; } }",
            ),
        ),
        Cell(
            "pojo_to_record",
            "a POJO becomes a record",
            side(P, NEW_P, BASE_OF),
            side(P, "null", "public record P(int a) {}"),
        ),
        Cell(
            "record_to_pojo",
            "a record becomes a POJO",
            side(P, "new P(i)", "public record P(int a) {}"),
            side(P, "null", BASE),
        ),
        Cell(
            "record_reordered",
            "a record's components are reordered",
            side(P, 'new P(i, "b")', "public record P(int a, String b) {}"),
            side(P, "null", "public record P(String b, int a) {}"),
        ),
        Cell(
            "superclass_field_added",
            "a superclass gets a field",
            side(P, "P.of(i)", BELOW, "public class Q { public int a; }"),
            side(P, "null", BELOW, "public class Q { public int a; public int z; }"),
        ),
        Cell(
            "superclass_replaced",
            "another superclass, with a field of the same name",
            side(P, "P.of(i)", BELOW, "public class Q { public int a; }"),
            side(P, "null", BELOW.replace("Q", "R"), "public class R { public int a; }"),
        ),
        Cell(
            "pojo_int_to_integer",
            "a POJO's field: int to Integer",
            side(P, NEW_P, BASE_OF),
            side(P, "null", "public class P { public Integer a; }"),
        ),
        Cell(
            "nested_field_added",
            "a POJO in a POJO gets a field",
            side(P, NEW_P, NESTING, N),
            side(P, "null", NULL_N, "public class N { public int x; public int y; }"),
        ),
        Cell(
            "nested_field_retyped",
            "a field of a POJO in a POJO: int to long",
            side(P, NEW_P, NESTING, N),
            side(P, "null", NULL_N, "public class N { public long x; }"),
        ),
        Cell(
            "nested_renamed",
            "the class of a POJO in a POJO is renamed",
            side(P, NEW_P, NESTING, N),
            side(P, "null", NULL_N.replace("N n", "M n"), "public class M { public int x; }"),
        ),
        Cell(
            "nested_no_longer",
            "the constructor of a POJO in a POJO is gone",
            side(P, NEW_P, NESTING, N),
            side(P, "null", NULL_N, "public class N { public int x; N(int x) {} }"),
        ),
        Cell(
            "registered_reordered",
            "registered subclasses are reordered",
            side(P, SUBCLASSED, BASE, SUB, T, registered="S,T"),
            side(P, "null", BASE, SUB, T, registered="T,S"),
        ),
        Cell(
            "registered_more",
            "another subclass is registered",
            side(P, SUBCLASSED, BASE, SUB, T, **registered),
            side(P, "null", BASE, SUB, T, registered="T,S"),
        ),
        Cell(
            "registered_no_longer",
            "a subclass is no longer registered",
            side(P, SUBCLASSED, BASE, SUB, **registered),
            side(P, "null", BASE, SUB),
        ),
        Cell(
            "registered_now",
            "a subclass that was not registered is registered",
            side(P, SUBCLASSED, BASE, SUB),
            side(P, "null", BASE, SUB, **registered),
        ),
        Cell(
            "registered_gone",
            "a registered subclass that no value has is gone",
            side(P, "new P()", BASE, SUB, **registered),
            side(P, "null", BASE),
        ),
        Cell(
            "enum_class_renamed",
            "an enum's class is renamed",
            side(E, "E.X", "public enum E { X, Y }"),
            side("TypeInformation.of(F.class)", "null", "public enum F { X, Y }"),
        ),
        Cell(
            "map_key_enum",
            "an enum that is a map's key gets a constant in front",
            side("Types.LONG", "(long) i", "public enum E { X, Y }", **MAP, **enum_key),
            side("Types.LONG", "null", "public enum E { W, X, Y }", **MAP, **enum_key),
        ),
        Cell(
            "map_key_type",
            "a map's key: int to long",
            side("Types.LONG", "(long) i", **MAP),
            side("Types.LONG", "null", **MAP, user_key="Types.LONG", user_key_of="(long) i"),
        ),
        Cell(
            "kryo_field_removed",
            "a generic type's class loses a field",
            side(K, "K.of(i)", KRYO),
            side(K, "null", KRYO.replace("String b;", "").replace('k.b = "b" + i;', "")),
        ),
        Cell(
            "kryo_field_renamed",
            "a generic type's field is renamed",
            side(K, "K.of(i)", KRYO),
            side(K, "null", KRYO.replace("int a;", "int z;").replace("k.a", "k.z")),
        ),
        Cell(
            "kryo_int_to_string",
            "a generic type's field: int to String",
            side(K, "K.of(i)", KRYO),
            side(K, "null", KRYO.replace("int a;", "String a;").replace("k.a = i + 1;", "")),
        ),
        Cell(
            "kryo_class_renamed",
            "a generic type's class is renamed",
            side(K, "K.of(i)", KRYO),
            side("Types.GENERIC(L.class)", "null", KRYO.replace("K", "L")),
        ),
        Cell(
            "kryo_registered",
            "a class that a generic type holds is registered with Kryo",
            side(K, "K.of(i)", HOLDING % "new X()", X),
            side(K, "null", HOLDING % "new X()", X, **with_kryo),
        ),
        Cell(
            "kryo_no_longer_registered",
            "a class that a generic type holds is no longer registered with Kryo",
            side(K, "K.of(i)", HOLDING % "new X()", X, **with_kryo),
            side(K, "null", HOLDING % "new X()", X),
        ),
        Cell(
            "kryo_registered_gone",
            "a class that was registered with Kryo, and no value has, is gone",
            side(K, "K.of(i)", KRYO, X, **with_kryo),
            side(K, "null", KRYO),
        ),
        Cell("key_type", "the key: int to long", longs, side("Types.LONG", "null", **long_key)),
        Cell(
            "key_class_renamed",
            "the class of the key is renamed",
            keyed(NEW_P, OF_KEY),
            side(
                "Types.LONG",
                "null",
                OF_KEY.replace("P", "Q"),
                key="Q.of(i)",
            ),
        ),
        Cell(
            "reducing_of_pojo",
            "a POJO in reducing state gets a field",
            of_kind("reducing", P, NEW_P, TWO),
            of_kind("reducing", P, "null", THREE),
        ),
        Cell(
            "ttl_list_on",
            "time to live of a list is switched on",
            of_kind("list", "Types.LONG", "(long) i"),
            side("Types.LONG", "null", kind="list", **lasting),
        ),
        Cell(
            "ttl_map_off",
            "time to live of a map is switched off",
            side("Types.LONG", "(long) i", **MAP, **lasting),
            side("Types.LONG", "null", **MAP),
        ),
        Cell(
            "ttl_time",
            "time to live gets longer",
            side("Types.LONG", "(long) i", **lasting),
            side("Types.LONG", "null", ttl_hours=48),
        ),
        Cell(
            "ttl_on_and_field",
            "time to live is switched on, and a POJO gets a field",
            old,
            side(P, "null", THREE, **lasting),
        ),
        Cell(
            "oplist_to_broadcast",
            "an operator's list becomes broadcast state",
            of_kind("oplist", "Types.INT", "i"),
            of_kind("broadcast", "Types.INT", "null"),
        ),
        Cell(
            "oplist_renamed",
            "an operator's list is renamed",
            of_kind("oplist", "Types.INT", "i"),
            side("Types.INT", "null", kind="oplist", name="u"),
        ),
        Cell(
            "broadcast_key_pojo",
            "a POJO that is the key of broadcast state gets a field",
            side("Types.LONG", "(long) i", OF_KEY, kind="broadcast", **user_key),
            side("Types.LONG", "null", TWO_OF_KEY, kind="broadcast", **user_key),
        ),
        Cell(
            "broadcast_int_to_long",
            "a value of broadcast state: int to long",
            of_kind("broadcast", "Types.INT", "i"),
            of_kind("broadcast", "Types.LONG", "null"),
        ),
    ]
