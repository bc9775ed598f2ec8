"""``run``: the loop over entries and operations, and the table of all operations."""

from __future__ import annotations

from functools import partial

from stateextract.columnar.compiled.compile import at, compile_kernel, load_i32_le, put
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel import choices, json, kryo, lists, numbers, pairs, plain, sections, skips, variable
from stateextract.columnar.kernel.assemble import Operations, assemble, operate
from stateextract.columnar.kernel.machine import (
    ARGUMENT,
    BAD_PAIR,
    BAD_SECTION,
    C_CHILD,
    C_DATA,
    C_KIND,
    C_LEVEL,
    C_SIZE,
    C_VAR_N,
    CONSUMED,
    DONE,
    FULL,
    GROUP,
    K_LIST,
    K_VAR,
    L_CAP,
    L_COUNT,
    L_SIZE,
    LAST,
    MALFORMED,
    NEED_INPUT,
    PAIRS,
    POSITION,
    ROWS,
    SURROGATES,
)
from stateextract.columnar.program.operations import Op

OPERATIONS: Operations = (
    ((Op.NFIXED8,), numbers.nfixed8),
    ((Op.NFIXED4,), numbers.nfixed4),
    ((Op.NFIXED1,), numbers.nfixed1),
    ((Op.NFIXED2,), numbers.nfixed2),
    ((Op.FIXED8,), numbers.fixed8),
    ((Op.FIXED4,), numbers.fixed4),
    ((Op.TEXT, Op.NTEXT, Op.TEXT_VALUE), variable.text),
    ((Op.POJO,), choices.pojo),
    ((Op.NEXT,), lists.next_element),
    ((Op.LIST,), lists.list_of),
    ((Op.LIST8,), lists.list8),
    ((Op.PLAIN,), plain.plain),
    ((Op.NULLABLE,), choices.nullable),
    ((Op.NEXT_BLOCK,), lists.next_block),
    ((Op.LIST_BLOCKS,), lists.list_blocks),
    ((Op.SKIP,), skips.skip),
    ((Op.NSKIP,), skips.nskip),
    ((Op.END,), choices.end),
    ((Op.JUMP,), choices.jump),
    ((Op.FILL,), numbers.fill_columns),
    ((Op.FIXED1,), numbers.fixed1),
    ((Op.FIXED2,), numbers.fixed2),
    ((Op.BYTES,), variable.length_bytes),
    ((Op.BYTES_N,), variable.fixed_bytes),
    ((Op.BIG_INTEGER,), variable.big_integer),
    ((Op.UTF,), variable.utf),
    ((Op.SKIP_TEXT,), skips.skip_text),
    ((Op.MASK,), choices.mask),
    ((Op.MASK_BIT,), choices.mask_bit),
    ((Op.MASK_END,), choices.mask_end),
    ((Op.SWITCH,), choices.switch),
    ((Op.CHAR,), variable.char),
    ((Op.NULL,), numbers.null),
    ((Op.PRESENT,), numbers.present),
    ((Op.SKIP_BYTES,), skips.skip_bytes),
    ((Op.SKIP_UTF,), skips.skip_utf),
    ((Op.SKIP_BIG,), skips.skip_big),
    ((Op.EXPECT,), skips.expect),
    ((Op.FIXED,), numbers.fixed),
    ((Op.PAIR,), pairs.pair),
    ((Op.MARK,), pairs.mark_key),
    ((Op.PART,), pairs.part),
    ((Op.LENGTH,), pairs.length),
    ((Op.MARKED,), pairs.marked),
    ((Op.VALUE,), pairs.value),
    ((Op.VALUE8,), pairs.value8),
    ((Op.ENTRY8,), pairs.entry8),
    ((Op.FLAG,), pairs.flag),
    ((Op.REST,), pairs.rest),
    ((Op.BYTES_REST,), pairs.bytes_rest),
    ((Op.LIST_REST,), lists.list_rest),
    ((Op.LIST8_REST,), lists.list8_rest),
    ((Op.NEXT_REST,), lists.next_rest),
    ((Op.GROUP,), pairs.key_group),
    ((Op.PLACE,), numbers.position),
    ((Op.END_PAIR,), pairs.end_pair),
    ((Op.SLOT8, Op.SLOT4, Op.SLOT2, Op.SLOT1), sections.slot_number),
    ((Op.SLOT_UTF8, Op.SLOT_BYTES), sections.slot_variable),
    ((Op.SECTION,), sections.section),
    ((Op.ROW,), sections.row_of),
    ((Op.LEAVE,), sections.leave),
    ((Op.SLOT,), sections.slot_of),
    ((Op.REGION,), sections.region),
    ((Op.UTF8_REST,), sections.utf8_rest),
    ((Op.TIMESTAMP,), sections.timestamp),
    ((Op.ARRAY, Op.MAP_ARRAY), sections.array),
    ((Op.ARRAY_ELEMENT,), sections.array_element),
    ((Op.MAP_KEYS,), sections.map_keys),
    ((Op.MAP_VALUES,), sections.map_values),
    ((Op.MASKED_LIST,), lists.masked_list),
    ((Op.MASKED_ELEMENT,), lists.masked_element),
    ((Op.FAIL,), choices.fail),
)
"""Which function does what, the commonest operations first."""
COMMON = 19
"""How many cases of ``OPERATIONS`` are so common that the others may wait for them. The first one is looked for by itself."""

