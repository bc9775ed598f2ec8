"""Operations on Kryo's values (``columnar/layout/kryo_plan.py``).

What is not as the program has it stops with ``SLOW``: also what is wrong, which Python then says. Positions behind the end
of the window are asked for one byte at a time, so that a length that is wrong asks for nothing.
"""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    load_i16,
    load_i16_le,
    load_i32,
    load_i32_le,
    load_i64,
    load_i64_le,
    load_u8,
    lowest_bit,
    put,
    store_8,
    store_16,
    store_32,
    store_64,
)
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel.assemble import inlined
from stateextract.columnar.kernel.characters import copy, kryo_units, put_code_point, put_uuid
from stateextract.columnar.kernel.lists import end_list, open_list, take_slots
from stateextract.columnar.kernel.machine import (
    C_DATA,
    C_KIND,
    C_VAR,
    C_VAR_CAP,
    C_VAR_N,
    DECODED,
    DECODED_SIZE,
    F_AFTER,
    F_BASE,
    F_BEGIN,
    F_BODY,
    F_END,
    F_NAMES,
    F_REFS,
    F_SIZE,
    HIGH_BITS,
    MAX_ELEMENTS,
    MAX_NAME,
    MAX_NAMES,
    MAX_OBJECTS,
    MAX_SPENT,
    NAMES,
    OBJECTS,
    SLOW,
    SURROGATES,
    Machine,
)
from stateextract.columnar.kernel.variable import end_variable, null_variable, put_bytes, varint
from stateextract.columnar.program.operations import CLASS_MIX


def value(m: Machine, kept: int, t: int) -> None:
    """A value begins. If Python has decoded it: what came out, in the program at ``t``; ``kept``: columns take it."""
    m.names = 0
    m.elements = 0
    m.calls = 0
    m.refs = 0
    m.spent = 0
    decoded = at(m.out, DECODED)
    if decoded != 0:
        if at(decoded, 0) != m.pos:
            m.stop(SLOW)
        put(m.frames, m.depth * F_SIZE + F_BASE, m.base)
        put(m.frames, m.depth * F_SIZE + F_END, m.end)
        put(m.frames, m.depth * F_SIZE + F_AFTER, at(decoded, 1))
        m.depth += 1
        m.sections += 1
        if kept != 0:
            put(m.out, SURROGATES, at(m.out, SURROGATES) + at(decoded, 4))
        m.pos = at(decoded, 2) - m.src
        m.end = at(decoded, 3) - m.src
        put(m.out, DECODED, decoded + 8 * DECODED_SIZE)
        m.pc = t


def slow(m: Machine) -> None:
    """What only Python reads."""
    m.stop(SLOW)


@inlined
def new_object(m: Machine, wire: int) -> None:
    """An object begins, which later ones can refer to."""
    if m.refs < MAX_OBJECTS:
        put(m.out, OBJECTS + 2 * m.refs, m.pos)
        put(m.out, OBJECTS + 2 * m.refs + 1, (m.names << 32) | wire)
    m.refs += 1


@inlined
def earlier_object(m: Machine, wire: int, reference: int) -> None:
    """The mark before the position refers to an object. It is read once more, if the whole object is before the mark."""
    k = reference - 2
    if reference >= 0x80 or k >= m.refs or k >= MAX_OBJECTS:
        m.stop(SLOW)
    known = at(m.out, OBJECTS + 2 * k + 1)
    if known & 0xFFFFFFFF != wire:
        m.stop(SLOW)
    place = m.depth * F_SIZE
    put(m.frames, place + F_BASE, m.base)
    put(m.frames, place + F_END, m.end)
    put(m.frames, place + F_AFTER, m.pos)
    put(m.frames, place + F_NAMES, m.names)
    put(m.frames, place + F_REFS, m.refs)
    put(m.frames, place + F_BEGIN, at(m.out, OBJECTS + 2 * k))
    m.depth += 1
    m.sections += 1
    m.end = m.pos - 1
    m.pos = at(m.out, OBJECTS + 2 * k)
    m.names = known >> 32
    m.refs = k + 1


