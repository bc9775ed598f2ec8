"""Operations that write Kryo's values as JSON, piece by piece, into the column that the register ``json`` names.

-1 is no column: values are only skipped. What Python writes in another way, or what is not simple, stops with
``SLOW``, as in ``kryo.py``.
"""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    load_i16,
    load_i16_le,
    load_i32_le,
    load_i64,
    load_i64_le,
    load_u8,
    lowest_bit,
    put,
    store_8,
)
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel.assemble import inlined
from stateextract.columnar.kernel.characters import copy, put_uuid
from stateextract.columnar.kernel.kryo import long, new_object, time_of_day, varlong, whole_number, zigzag
from stateextract.columnar.kernel.lists import close_list
from stateextract.columnar.kernel.machine import (
    C_DATA,
    C_SIZE,
    C_VAR,
    C_VAR_CAP,
    C_VAR_N,
    F_BODY,
    F_LEFT,
    F_SIZE,
    HIGH_BITS,
    MAX_CALLS,
    MAX_JSON,
    MAX_OBJECTS,
    MAX_SPENT,
    OBJECTS,
    SLOW,
    Machine,
)
from stateextract.columnar.kernel.texts import (
    json_ascii,
    json_units,
    put_date,
    put_decimal,
    put_digits,
    put_instant,
    put_real,
    put_scaled,
    put_time,
)
from stateextract.columnar.kernel.variable import end_variable, varint


def begin_json(m: Machine, c: int) -> None:
    """What follows is the text of column ``c``."""
    m.json = c


def end_json(m: Machine) -> None:
    """The text is complete. Python counts its parts, of which it has no more than characters."""
    if m.json >= 0:
        var_n = col(m.cols, m.json, C_VAR_N)
        if var_n - load_i32_le(col(m.cols, m.json, C_DATA) + 4 * m.i) > MAX_JSON:
            m.stop(SLOW)
        end_variable(m, m.json, var_n)


def call(m: Machine, t: int) -> None:
    """The operations at ``t``, up to their ``RETURN``."""
    if m.calls >= MAX_CALLS:
        m.stop(SLOW)
    put(m.frames, m.depth * F_SIZE + F_BODY, m.pc)
    m.depth += 1
    m.calls += 1
    m.pc = t


def back(m: Machine) -> None:
    """Behind the ``CALL``."""
    m.depth -= 1
    m.calls -= 1
    m.pc = at(m.frames, m.depth * F_SIZE + F_BODY)


@inlined
def room(m: Machine, n: int) -> int:
    """Where the next ``n`` bytes go."""
    if col(m.cols, m.json, C_VAR_N) + n > col(m.cols, m.json, C_VAR_CAP):
        m.full(m.json)
    place: int = col(m.cols, m.json, C_VAR) + col(m.cols, m.json, C_VAR_N)
    return place


@inlined
def written(m: Machine, target: int) -> None:
    """The text goes on at ``target``."""
    put(m.cols, m.json * C_SIZE + C_VAR_N, target - col(m.cols, m.json, C_VAR))


def json_piece(m: Machine, place: int, n: int) -> None:
    """The ``n`` bytes at that place of the constants."""
    if m.json >= 0:
        target = room(m, n)
        copy(m.constants + place, target, n)
        target += n
        written(m, target)


def json_number(m: Machine, form: int) -> None:
    """A number, in the forms of ``VARYING``."""
    whole = whole_number(m, form)
    if m.json >= 0:
        target = room(m, 20)
        target = put_decimal(target, whole)
        written(m, target)


def json_boolean(m: Machine) -> None:
    """A byte; 0 is false."""
    m.require(1)
    whole = load_u8(m.src + m.pos)
    m.pos += 1
    if m.json >= 0:
        target = room(m, 8)
        store_8(target, 0x74 if whole != 0 else 0x66)
        store_8(target + 1, 0x72 if whole != 0 else 0x61)
        store_8(target + 2, 0x75 if whole != 0 else 0x6C)
        store_8(target + 3, 0x65 if whole != 0 else 0x73)
        store_8(target + 4, 0x65)
        target += 4 if whole != 0 else 5
        written(m, target)