KRYO_OPERATIONS: Operations = (
    ((Op.KRYO,), kryo.value),
    ((Op.CLASS,), kryo.class_reference),
    ((Op.REFERENCE,), kryo.mark),
    ((Op.LATER,), kryo.later),
    ((Op.VARYING,), kryo.number),
    ((Op.KRYO_TEXT,), kryo.text),
    ((Op.KRYO_CHAR,), kryo.char),
    ((Op.CONSTANT,), kryo.constant),
    ((Op.ONE_OF,), kryo.one_of),
    ((Op.UUID,), kryo.uuid),
    ((Op.MOMENT,), kryo.moment),
    ((Op.CLOCK,), kryo.clock),
    ((Op.JODA,), kryo.joda),
    ((Op.EMPTY,), kryo.empty),
    ((Op.BIG,), kryo.big),
    ((Op.BLOB,), kryo.blob),
    ((Op.ELEMENTS,), kryo.elements),
    ((Op.BODY,), kryo.element_code),
    ((Op.NO_CLASS,), kryo.no_class),
    ((Op.SLOW,), kryo.slow),
    ((Op.JSON,), json.begin_json),
    ((Op.END_JSON,), json.end_json),
    ((Op.CALL,), json.call),
    ((Op.RETURN,), json.back),
    ((Op.PIECE,), json.json_piece),
    ((Op.JSON_NUMBER,), json.json_number),
    ((Op.JSON_BOOLEAN,), json.json_boolean),
    ((Op.JSON_REAL,), json.json_real),
    ((Op.JSON_CHAR,), json.json_char),
    ((Op.JSON_STRING,), json.json_string),
    ((Op.JSON_KEY,), json.json_key),
    ((Op.JSON_ONE_OF,), json.json_one_of),
    ((Op.JSON_UUID,), json.json_uuid),
    ((Op.JSON_TIME,), json.json_time),
    ((Op.JSON_CLOCK,), json.json_clock),
    ((Op.JSON_OFFSET,), json.json_offset),
    ((Op.JSON_ZONE,), json.json_zone),
    ((Op.JSON_BIG,), json.json_big),
    ((Op.JSON_NEXT,), json.json_next),
)
"""The same for what only Kryo's values need."""


def _run(
    code: int,
    constants: int,
    src: int,
    start: int,
    end: int,
    limit: int,
    columns: int,
    cols: int,
    levels: int,
    frames: int,
    masks: int,
    out: int,
) -> int:
    """Decode up to ``limit`` entries. Arrays are given as addresses: of int64 arrays, unless another type is given.

    :param code: the program.
    :param constants: the program's constants, bytes.
    :param src: the window, bytes; ``start`` and ``end`` are positions in it.
    :param columns: how many rows ``cols`` has.
    :param cols: [columns, C_SIZE]: kind, addresses, counts and capacities.
    :param levels: [levels, L_SIZE]: slots taken and slots there are. Level 0 goes on where it was.
    :param frames: [depth, F_SIZE], room for the open lists and sections; ``masks`` [depth], for the open rows' masks.
    :param out: [OUT_SIZE]: entries decoded, position behind the last whole one, and what is wrong.
    :returns: why it stopped.
    """
    status = DONE
    rows = 0
    pos = start
    entry = start
    first = at(levels, L_COUNT)
    taken = first
    slots = at(levels, L_CAP)
    surrogates = at(out, SURROGATES)
    malformed = at(out, MALFORMED)
    window_end = end
    pair_end = 0
    mark = 0
    mark_size = 0
    part = 0
    row = 0
    new_row = 1
    goes_on = 0
    last = 0
    group = 0
    names = 0
    elements = 0
    json = -1
    calls = 0
    refs = 0
    spent = 0
    only_group = at(out, GROUP)
    base = start
    makes_row = 1 if at(code, 0) != Op.MARK else 0
    while rows < limit:
        i = taken
        entry = pos
        surrogates = at(out, SURROGATES)
        malformed = at(out, MALFORMED)
        if makes_row != 0 and i >= slots:
            status = FULL
            put(out, ARGUMENT, -1)
            break
        pc = 0
        depth = 0
        empty = 0
        mask_depth = 0
        sections = 0
        level = 0
        pair_end = 0
        while True:
            op = at(code, pc)
            operate()
        if status != DONE:
            if status == NEED_INPUT and (sections > 0 or pair_end != 0):
                # The whole section or pair is there, so it is too short for what it should hold.
                status = BAD_SECTION if sections > 0 else BAD_PAIR
                put(out, POSITION, pos)
            break
        rows += 1
        taken += new_row
        entry = pos
        if last != 0:
            status = LAST
            surrogates = at(out, SURROGATES)
            malformed = at(out, MALFORMED)
            break
    put(levels, L_COUNT, taken)
    # Cut off what a broken entry left behind: every count follows from the offsets of the column above.
    put(out, SURROGATES, surrogates if status != DONE else at(out, SURROGATES))
    put(out, MALFORMED, malformed if status != DONE else at(out, MALFORMED))
    for column in range(columns):
        filled = at(levels, col(cols, column, C_LEVEL) * L_SIZE + L_COUNT)
        if col(cols, column, C_KIND) == K_VAR:
            put(cols, column * C_SIZE + C_VAR_N, load_i32_le(col(cols, column, C_DATA) + 4 * filled))
        elif col(cols, column, C_KIND) == K_LIST:
            put(
                levels,
                col(cols, column, C_CHILD) * L_SIZE + L_COUNT,
                load_i32_le(col(cols, column, C_DATA) + 4 * filled),
            )
    put(out, ROWS, taken - first)
    put(out, PAIRS, rows)
    put(out, CONSUMED, entry)
    return status


run = compile_kernel(_run, partial(assemble, operations=OPERATIONS), common=COMMON)
"""Runs programs without Kryo's operations. Those would make it 10 to 20 % slower: more registers, and less of them in the
processor's."""
run_kryo = compile_kernel(_run, partial(assemble, operations=(*OPERATIONS, *KRYO_OPERATIONS)), "run_kryo")
"""Runs any program."""