@inlined
def name_size(m: Machine) -> int:
    """How many bytes a class name takes that begins at the position: up to one with the highest bit, or behind a length plus
    one of two bytes. A length of one byte is no name of the program's, so it may be taken for another one."""
    n: int = 0
    if load_u8(m.src + m.pos) < 0x80:
        while True:
            if m.pos + n >= m.end:
                m.need_input(m.end + 1)
            eight = load_i64_le(m.src + m.pos + n) & HIGH_BITS
            if eight != 0:
                n += (lowest_bit(eight) >> 3) + 1
                break
            n += 8
            if n > MAX_NAME:
                m.stop(SLOW)
    else:
        m.require(2)
        n = (load_u8(m.src + m.pos) & 0x3F | load_u8(m.src + m.pos + 1) << 6) + 1
        if n > MAX_NAME:
            m.stop(SLOW)
    if n > m.end - m.pos:
        m.stop(SLOW)
    return n


def class_reference(m: Machine, t_null: int, n: int, bits: int) -> None:
    """A class reference, one of ``n`` or null, and the reference mark of its object.

    For each class: its number in the program, its name in the constants and the name's length, the number that it was
    registered with or -1, what its bytes are or -1 if it has no marks, where to go on, and where for an earlier object.
    Then a table of ``2 ** bits`` places (``class_table`` in ``program/kryo_places.py``): classes plus one, 0 where none is.
    """
    m.require(1)
    reference = load_u8(m.src + m.pos)
    m.pos += 1
    if reference >= 0x80:
        m.require(1)
        reference = (reference & 0x7F) | (load_u8(m.src + m.pos) << 7)
        m.pos += 1
        if reference >= 1 << 14:
            m.stop(SLOW)
    if reference == 0:
        m.pc = t_null
        return
    # What the class is found by: its number (3), its number in the program (0), or the name's length (2) and bytes.
    by = 3
    found = -1
    sought = reference - 2
    key = sought
    size = 0
    if reference == 1:
        m.require(1)
        reference = load_u8(m.src + m.pos)
        m.pos += 1
        if reference < m.names:
            by = 0
            sought = at(m.out, NAMES + reference)
            key = -1 - sought
        elif reference == m.names and reference < MAX_NAMES:
            m.require(1)
            by = 2
            size = name_size(m)
            sought = size
            if size >= 8:
                key = load_i64_le(m.src + m.pos + size - 8) + size
            else:
                key = (load_i64_le(m.src + m.pos) & ((1 << (8 * size)) - 1)) + size
        else:
            m.stop(SLOW)
    elif at(m.code, m.pc + 3) == sought:
        found = 0  # mostly the declared class, which comes first
    if found < 0:
        place = ((key * CLASS_MIX) >> (64 - bits)) & ((1 << bits) - 1)
        found = at(m.code, m.pc + 7 * n + place) - 1
        while found >= 0:
            if at(m.code, m.pc + 7 * found + by) == sought:
                name = m.constants + at(m.code, m.pc + 7 * found + 1)
                differ = 0
                j = 0
                while j < size:
                    eight = load_i64_le(name + j) ^ load_i64_le(m.src + m.pos + j)
                    if size - j < 8:
                        eight &= (1 << (8 * (size - j))) - 1
                    differ |= eight
                    j += 8
                if differ == 0:
                    break
            place = (place + 1) & ((1 << bits) - 1)
            found = at(m.code, m.pc + 7 * n + place) - 1
    if found >= 0 and by == 2:
        put(m.out, NAMES + m.names, at(m.code, m.pc + 7 * found))
        m.names += 1
        m.pos += size
    if found < 0:
        m.stop(SLOW)
    t = at(m.code, m.pc + 7 * found + 5)
    wire = at(m.code, m.pc + 7 * found + 4)
    if wire >= 0:
        m.require(1)
        reference = load_u8(m.src + m.pos)
        m.pos += 1
        if reference == 1:
            new_object(m, wire)
        elif reference == 0:
            t = t_null
        else:
            earlier_object(m, wire, reference)
            t = at(m.code, m.pc + 7 * found + 6)
    m.pc = t


def mark(m: Machine, wire: int, t_null: int, t_earlier: int) -> None:
    """A reference mark: a new object, null, or an earlier object, which is read at ``t_earlier``.

    ``wire``: what its bytes are, or -1 if it has no marks, so that they only show whether it is null.
    """
    m.require(1)
    reference = load_u8(m.src + m.pos)
    m.pos += 1
    if reference == 0:
        m.pc = t_null
    elif wire < 0:
        if reference != 1:
            m.stop(SLOW)
    elif reference == 1:
        new_object(m, wire)
    else:
        earlier_object(m, wire, reference)
        m.pc = t_earlier


