"""Writes graphs of objects as Kryo 2 and 5 do, of a few classes that ``MODELS`` describes. Knows nothing of the decoders.

A value is ``None``, or a :class:`Thing`: two references to one ``Thing`` are one object. What Kryo's serializers do is written
down here a second time, so that plans and interpreter are not only compared with each other.
"""

from __future__ import annotations

import random
import struct
from typing import Any

from serializers.classes import ClassModels, class_model

LONG = "deep.down.in.a.package.with.a.very.very.long.name.that.no.short.form.has.Leaf"
TUPLE = "org.apache.flink.api.java.tuple.Tuple2"
SPEC: dict[str, dict[str, str]] = {
    "w.Base": {"id": "int", "name": "java.lang.String"},
    "w.Sub": {
        "big": "long", "boxed": "java.lang.Integer", "color": "w.Color", "day": "java.time.LocalDate", "flag": "boolean",
        "id": "int", "name": "java.lang.String", "next": "w.Base", "ratio": "double",
    },
    LONG: {"id": "int", "letter": "char", "name": "java.lang.String", "small": "short", "tiny": "byte"},
    "w.Holder": {
        "any": "java.lang.Object", "at": "java.time.Instant", "bases": "java.util.List<w.Base>", "base": "w.Base",
        "blob": "byte[]", "final_": "w.Final", "finals": "w.Final[]", "ints": "int[]",
        "lists": "java.util.List<java.util.List<w.Final>>",
        "map": "java.util.Map<java.lang.String, w.Base>", "names": "java.util.Set<java.lang.String>",
        "numbers": "java.util.Map<java.lang.Integer, java.lang.Long>", "uid": "java.util.UUID", "when": "java.util.Date",
        "price": "java.math.BigDecimal",
    },
    "w.More": {
        "colors": "java.util.EnumSet<w.Color>", "counts": "java.util.EnumMap<w.Color, w.Base>",
        "day": "org.joda.time.LocalDate", "joda": "org.joda.time.DateTime", "lists": "java.util.List<java.util.List<w.Base>>",
        "map": "java.util.Map<java.lang.Object, w.Base>",
        "maybe": "java.util.Optional<w.Base>", "meeting": "java.time.ZonedDateTime", "moment": "java.time.LocalDateTime",
    },
    "w.Final": {"x": "int", "y": "java.lang.String"},
    TUPLE: {"f0": "java.lang.Object", "f1": "java.lang.Object"},
}  # fmt: skip
FINAL = {
    "w.Final", "w.Color", "java.lang.String", "java.lang.Integer", "java.lang.Long", "java.time.LocalDate", "java.time.Instant",
    "java.util.UUID", "java.util.Optional", "java.time.ZonedDateTime", "java.time.LocalDateTime",
    "org.joda.time.DateTime", "org.joda.time.LocalDate", "int[]", "byte[]", "w.Final[]",
}  # fmt: skip
_OWN = {"w.Sub": ["big", "boxed", "color", "day", "flag", "next", "ratio"], LONG: ["letter", "small", "tiny"]}
_ENTRIES: list[dict[str, Any]] = [
    {"name": name, "final": name in FINAL, "fields": {k: v for k, v in fields.items() if k in _OWN.get(name, fields)},
     **({"superclass": "w.Base"} if name in _OWN else {})}
    for name, fields in SPEC.items() if name != TUPLE
]  # fmt: skip
_ENTRIES += [{"name": f"org.joda.time.{name}", "final": True} for name in ("DateTime", "LocalDate")]
_ENTRIES += [{"name": "w.Color", "constants": ["RED", "GREEN", "BLUE"]}]
MODELS = ClassModels.of(map(class_model, _ENTRIES))
NUMBERS = {
    "java.lang.Integer": 0, "java.lang.String": 1, "java.lang.Boolean": 3, "java.lang.Long": 7, "java.lang.Double": 8,
    "java.util.UUID": 82, "java.util.BitSet": 74,
}  # fmt: skip
UNMARKED = ("java.lang.Integer", "java.lang.Long", "java.lang.Double", "java.lang.Boolean")
ANYTHING = (
    "java.util.BitSet", "w.Base", "w.Final", "w.Holder", "java.lang.String", "java.lang.Integer", "java.lang.Long",
    "java.lang.Double", "java.lang.Boolean", "java.util.UUID", "java.time.Instant", "java.time.LocalDate",
    "java.util.Date", "java.math.BigDecimal", "w.Color", "int[]", *["java.util.List<java.lang.Object>"] * 2,
    *["java.util.Map<java.lang.String, java.lang.Object>"] * 2,
    "java.util.Map<java.lang.Object, java.lang.Object>", "java.util.Optional<java.lang.Object>", "java.util.EnumSet<w.Color>",
    "java.util.EnumMap<w.Color, java.lang.Object>", "java.time.ZonedDateTime", "java.time.LocalDateTime",
    "org.joda.time.DateTime", TUPLE,
)  # fmt: skip
"""What an ``Object`` can be."""
_UNMODIFIABLE = "java.util.Collections$Unmodifiable"
_GUAVA = "com.google.common.collect.RegularImmutable"
LISTS = (
    "java.util.ArrayList", "java.util.LinkedList", "java.util.HashSet", "java.util.TreeSet", _UNMODIFIABLE + "List",
    _GUAVA + "List",
)  # fmt: skip
MAPS = ("java.util.HashMap", "java.util.TreeMap", "java.util.LinkedHashMap", _UNMODIFIABLE + "Map", _GUAVA + "Map")
_ONLY_LIST, _ONLY_MAP = LISTS[0], MAPS[0]
VIEWS = {_UNMODIFIABLE + "List": 2, _UNMODIFIABLE + "Map": 5}
_LIBRARY = {
    _UNMODIFIABLE + "List": "UnmodifiableCollectionsSerializer", _UNMODIFIABLE + "Map": "UnmodifiableCollectionsSerializer",
    _GUAVA + "List": "guava.ImmutableListSerializer", _GUAVA + "Map": "guava.ImmutableMapSerializer",
    "java.util.EnumMap": "EnumMapSerializer", "org.joda.time.DateTime": "jodatime.JodaDateTimeSerializer",
    "org.joda.time.LocalDate": "jodatime.JodaLocalDateSerializer",
}  # fmt: skip
SERIALIZERS = {name: "de.javakaffee.kryoserializers." + serializer for name, serializer in _LIBRARY.items()}
"""What a job has to register for these classes."""
_ARRAYS = {"int[]": "[I", "byte[]": "[B", "w.Final[]": "[Lw.Final;"}