def json_real(m: Machine, little: int) -> None:
    """A double."""
    m.require(8)
    whole = load_i64_le(m.src + m.pos) if little != 0 else load_i64(m.src + m.pos)
    m.pos += 8
    if m.json >= 0:
        target = room(m, 40)
        target = put_real(target, whole)
        if target == 0:
            m.stop(SLOW)
        written(m, target)


def json_char(m: Machine, little: int) -> None:
    """One UTF-16 unit of two bytes."""
    m.require(2)
    unit = (load_i16_le(m.src + m.pos) if little != 0 else load_i16(m.src + m.pos)) & 0xFFFF
    m.pos += 2
    if unit >= 0x80:
        m.stop(SLOW)
    if m.json >= 0:
        target = room(m, 10)
        store_8(target, 0x22)
        store_8(target + 1, unit)
        target = json_ascii(target + 1, 1, target + 1)
        store_8(target, 0x22)
        target += 1
        written(m, target)


def json_string(m: Machine, name: int, reference: int, wire: int) -> None:
    """A string. ``name``: one that names a member, in front of which the class ``reference`` (-1: none) and a mark stand, and
    behind which a colon follows; a text that cannot be such a name stops. ``wire``: as of ``REFERENCE``."""
    after = -1
    begin = 0
    if name != 0:
        n = 1 if reference >= 0 else 0
        m.require(n + 1)
        if reference >= 0 and load_u8(m.src + m.pos) != reference:
            m.stop(SLOW)
        lead = load_u8(m.src + m.pos + n)
        m.pos += n + 1
        if lead == 1:
            new_object(m, wire)
        else:
            # A string is whole where others refer to it.
            if lead == 0 or lead >= 0x80 or lead - 2 >= m.refs or lead - 2 >= MAX_OBJECTS:
                m.stop(SLOW)
            if at(m.out, OBJECTS + 2 * lead - 3) & 0xFFFFFFFF != wire:
                m.stop(SLOW)
            after = m.pos
            m.pos = at(m.out, OBJECTS + 2 * lead - 4)
            begin = m.pos
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
    else:
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
        n -= 1
        if n < 0:
            m.stop(SLOW)
        if n > m.end - m.pos:
            m.need_input(m.end + 1)
    if name != 0 and n > 0 and load_u8(m.src + m.pos) == 0x24:
        m.stop(SLOW)
    k = 0
    while lead >= 0x80 and k < n:
        eight = load_i64_le(m.src + m.pos + k) & HIGH_BITS
        if n - k < 8:
            eight &= (1 << (8 * (n - k))) - 1
        if eight != 0:
            break
        k += 8
    if m.json < 0:
        if lead < 0x80 or k >= n:
            m.pos += n
        else:
            behind, target = json_units(m.src, m.pos, m.end, n, 0, m.out)
            if behind < 0:
                m.stop(-1 - behind)
            m.pos = behind
    else:
        target = room(m, 6 * n + 16)
        store_8(target, 0x22)
        if lead < 0x80 or k >= n:
            target = json_ascii(m.src + m.pos, n, target + 1)
            m.pos += n
        else:
            behind, target = json_units(m.src, m.pos, m.end, n, target + 1, m.out)
            if behind < 0:
                m.stop(-1 - behind)
            m.pos = behind
        store_8(target, 0x22)
        target += 1
        if name != 0:
            store_8(target, 0x3A)
            target += 1
        written(m, target)
    if after >= 0:
        m.spent += m.pos + 1 - begin
        if m.spent > MAX_SPENT:
            m.stop(SLOW)
        m.pos = after