def later(m: Machine) -> None:
    """The earlier object was read: back behind the mark that refers to it."""
    m.depth -= 1
    m.sections -= 1
    place = m.depth * F_SIZE
    m.spent += m.pos - at(m.frames, place + F_BEGIN) + 1
    if m.spent > MAX_SPENT:
        m.stop(SLOW)
    m.base = at(m.frames, place + F_BASE)
    m.end = at(m.frames, place + F_END)
    m.pos = at(m.frames, place + F_AFTER)
    m.names = at(m.frames, place + F_NAMES)
    m.refs = at(m.frames, place + F_REFS)


def no_class(m: Machine) -> None:
    """A class reference that is null."""
    m.require(1)
    if load_u8(m.src + m.pos) != 0:
        m.stop(SLOW)
    m.pos += 1


@inlined
def varlong(m: Machine) -> int:
    """A number of one to nine bytes, seven bits each, eight of the ninth."""
    n: int = 0
    shift = 0
    while True:
        m.require(1)
        byte = load_u8(m.src + m.pos)
        m.pos += 1
        if shift == 56:
            n |= byte << 56
            break
        n |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return n


@inlined
def zigzag(m: Machine, n: int) -> int:
    """The unsigned form of a signed number."""
    return ((n >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(n & 1)


@inlined
def whole_number(m: Machine, form: int) -> int:
    """An int as it is (0) or zigzag (1), a long (2, 3), a byte (4); two bytes, big-endian (5) or not (6), four or eight bytes,
    big-endian (7, 8) or not (9, 10)."""
    m.require(1)
    whole: int = load_u8(m.src + m.pos)
    if form >= 4:
        if form == 4:
            m.pos += 1
            whole = (whole ^ 0x80) - 0x80
        elif form < 7:
            m.require(2)
            whole = load_i16(m.src + m.pos) if form == 5 else load_i16_le(m.src + m.pos)
            m.pos += 2
        elif form & 1 != 0:
            m.require(4)
            whole = load_i32(m.src + m.pos) if form == 7 else load_i32_le(m.src + m.pos)
            m.pos += 4
        else:
            m.require(8)
            whole = load_i64(m.src + m.pos) if form == 8 else load_i64_le(m.src + m.pos)
            m.pos += 8
    else:
        if whole < 0x80:
            m.pos += 1
        elif form >= 2:
            whole = varlong(m)
        else:
            whole = varint(m, m.pos, SLOW)
            whole &= 0xFFFFFFFF
        if form & 1 != 0:
            whole = zigzag(m, whole)
        elif form == 0:
            whole = (whole ^ 0x80000000) - 0x80000000
    return whole


def number(m: Machine, c: int, form: int, low: int, high: int) -> None:
    """A number, in the forms of ``whole_number``.

    If ``low`` is not above ``high``, it must lie between them.
    """
    whole = whole_number(m, form)
    if low <= high and (whole < low or whole > high):
        m.stop(SLOW)
    if c >= 0:
        width = col(m.cols, c, C_KIND)
        if width == 4:
            store_32(col(m.cols, c, C_DATA) + 4 * m.i, whole)
        elif width == 8:
            store_64(col(m.cols, c, C_DATA) + 8 * m.i, whole)
        elif width == 1:
            store_8(col(m.cols, c, C_DATA) + m.i, whole)
        else:
            store_16(col(m.cols, c, C_DATA) + 2 * m.i, whole)


def text(m: Machine, c: int, binary: int) -> None:
    """A string: ASCII up to a byte with the highest bit; or a length plus one and units of one to three bytes; or null."""
    m.require(1)
    lead = load_u8(m.src + m.pos)
    if lead < 0x80:
        n = 0
        while True:
            if m.pos + n >= m.end:
                m.need_input(m.end + 1)
            eight = load_i64_le(m.src + m.pos + n) & HIGH_BITS
            if eight != 0:
                n += (lowest_bit(eight) >> 3) + 1
                break
            n += 8
        m.require(n)
        if c >= 0:
            var_n = col(m.cols, c, C_VAR_N)
            if var_n + n > col(m.cols, c, C_VAR_CAP):
                m.full(c)
            target = col(m.cols, c, C_VAR) + var_n
            copy(m.src + m.pos, target, n)
            store_8(target + n - 1, load_u8(m.src + m.pos + n - 1) & 0x7F)
            end_variable(m, c, var_n + n)
        m.pos += n
        return
    m.pos += 1
    n = lead & 0x3F
    if lead >= 0xC0:
        shift = 6
        while True:
            m.require(1)
            byte = load_u8(m.src + m.pos)
            m.pos += 1
            n |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 27:
                m.stop(SLOW)
    if n == 0:
        if lead != 0x80:
            m.stop(SLOW)
        if c >= 0:
            null_variable(m, c, col(m.cols, c, C_VAR_N))
        return
    n -= 1
    if n > m.end - m.pos:
        m.need_input(m.end + 1)
    k = 0
    while k < n:
        eight = load_i64_le(m.src + m.pos + k) & HIGH_BITS
        if n - k < 8:
            eight &= (1 << (8 * (n - k))) - 1
        if eight != 0:
            break
        k += 8
    if k >= n:
        if c >= 0:
            put_bytes(m, c, m.pos, n)
        m.pos += n
    elif c < 0:
        behind, target = kryo_units(m.src, m.pos, m.end, n, 0, binary, m.out)
        if behind < 0:
            m.stop(-1 - behind)
        m.pos = behind
    else:
        var_n = col(m.cols, c, C_VAR_N)
        if var_n + 3 * n > col(m.cols, c, C_VAR_CAP):
            m.full(c)
        behind, target_end = kryo_units(m.src, m.pos, m.end, n, col(m.cols, c, C_VAR) + var_n, binary, m.out)
        if behind < 0:
            m.stop(-1 - behind)
        m.pos = behind
        end_variable(m, c, target_end - col(m.cols, c, C_VAR))


def char(m: Machine, c: int, binary: int, little: int) -> None:
    """One UTF-16 unit of two bytes."""
    m.require(2)
    unit = (load_i16_le(m.src + m.pos) if little != 0 else load_i16(m.src + m.pos)) & 0xFFFF
    m.pos += 2
    if c >= 0:
        var_n = col(m.cols, c, C_VAR_N)
        if var_n + 3 > col(m.cols, c, C_VAR_CAP):
            m.full(c)
        if binary == 0 and 0xD800 <= unit < 0xE000:
            put(m.out, SURROGATES, at(m.out, SURROGATES) + 1)
            unit = 0xFFFD
        target = col(m.cols, c, C_VAR) + var_n
        var_n += put_code_point(target, unit) - target
        end_variable(m, c, var_n)


@inlined
def put_constant(m: Machine, c: int, constant: int, n: int) -> None:
    """A text of the program's."""
    var_n = col(m.cols, c, C_VAR_N)
    if var_n + n > col(m.cols, c, C_VAR_CAP):
        m.full(c)
    copy(m.constants + constant, col(m.cols, c, C_VAR) + var_n, n)
    end_variable(m, c, var_n + n)


def constant(m: Machine, c: int, place: int, n: int) -> None:
    """The ``n`` bytes at that place of the constants."""
    put_constant(m, c, place, n)


def one_of(m: Machine, c: int, n: int, bias: int) -> None:
    """The number of a text, of the ``n`` whose place and length in the constants follow, plus one; 0: null; or, with a ``bias``
    of 1, the number itself."""
    m.require(1)
    ordinal = load_u8(m.src + m.pos) + bias
    if ordinal > n or ordinal >= 0x80:
        m.stop(SLOW)
    m.pos += 1
    if c >= 0:
        if ordinal == 0:
            null_variable(m, c, col(m.cols, c, C_VAR_N))
        else:
            put_constant(m, c, at(m.code, m.pc + 2 * ordinal - 2), at(m.code, m.pc + 2 * ordinal - 1))
    m.pc += 2 * n


@inlined
def long(m: Machine, form: int) -> int:
    """Half of a UUID: eight bytes, little-endian (0) or big-endian (2), or zigzag and of any length (1)."""
    n: int = 0
    if form == 1:
        n = varlong(m)
        n = zigzag(m, n)
    else:
        m.require(8)
        n = load_i64_le(m.src + m.pos) if form == 0 else load_i64(m.src + m.pos)
        m.pos += 8
    return n


def uuid(m: Machine, c: int, form: int) -> None:
    """Two longs, as a text."""
    whole = long(m, form)
    other = long(m, form)
    if c >= 0:
        var_n = col(m.cols, c, C_VAR_N)
        if var_n + 36 > col(m.cols, c, C_VAR_CAP):
            m.full(c)
        put_uuid(whole, other, col(m.cols, c, C_VAR) + var_n)
        end_variable(m, c, var_n + 36)


def moment(m: Machine, c: int, nanoseconds: int, form: int) -> None:
    """Milliseconds; ``form``: alone (0), and nanoseconds of the second (1), where the milliseconds are whole seconds (2)."""
    whole = varlong(m)
    nanos = whole % 1000 * 1000000
    if form != 0:
        nanos = varint(m, m.pos, SLOW)
        nanos &= 0xFFFFFFFF
        if nanos > 999999999:
            m.stop(SLOW)
        if form == 2:
            if whole > 1 << 62:
                m.stop(SLOW)
            whole += nanos // 1000000
    if c >= 0:
        store_64(col(m.cols, c, C_DATA) + 8 * m.i, whole)
        store_32(col(m.cols, nanoseconds, C_DATA) + 4 * m.i, nanos)


@inlined
def time_of_day(m: Machine, form: int) -> int:
    """Nanoseconds since midnight. Kryo 5 (0): hour, minute, second, a byte each, and nanoseconds; a byte below 0 is the
    complement of the last that is not 0. Kryo 2 (1): hour, minute, nanoseconds, second."""
    m.require(1)
    hour = load_u8(m.src + m.pos)
    m.pos += 1
    minute = 0
    second = 0
    nanos: int = 0
    if form != 0:
        m.require(1)
        minute = load_u8(m.src + m.pos)
        m.pos += 1
        nanos = varint(m, m.pos, SLOW)
        nanos &= 0xFFFFFFFF
        nanos = zigzag(m, nanos)
        m.require(1)
        second = load_u8(m.src + m.pos)
        m.pos += 1
    elif hour >= 0x80:
        hour ^= 0xFF
    else:
        m.require(1)
        minute = load_u8(m.src + m.pos)
        m.pos += 1
        if minute >= 0x80:
            minute ^= 0xFF
        else:
            m.require(1)
            second = load_u8(m.src + m.pos)
            m.pos += 1
            if second >= 0x80:
                second ^= 0xFF
            else:
                nanos = varint(m, m.pos, SLOW)
                nanos &= 0xFFFFFFFF
    if hour > 23 or minute > 59 or second > 59 or nanos < 0 or nanos > 999999999:
        m.stop(SLOW)
    nanos += ((hour * 60 + minute) * 60 + second) * 1000000000
    return nanos


@inlined
def put_clock(m: Machine, nanos: int, c: int, minutes: int, seconds: int, nanoseconds: int) -> None:
    """A time of day into its columns."""
    store_8(col(m.cols, c, C_DATA) + m.i, nanos // 3600000000000)
    store_8(col(m.cols, minutes, C_DATA) + m.i, nanos // 60000000000 % 60)
    store_8(col(m.cols, seconds, C_DATA) + m.i, nanos // 1000000000 % 60)
    store_32(col(m.cols, nanoseconds, C_DATA) + 4 * m.i, nanos % 1000000000)


def clock(m: Machine, c: int, minutes: int, seconds: int, nanoseconds: int) -> None:
    """Kryo 5's time of day."""
    whole = time_of_day(m, 0)
    if c >= 0:
        put_clock(m, whole, c, minutes, seconds, nanoseconds)


def joda(
    m: Machine, form: int, years: int, months: int, days: int, hours: int, minutes: int, seconds: int, nanoseconds: int
) -> None:
    """A date (0), a time of day (1) or both (2) of Joda's, of the ISO calendar, whose name is empty or null.

    A date is one number: 416 for a year, 32 for a month, 1 for a day. A time is milliseconds, behind them where both are.
    """
    whole: int = 33
    of_day = 0
    if form == 2:
        whole = varlong(m)
        of_day = whole % 86400000
        whole //= 86400000
    else:
        of_day = varint(m, m.pos, SLOW)
        of_day &= 0xFFFFFFFF
        of_day = (of_day ^ 0x80000000) - 0x80000000
        if form == 0:
            whole = of_day
            of_day = 0
    m.require(1)
    calendar = load_u8(m.src + m.pos)
    if whole % 32 == 0 or whole % 416 < 32 or of_day < 0 or of_day >= 86400000 or calendar < 0x80 or calendar > 0x81:
        m.stop(SLOW)
    m.pos += 1
    if years >= 0:
        store_32(col(m.cols, years, C_DATA) + 4 * m.i, whole // 416)
        store_8(col(m.cols, months, C_DATA) + m.i, whole % 416 // 32)
        store_8(col(m.cols, days, C_DATA) + m.i, whole % 32)
    if hours >= 0:
        of_day *= 1000000
        put_clock(m, of_day, hours, minutes, seconds, nanoseconds)


def empty(m: Machine, t: int) -> None:
    """On at ``t`` behind an empty string or null."""
    m.require(1)
    lead = load_u8(m.src + m.pos)
    if lead == 0x80 or lead == 0x81:
        m.pos += 1
        m.pc = t


def big(m: Machine, c: int, scaled: int) -> None:
    """A length plus one (0: null) and the bytes of a number; ``scaled``: then a scale, which takes four bytes in the column."""
    n = varint(m, m.pos, SLOW)
    n &= 0xFFFFFFFF
    if n == 1:
        m.stop(SLOW)
    if n == 0:
        if c >= 0:
            null_variable(m, c, col(m.cols, c, C_VAR_N))
        return
    n -= 1
    if n > m.end - m.pos:
        m.need_input(m.end + 1)
    begin = m.pos
    m.pos += n
    scale = 0
    if scaled != 0:
        scale = varint(m, m.pos, SLOW)
        scale &= 0xFFFFFFFF
        scale = zigzag(m, scale)
    if c >= 0:
        var_n = col(m.cols, c, C_VAR_N)
        if var_n + n + 4 > col(m.cols, c, C_VAR_CAP):
            m.full(c)
        target = col(m.cols, c, C_VAR) + var_n
        copy(m.src + begin, target, n)
        if scaled != 0:
            store_8(target + n, scale >> 24)
            store_8(target + n + 1, scale >> 16)
            store_8(target + n + 2, scale >> 8)
            store_8(target + n + 3, scale)
            n += 4
        end_variable(m, c, var_n + n)


def blob(m: Machine, c: int, bias: int) -> None:
    """A length and as many bytes; with a ``bias`` of 1 a length plus one, and 0 is null."""
    n = varint(m, m.pos, SLOW)
    n &= 0xFFFFFFFF
    n -= bias
    if n < 0:
        if c >= 0:
            null_variable(m, c, col(m.cols, c, C_VAR_N))
        return
    if n > m.end - m.pos:
        m.need_input(m.end + 1)
    if c >= 0:
        put_bytes(m, c, m.pos, n)
    m.pos += n


def elements(m: Machine, form: int, width: int, t_null: int, t_flagged: int, c: int, child: int, t: int) -> None:
    """How many elements follow, of at least ``width`` bytes each, and the first of them.

    ``form``: the number as it is (0); plus one, 0 being null (1); the same with a flag in the first byte's highest bit, and if
    that is set, the code of an element is at ``t_flagged`` (2); ``width`` elements, and no number (3). ``t``: behind the
    elements, if there are none.
    """
    begin = m.pos
    n = 0
    flag = 0
    if form < 2:
        n = varint(m, begin, SLOW)
        n &= 0xFFFFFFFF
        n -= form
    elif form == 2:
        m.require(1)
        byte = load_u8(m.src + m.pos)
        m.pos += 1
        flag = byte >> 7
        n = byte & 0x3F
        if byte & 0x40:
            shift = 6
            while True:
                m.require(1)
                byte = load_u8(m.src + m.pos)
                m.pos += 1
                n |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
                if shift > 27:
                    m.stop(SLOW)
        n -= 1
    else:
        n = width
        width = 0
    if n < 0:
        m.pc = t_null
        return
    m.elements += n
    if n * width > m.end - m.pos or m.elements > MAX_ELEMENTS:
        m.stop(SLOW)
    slot = 0
    if c >= 0:
        slot = take_slots(m, child, n)
        end_list(m, c, slot + n)
    if n == 0:
        m.pc = t
    else:
        if flag != 0:
            m.pc = t_flagged
        open_list(m, n)
        if c >= 0:
            m.level = child
            m.i = slot


def element_code(m: Machine) -> None:
    """The code of an element begins here, and not where the elements were opened."""
    put(m.frames, (m.depth - 1) * F_SIZE + F_BODY, m.pc)
