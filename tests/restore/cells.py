"""The changes whose restores were really run: what the old job was, and what the new one.

Each side is Java: the classes of its data in the package ``m.<cell>``, and the members of a class ``Job`` that extends
``restore.Spec``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Side:
    """One of the two jobs.

    :param job: members of ``Job``; :param classes: name and declaration of each class of its data.
    """

    job: str
    classes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Cell:
    """A change."""

    name: str
    change: str
    old: Side
    new: Side


def side(type_: str, value: str, *classes: str, more: str = "") -> Side:
    """A job with a state of that type.

    :param value: a Java expression of ``i``, the key.
    :param classes: declarations, each with its own name.
    :param more: further members.
    """
    made = tuple((_name(text), text) for text in classes)
    body = f"public TypeInformation<?> type() {{ return {type_}; }}\npublic Object value(int i) {{ return {value}; }}\n{more}\n"
    return Side(body, made)


def _name(declaration: str) -> str:
    words = declaration.replace("(", " ").replace("{", " ").split()
    return next(words[i + 1] for i, word in enumerate(words) if word in ("class", "enum", "record", "interface"))


def member(type_: str, name: str, expression: str) -> str:
    """A method of ``Spec`` that is overridden."""
    return f"public {type_} {name} {{ return {expression}; }}\n"


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
MAP = member("String", "kind()", '"map"')
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


def cells() -> list[Cell]:
    """All of them."""

    def same(name: str, change: str, one: Side) -> Cell:
        return Cell(name, change, one, one)

    def keyed(by: str, *classes: str) -> Side:
        more = member("TypeInformation<?>", "key()", P) + member("Object", "keyOf(int i)", by)
        return side("Types.LONG", "(long) i", *classes, more=more)

    def of_kind(kind: str, type_: str, value: str, *classes: str) -> Side:
        return side(type_, value, *classes, more=member("String", "kind()", f'"{kind}"'))

    old = side(P, NEW_P, TWO)
    longs = side("Types.LONG", "(long) i")
    ints = side("Types.INT", "i")
    user_key = member("TypeInformation<?>", "userKey()", P) + member("Object", "userKeyOf(int i)", NEW_P)
    lasting = member("int", "ttlHours()", "24")
    registered = member("String", "registered()", '"S"')
    boxed = (
        "public class P { public int a; public N n; "
        "static P of(int i) { P p = new P(); p.a = i; p.n = new N(); return p; } }"
    )
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
            side(P, NEW_P, boxed, "public class N { public int x = 5; }"),
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
            side(P, SUBCLASSED, BASE, SUB, more=registered),
            side(P, "null", BASE, "public class S extends P { public int x; public int y; }", more=registered),
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
            side(K, "K.of(i)", HOLDING % "new X()", "public class X { int q = 7; X() {} }"),
            side(K, "null", HOLDING % "null"),
        ),
        Cell("value_to_list", "value state becomes list state", longs, of_kind("list", "Types.LONG", "null")),
        Cell(
            "state_renamed",
            "a state is renamed",
            longs,
            side("Types.LONG", "null", more=member("String", "name()", '"u"')),
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
            side(P, NEW_P, TWO, more=MAP),
            side(P, "null", THREE, more=MAP),
        ),
        Cell(
            "map_key_pojo",
            "a POJO that is a map's key gets a field",
            side("Types.LONG", "(long) i", OF_KEY, more=MAP + user_key),
            side("Types.LONG", "null", TWO_OF_KEY, more=MAP + user_key),
        ),
        Cell("key_pojo", "a POJO that is the key gets a field", keyed(NEW_P, OF_KEY), keyed(NEW_P, TWO_OF_KEY)),
        Cell("ttl_on", "time to live is switched on", longs, side("Types.LONG", "null", more=lasting)),
        Cell(
            "ttl_off",
            "time to live is switched off",
            side("Types.LONG", "(long) i", more=lasting),
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
            side("Types.LONG", "null", more=member("String", "uid()", '"other"')),
        ),
        Cell(
            "max_parallelism",
            "the maximum parallelism is changed",
            longs,
            side("Types.LONG", "null", more=member("int", "maxParallelism()", "8")),
        ),
    ]