def json_key(m: Machine, pair: int, reference: int, wire: int, t: int) -> None:
    """On at ``t`` unless what comes is such a name; ``pair``: behind this class and the mark of a new object, or -1."""
    n = 1 if reference >= 0 else 0
    if pair >= 0:
        n += 2
    m.require(n + 1)
    if pair >= 0 and (load_u8(m.src + m.pos) != pair or load_u8(m.src + m.pos + 1) != 1):
        m.pc = t
        return
    if reference >= 0 and load_u8(m.src + m.pos + n - 1) != reference:
        m.pc = t
        return
    lead = load_u8(m.src + m.pos + n)
    if lead == 0:
        m.pc = t
        return
    place = m.pos + n + 1
    if lead != 1:
        if lead >= 0x80 or lead - 2 >= m.refs or lead - 2 >= MAX_OBJECTS:
            m.stop(SLOW)
        if at(m.out, OBJECTS + 2 * lead - 3) & 0xFFFFFFFF != wire:
            m.stop(SLOW)
        place = at(m.out, OBJECTS + 2 * lead - 4)
    if m.end - place < 1:
        m.need_input(m.end + 1)
    lead = load_u8(m.src + place)
    if lead > 0x81:
        n = 1 if lead < 0xC0 else 2
        if m.end - place < n + 1:
            m.need_input(m.end + 1)
        if n == 2 and load_u8(m.src + place + 1) >= 0x80:
            m.stop(SLOW)
        lead = load_u8(m.src + place + n)
    if lead == 0x24:
        m.pc = t


def json_one_of(m: Machine, n: int, bias: int) -> None:
    """As ``ONE_OF``, without null."""
    m.require(1)
    ordinal = load_u8(m.src + m.pos) + bias
    if ordinal == 0 or ordinal > n or ordinal >= 0x80:
        m.stop(SLOW)
    m.pos += 1
    if m.json >= 0:
        size = at(m.code, m.pc + 2 * ordinal - 1)
        target = room(m, size)
        copy(m.constants + at(m.code, m.pc + 2 * ordinal - 2), target, size)
        target += size
        written(m, target)
    m.pc += 2 * n


def json_uuid(m: Machine, form: int) -> None:
    """As ``UUID``."""
    whole = long(m, form)
    other = long(m, form)
    if m.json >= 0:
        target = room(m, 36)
        put_uuid(whole, other, target)
        target += 36
        written(m, target)


def json_time(m: Machine, form: int) -> None:
    """Milliseconds (0); seconds and nanoseconds, as they are (1), or zigzag and the other way round (2); a date: year, month
    and day (3), or the other way round, of two bytes but for the year (4); milliseconds and nanoseconds of the second (5), of
    which the milliseconds are whole seconds (6)."""
    whole = 0
    nanos = 0
    if form < 3 or form > 4:
        if form == 2:
            nanos = varint(m, m.pos, SLOW)
            nanos &= 0xFFFFFFFF
            nanos = zigzag(m, nanos)
        whole = varlong(m)
        if form == 2:
            whole = zigzag(m, whole)
        elif form != 0:
            nanos = varint(m, m.pos, SLOW)
            nanos &= 0xFFFFFFFF
            if form == 6 and whole % 1000 != 0:
                m.stop(SLOW)
            if form > 4:
                whole //= 1000
        else:
            nanos = whole % 1000 * 1000000
            whole //= 1000
        if m.json >= 0:
            target = room(m, 40)
            target = put_instant(target, whole, nanos)
            if target == 0:
                m.stop(SLOW)
            written(m, target)
    else:
        month = 0
        day = 0
        if form == 4:
            m.require(4)
            day = load_i16(m.src + m.pos)
            month = load_i16(m.src + m.pos + 2)
            m.pos += 4
        whole = varint(m, m.pos, SLOW)
        whole &= 0xFFFFFFFF
        if form == 4:
            whole = zigzag(m, whole)
        else:
            m.require(2)
            month = load_u8(m.src + m.pos)
            day = load_u8(m.src + m.pos + 1)
            m.pos += 2
        if month < 1 or month > 12 or day < 1 or day > 31 or whole < 0 or whole > 9999:
            m.stop(SLOW)
        if m.json >= 0:
            target = room(m, 16)
            target = put_date(target, whole, month, day)
            written(m, target)