class Thing:
    """An object: its class and its content."""

    def __init__(self, name: str, content: Any) -> None:
        self.name = name
        self.content = content


class Writer:
    """Writes one value."""

    def __init__(self, flavour: int, registered: str, random_: random.Random) -> None:
        self.flavour = flavour
        self.numbers = NUMBERS | {registered: 85}
        self.random = random_
        self.out = bytearray()
        self.names: dict[str, int] = {}
        self.seen: dict[int, int] = {}
        self.order = "<" if flavour == 5 else ">"

    def vint(self, value: int) -> None:
        value &= 0xFFFF_FFFF
        while value >= 0x80:
            self.out.append(value & 0x7F | 0x80)
            value >>= 7
        self.out.append(value)

    def zigzag(self, value: int) -> None:
        self.vint(value << 1 ^ value >> 31)

    def vlong(self, value: int) -> None:
        value &= (1 << 64) - 1
        for _ in range(8):
            if value < 0x80:
                break
            self.out.append(value & 0x7F | 0x80)
            value >>= 7
        self.out.append(value)

    def zigzag_long(self, value: int) -> None:
        self.vlong(value << 1 ^ value >> 63)

    def fixed(self, code: str, value: Any) -> None:
        self.out += struct.pack(self.order + code, value)

    def string(self, text: str | None) -> None:
        if text is None:
            self.out.append(0x80)
            return
        data = text.encode("utf-16-le", "surrogatepass")
        units = struct.unpack(f"<{len(data) // 2}H", data)
        if 1 < len(units) < (64 if self.flavour == 2 else 33) and max(units) < 0x80:
            self.out += bytes(units[:-1]) + bytes([units[-1] | 0x80])
            return
        size = len(units) + 1
        if size >> 6:
            self.out.append(0xC0 | size & 0x3F)
            self.vint(size >> 6)
        else:
            self.out.append(0x80 | size)
        for unit in units:
            if unit < 0x80:
                self.out.append(unit)
            elif unit < 0x800:
                self.out += bytes([0xC0 | unit >> 6, 0x80 | unit & 0x3F])
            else:
                self.out += bytes([0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F])

    def class_(self, name: str) -> None:
        if name in self.numbers:
            self.vint(self.numbers[name] + 2)
            return
        self.vint(1)
        is_new = name not in self.names
        self.vint(self.names.setdefault(name, len(self.names)))
        if is_new and self.flavour == 5:
            self.out += name[:-1].encode() + bytes([ord(name[-1]) | 0x80])
        elif is_new:
            self.string(name)

    def value(self, thing: Thing | None, generics: str | None = None) -> None:
        if thing is None:
            self.vint(0)
            return
        self.class_(_ARRAYS.get(thing.name, thing.name))
        self.object(thing, generics)

    def is_marked(self, name: str) -> bool:
        return not (name in UNMARKED or (self.flavour == 5 and name == "w.Color"))

    def object(self, thing: Thing | None, generics: str | None = None) -> None:
        """An object, or null if its class has marks."""
        if thing is None:
            self.vint(0)
            return
        if self.is_marked(thing.name):
            if id(thing) in self.seen:
                self.vint(self.seen[id(thing)] + 2)
                return
            self.seen[id(thing)] = len(self.seen)
            self.vint(1)
        self.body(thing, generics)

    def nullable(self, thing: Thing | None, name: str, generics: str | None = None) -> None:
        """An object of a final class, or null."""
        if not self.is_marked(name):
            self.vint(0 if thing is None else 1)
            if thing is None:
                return
        self.object(thing, generics)

    def body(self, thing: Thing, generics: str | None) -> None:
        name, content = thing.name, thing.content
        simple = {
            "java.lang.Integer": self.zigzag, "java.lang.Long": self.zigzag_long, "java.lang.String": self.string,
            "java.util.Date": self.vlong, "w.Color": lambda c: self.vint(c + 1),
            "java.lang.Double": lambda v: self.fixed("d", v), "java.lang.Boolean": lambda v: self.out.append(int(v)),
        }  # fmt: skip
        if name in simple:
            simple[name](content)
        elif name in SPEC:
            for key in sorted(SPEC[name]):
                self.field(SPEC[name][key], content[key])
        elif name == "java.util.UUID":
            for half in content:
                self.fixed("q", half) if self.flavour == 5 else self.zigzag_long(half)
        elif name == "java.time.Instant":
            if self.flavour == 5:
                self.vlong(content[0])
                self.vint(content[1])
            else:
                self.zigzag(content[1])
                self.zigzag_long(content[0])
        elif name == "java.time.LocalDate":
            year, month, day = content
            if self.flavour == 5:
                self.vint(year)
                self.out += bytes([month, day])
            else:
                self.fixed("h", day)
                self.fixed("h", month)
                self.zigzag(year)
        elif name == "java.math.BigDecimal":
            data = content[0].to_bytes(content[0].bit_length() // 8 + 1, "big", signed=True)
            self.vint(len(data) + 1)
            self.out += data
            self.zigzag(content[1])
        elif name == "java.util.BitSet":
            self.vint(1)
            self.fixed("Q", content)
        elif name == "byte[]":
            self.vint(len(content) + 1)
            self.out += content
        elif name == "int[]":
            self.vint(len(content) + 1)
            for number in content:
                self.zigzag(number)
        elif name == "w.Final[]":
            self.vint(len(content) + 1)
            for item in content:
                self.nullable(item, "w.Final")
        elif name in VIEWS:
            self.vint(VIEWS[name])
            self.value(content)
        elif name == _GUAVA + "List":
            self.vint(len(content))
            for item in content:
                self.value(item)
        elif name == _GUAVA + "Map":
            self.object(content)
        elif name == "java.util.Optional":
            final = generics in FINAL and self.flavour == 2
            self.nullable(content, generics) if final else self.value(content)  # type: ignore[arg-type]
        elif name == "java.util.EnumSet":
            self.class_("w.Color")
            self.vint(len(content))
            for constant in content:
                self.vint(constant + 1)
        elif name == "java.util.EnumMap":
            self.class_("w.Color")
            self.vint(len(content))
            for constant, item in content:
                self.vint(constant)
                self.value(item)
        elif name == "org.joda.time.DateTime":
            self.vlong(content[0])
            self.string(content[1])
            self.string(content[2])
        elif name == "org.joda.time.LocalDate":
            self.vint(content[0])
            self.string(content[1])
        elif name.startswith("java.time."):
            self.date_time(content, zoned=name.endswith("ZonedDateTime"))
        elif name in LISTS:
            self.collection(thing, generics)
        elif name in MAPS:
            self.map(thing, generics)
        else:
            raise AssertionError(name)

    def date_time(self, content: Any, zoned: bool) -> None:
        """A date, a time of day whose last parts are 0, and perhaps a zone."""
        date, hour, minute, zone = content
        if self.flavour == 5:
            self.body(Thing("java.time.LocalDate", date), None)
            self.out += bytes([hour, 0xFF ^ minute])
            if zoned:
                self.string(zone)
            return
        if zoned:
            self.new_object()
        self.new_object()
        self.body(Thing("java.time.LocalDate", date), None)
        self.new_object()
        self.out += bytes([hour, minute, 0, 0])
        if zoned:
            self.new_object()
            self.zigzag(3600)
            self.class_("java.time.ZoneRegion")
            self.new_object()
            self.new_object()
            self.string(zone)

    def new_object(self) -> None:
        """The mark of an object that nothing refers to."""
        self.seen[-len(self.seen)] = len(self.seen)
        self.vint(1)

    def field(self, type_: str, value: Any) -> None:
        primitives = {
            "int": self.zigzag, "long": self.zigzag_long, "boolean": lambda b: self.out.append(int(b)),
            "byte": lambda b: self.fixed("b", b), "short": lambda v: self.fixed("h", v), "double": lambda v: self.fixed("d", v),
            "char": lambda v: self.fixed("H", v),
        }  # fmt: skip
        if type_ in primitives:
            primitives[type_](value)
            return
        name, _, rest = type_.partition("<")
        generics = rest[:-1] if rest else None
        if name in FINAL:
            self.nullable(value, name, generics)
        else:
            self.value(value, generics)

    def collection(self, thing: Thing, generics: str | None) -> None:
        items = thing.content
        is_sorted = thing.name.endswith("TreeSet")
        name = None if generics is None else generics.partition("<")[0]
        inner = None if generics is None or "<" not in generics else generics.partition("<")[2][:-1]
        if self.flavour == 2:
            if is_sorted:
                self.vint(0)
            self.vint(len(items))
            for item in items:
                self.nullable(item, name) if name in FINAL else self.value(item)  # type: ignore[arg-type]
            return
        nulls = any(item is None for item in items)
        classes = {item.name for item in items if item is not None}
        known = name in FINAL
        same = not known and len(classes) <= 1 and self.random.random() < 0.8
        flag = nulls if known else same and bool(items)
        size = len(items) + 1
        first = (0x80 if flag else 0) | size & 0x3F
        assert size < 0x40
        self.out.append(first)
        if is_sorted:
            self.vint(0)
        if not items:
            return
        if not known and flag:
            if not classes:
                self.vint(0)
                return
            (one,) = classes
            self.class_(_ARRAYS.get(one, one))
            self.out.append(int(nulls))
            name = one
        elif not known:
            for item in items:
                self.value(item, inner)
            return
        assert name is not None
        for item in items:
            self.nullable(item, name, inner) if nulls else self.object(item, inner)

    def map(self, thing: Thing, generics: str | None) -> None:
        names: list[str | None] = [None, None] if generics is None else list(generics.split(", "))
        is_sorted = thing.name.endswith("TreeMap")
        if is_sorted and self.flavour == 2:
            self.vint(0)
        self.vint(len(thing.content) + (self.flavour == 5))
        if is_sorted and self.flavour == 5:
            self.vint(0)
        for pair in thing.content:
            for name, part in zip(names, pair, strict=True):
                self.nullable(part, name) if name in FINAL else self.value(part)  # type: ignore[arg-type]


class Graphs:
    """Random graphs.

    :param shared: how often an object that is there already takes the place of a new one.
    """

    def __init__(self, random_: random.Random, shared: float) -> None:
        self.random = random_
        self.shared = shared
        self.made: dict[str, list[Thing]] = {}

    def text(self) -> str:
        r = self.random
        kind = r.randrange(7)
        if kind == 6:
            return r.choice(("$", "$a", "a$", "\"", "\\", "\x00\x1f\n\t\r\x08\x0c", "a\"b", "1234567\\"))
        if kind < 3:
            return "".join(r.choices("abcxyz 019", k=r.choice((0, 1, 2, 7, 8, 9, 31, 32, 33, 34, 62, 63, 64, 65, 70, 300))))
        return "".join(r.choices("aé中😀\x00\x7f\u07ff\uffff" + ("\ud800\udc01" if kind == 5 else ""), k=r.randrange(1, 90)))

    def thing(self, name: str, content: Any) -> Thing:
        made = Thing(name, content)
        self.made.setdefault(name, []).append(made)
        return made

    def value(self, type_: str, depth: int, nullable: bool = True) -> Any:
        r = self.random
        primitives: dict[str, Any] = {
            "int": lambda: r.choice((0, -1, 63, 64, -65, 2**31 - 1, -(2**31), r.randrange(-9999, 9999))),
            "long": lambda: r.choice((0, -1, 2**63 - 1, -(2**63), r.randrange(-(2**40), 2**40))),
            "boolean": lambda: r.random() < 0.5, "byte": lambda: r.randrange(-128, 128),
            "short": lambda: r.randrange(-(2**15), 2**15), "double": lambda: r.choice((0.5, -1e300, 3.0)),
            "char": lambda: r.choice((65, 0xE9, 0x4E2D, 0xD800)),
        }  # fmt: skip
        if type_ in primitives:
            return primitives[type_]()
        if nullable and r.random() < 0.15:
            return None
        name, _, rest = type_.partition("<")
        generics = rest[:-1]
        if name == "w.Base":
            name = r.choice(("w.Base", "w.Sub", LONG)) if depth > 0 else r.choice(("w.Base", LONG))
        if name == "java.lang.Object":
            return self.value(r.choice(ANYTHING if depth > 0 else ANYTHING[4:9]), depth - 1, nullable)
        if name in self.made and name not in UNMARKED and r.random() < self.shared:
            return r.choice(self.made[name])
        if name in SPEC:
            made = self.thing(name, {})
            for key, field in SPEC[name].items():
                made.content[key] = self.value(field, depth - 1)
            return made
        if name == "java.util.Optional":
            return Thing(name, self.value(generics, depth - 1) if depth > 0 else None)
        if name == "java.util.EnumMap":
            constants = [i for i in range(3) if r.random() < 0.5]
            return Thing(name, [(i, self.value(generics.split(", ")[1], depth - 1)) for i in constants])
        if name in ("java.util.List", "java.util.Set", _ONLY_LIST):
            made = Thing(r.choice(LISTS if name != _ONLY_LIST else LISTS[:1]), [])
            if made.name in VIEWS:
                made.content = self.value(f"{_ONLY_LIST}<{generics}>", depth, nullable=False)
                return made
            made.content.extend(self.value(generics, depth - 1) for _ in range(r.randrange(4 if depth > 0 else 1)))
            return made
        if name in ("java.util.Map", _ONLY_MAP):
            made = Thing(r.choice(MAPS if name == "java.util.Map" else MAPS[:1]), [])
            if made.name in (*VIEWS, _GUAVA + "Map"):
                made.content = self.value(f"{_ONLY_MAP}<{generics}>", depth, nullable=False)
                return made
            key, value = generics.split(", ")
            for _ in range(r.randrange(4 if depth > 0 else 1)):
                made.content.append((self.value(key, depth - 1, nullable=False), self.value(value, depth - 1)))
            return made
        contents: dict[str, Any] = {
            "java.lang.String": self.text, "java.lang.Integer": primitives["int"], "java.lang.Long": primitives["long"],
            "java.lang.Double": lambda: r.choice((0.0, -0.0, 1.5, 0.1, 1e-5, 123456.789, 1e15, 1 / 3, -2.5e100)),
            "java.lang.Boolean": primitives["boolean"], "w.Color": lambda: r.randrange(3),
            "java.util.UUID": lambda: (primitives["long"](), primitives["long"]()),
            "java.time.Instant": lambda: (r.randrange(-(2**33), 2**33), r.randrange(10**6) * 1000),
            "java.time.LocalDate": lambda: (r.randrange(1, 9999), r.randrange(1, 13), r.randrange(1, 29)),
            "java.util.Date": lambda: r.randrange(-(2**42), 2**42), "java.util.BitSet": lambda: r.randrange(2**64),
            "java.math.BigDecimal": lambda: (r.randrange(-(10**20), 10**20), r.randrange(-3, 9)),
            "java.util.EnumSet": lambda: [i for i in range(3) if r.random() < 0.5],
            "org.joda.time.DateTime": lambda: (r.randrange(2**42), r.choice(("", "Buddhist")), r.choice(("", "Europe/Rome"))),
            "org.joda.time.LocalDate": lambda: (r.randrange(-99, 3000) * 416 + r.randrange(32, 416) // 32 * 32 + 5, ""),
            **dict.fromkeys(
                ("java.time.ZonedDateTime", "java.time.LocalDateTime"),
                lambda: (
                    (r.randrange(1700, 2200), r.randrange(1, 13), r.randrange(1, 29)), r.randrange(24), r.randrange(60),
                    r.choice(("Europe/Paris", "UTC")),
                ),
            ),
            "byte[]": lambda: r.randbytes(r.randrange(20)),
            "int[]": lambda: [primitives["int"]() for _ in range(r.randrange(20))],
            "w.Final[]": lambda: [self.value("w.Final", depth - 1) for _ in range(r.randrange(4))],
        }  # fmt: skip
        return self.thing(name, contents[name]())


def written(flavour: int, declared: str, random_: random.Random, shared: float) -> bytes:
    """A random value, as its bytes."""
    writer = Writer(flavour, declared, random_)
    writer.value(Graphs(random_, shared).value(declared, 3))
    return bytes(writer.out)
