"""Object files made into plain runs of bytes, which run wherever they are mapped.

A kernel reads and writes only what its arguments point to, so its object file has code and constants and nothing that would
need a dynamic linker: no other symbols, no absolute addresses, no data that is written. The code comes first, the constants
follow, and the distances between them are put into the instructions. The result is mapped at the beginning of a page.

Sources: System V ABI, chapters on object files; its supplements for x86-64 and AArch64. Knows nothing of kernels or LLVM.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_PROGBITS, _SYMTAB, _RELA = 1, 2, 4
_WRITE, _ALLOCATED, _EXECUTABLE = 1, 2, 4
_X86_64, _AARCH64 = 62, 183
_X86_64_DISTANCES = (2, 4)
"""``R_X86_64_PC32`` and ``R_X86_64_PLT32``: 32 bits of distance."""
_AARCH64_DISTANCE = 261
_AARCH64_PAGES = 275
_AARCH64_BRANCHES = (282, 283)
_AARCH64_IN_PAGE = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
"""Relocations of the lowest twelve bits (``ADD`` and loads), and how many of these bits the instruction leaves out."""
_PAGE = 4096


class NotAlone(Exception):
    """The object file refers to something outside of it, or to an address that is not known before it is loaded."""


@dataclass(frozen=True)
class _Section:
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


def link(data: bytes, symbol: str) -> tuple[bytes, int]:
    """Make an object file of ELF (64 bits, little-endian) into a run of bytes without relocations.

    :param symbol: the function that is called.
    :returns: the bytes, and where the function begins in them.
    :raises NotAlone: it does not run by itself.
    """
    machine = struct.unpack_from("<H", data, 18)[0]
    sections = _sections(data)
    symbols = _symbols(data, sections)
    content = bytearray()
    bases: dict[int, int] = {}
    placed = [i for i, s in enumerate(sections) if s.flags & _ALLOCATED and s.size and s.kind == _PROGBITS]
    for i in sorted(placed, key=lambda i: not sections[i].flags & _EXECUTABLE):
        section = sections[i]
        if section.flags & _WRITE:
            raise NotAlone("it has data that is written")
        content += bytes(-len(content) % max(section.alignment, 1))
        bases[i] = len(content)
        content += data[section.offset : section.offset + section.size]
    for section in sections:
        if section.kind == _RELA and section.info in bases:
            for offset, info, addend in struct.iter_unpack("<QQq", data[section.offset : section.offset + section.size]):
                name, home, value = symbols[info >> 32]
                if home not in bases:
                    raise NotAlone(f"it refers to {name or 'what it does not have'}")
                _relocate(
                    content, machine, info & 0xFFFFFFFF, bases[section.info] + offset, bases[home] + value + addend
                )
    entries = [bases[home] + value for name, home, value in symbols if name == symbol and home in bases]
    if not entries:
        raise NotAlone(f"it has no function {symbol}")
    return bytes(content), entries[0]


def _sections(data: bytes) -> list[_Section]:
    table, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    found = []
    for i in range(count):
        _, kind, flags, _, offset, length, link, info, alignment, _ = struct.unpack_from("<IIQQQQIIQQ", data, table + i * size)
        found.append(_Section(kind, flags, offset, length, link, info, alignment))
    return found


def _symbols(data: bytes, sections: list[_Section]) -> list[tuple[str, int, int]]:
    """Name, section and position in it of each symbol."""
    table = next(section for section in sections if section.kind == _SYMTAB)
    names = sections[table.link]
    found = []
    for name, _, _, home, value, _ in struct.iter_unpack("<IBBHQQ", data[table.offset : table.offset + table.size]):
        start = names.offset + name
        found.append((data[start : data.index(0, start)].decode(), home, value))
    return found


def _relocate(content: bytearray, machine: int, kind: int, place: int, target: int) -> None:
    """Put the way to ``target`` into the instruction or the table at ``place``, both counted from the beginning."""
    if (machine == _X86_64 and kind in _X86_64_DISTANCES) or (machine == _AARCH64 and kind == _AARCH64_DISTANCE):
        struct.pack_into("<i", content, place, target - place)
        return
    if machine != _AARCH64:
        raise NotAlone(f"it has a relocation of type {kind}")
    (instruction,) = struct.unpack_from("<I", content, place)
    if kind == _AARCH64_PAGES:
        pages = target // _PAGE - place // _PAGE & 0x1FFFFF
        instruction |= (pages & 3) << 29 | pages >> 2 << 5
    elif kind in _AARCH64_IN_PAGE:
        instruction |= target % _PAGE >> _AARCH64_IN_PAGE[kind] << 10
    elif kind in _AARCH64_BRANCHES:
        instruction |= (target - place) // 4 & 0x3FFFFFF
    else:
        raise NotAlone(f"it has a relocation of type {kind}")
    struct.pack_into("<I", content, place, instruction)


__all__ = ["NotAlone", "link"]