def json_clock(m: Machine, form: int) -> None:
    """A time of day: Kryo 5's (0), Kryo 2's (1)."""
    whole = time_of_day(m, form)
    if m.json >= 0:
        target = room(m, 24)
        target = put_time(target, whole // 1000000000, whole % 1000000000)
        written(m, target)


def json_offset(m: Machine, form: int) -> None:
    """What a zone is away from UTC: quarters of an hour in a byte, or behind 127 seconds in four (0); zigzag, seconds (1)."""
    whole: int = 0
    if form != 0:
        whole = varint(m, m.pos, SLOW)
        whole &= 0xFFFFFFFF
        whole = zigzag(m, whole)
    else:
        m.require(1)
        whole = ((load_u8(m.src + m.pos) ^ 0x80) - 0x80) * 900
        m.pos += 1
    # What is not in whole minutes is rare.
    if whole % 60 != 0 or whole < -64800 or whole > 64800:
        m.stop(SLOW)
    if m.json >= 0:
        target = room(m, 16)
        if whole == 0:
            store_8(target, 0x5A)
            target += 1
        else:
            store_8(target, 0x2D if whole < 0 else 0x2B)
            whole = -whole if whole < 0 else whole
            target = put_digits(target + 1, whole // 3600, 2)
            store_8(target, 0x3A)
            target = put_digits(target + 1, whole // 60 % 60, 2)
        written(m, target)


def json_zone(m: Machine, bare: int) -> None:
    """The name of a zone in brackets; ``bare``: without, where it is an offset."""
    m.require(2)
    n = 1
    lead = load_u8(m.src + m.pos)
    if lead == 0x82:
        m.pos += 1
        lead = load_u8(m.src + m.pos)
        if lead >= 0x80:
            m.stop(SLOW)
    else:
        if lead >= 0x80:
            m.stop(SLOW)
        while load_u8(m.src + m.pos + n - 1) < 0x80:
            if n > 100:
                m.stop(SLOW)
            n += 1
            m.require(n)
    if bare != 0 and (lead == 0x2B or lead == 0x2D or (lead == 0x5A and n == 1)):
        bare = 2
    if m.json >= 0:
        target = room(m, n + 12)
        if bare != 2:
            store_8(target, 0x5B)
            target += 1
        copy(m.src + m.pos, target, n)
        target += n
        store_8(target - 1, load_u8(m.src + m.pos + n - 1) & 0x7F)
        if bare != 2:
            store_8(target, 0x5D)
            target += 1
        written(m, target)
    m.pos += n


def json_big(m: Machine, scaled: int) -> None:
    """As ``BIG``, of at most 18 digits."""
    n = varint(m, m.pos, SLOW)
    n &= 0xFFFFFFFF
    if n < 2 or n > 9:
        m.stop(SLOW)
    n -= 1
    m.require(n)
    whole = (load_u8(m.src + m.pos) ^ 0x80) - 0x80
    for k in range(1, n):
        whole = (whole << 8) | load_u8(m.src + m.pos + k)
    m.pos += n
    scale = 0
    if scaled != 0:
        scale = varint(m, m.pos, SLOW)
        scale &= 0xFFFFFFFF
        scale = zigzag(m, scale)
    if m.json >= 0:
        target = room(m, 48)
        target = put_scaled(target, whole, scale)
        if target == 0:
            m.stop(SLOW)
        written(m, target)


def json_next(m: Machine) -> None:
    """As ``NEXT``, with a comma between elements."""
    f = m.depth - 1
    left = at(m.frames, f * F_SIZE + F_LEFT) - 1
    if left > 0:
        put(m.frames, f * F_SIZE + F_LEFT, left)
        m.pc = at(m.frames, f * F_SIZE + F_BODY)
        if m.json >= 0:
            target = room(m, 1)
            store_8(target, 0x2C)
            target += 1
            written(m, target)
    else:
        close_list(m)
