"""Changelog handles: what was materialized and the changes since, as files of a plan.

A handle lists materialized parts, which are snapshots like any other, and increments. Of the increments only the metadata is
read here: it says which states changed. The key's serializer is in a materialized head or in the declaration of a queue
of timers. Without either, those of the operator's other subtasks are used. If none has them, common types are tried.

Everything is clipped to the handle's key groups: after a rescaling the parts and the increments are those of the old
subtasks, with more. Key groups of which nothing was materialized make a file of their own, which has only changes. May import
metadata, files, changelog and state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stateextract.changelog.declared import (
    header_of,
    key_of_header,
    merged_header,
    parse_changes_header,
    parse_declaration,
    timer_key,
    unknown_key,
)
from stateextract.changelog.keys import find_key
from stateextract.changelog.log import Log
from stateextract.errors import FormatError, StateExtractError, UnsupportedError
from stateextract.files.decompressed_files import DecompressedFiles
from stateextract.files.prefetch import FilePrefetcher
from stateextract.metadata.locate import Locator
from stateextract.metadata.model import ChangelogHandle, IncrementalHandle, KeyGroupsHandle
from stateextract.metadata.opener import Opener
from stateextract.printable import pluralize
from stateextract.snapshot.content import Content
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.heap import KeyGroupRange
from stateextract.state.header import KeyedHeader

if TYPE_CHECKING:
    from stateextract.snapshot.headers import StateFile

_ALL = range(1 << 15)


def open_log(
    handle: ChangelogHandle,
    locator: Locator,
    metadata: Callable[[], bytes],
    codec: str = "snappy",
    verify: bool = True,
    files: DecompressedFiles | None = None,
) -> Log:
    """The log of a subtask.

    :param metadata: gives the content of ``_metadata``.
    """
    open_file = Opener(locator, FilePrefetcher(locator.store), exact_size=False)
    return Log(handle, open_file, locator.found.metadata_uri, metadata, codec, verify, files)


@dataclass
class Changelog:
    """A changelog handle of which the key's serializer may still be missing.

    :param parts: what was materialized, with the handle of each.
    :param metas: of the states that changed, as they were declared.
    :param key: snapshot of the key's serializer, if it is known; :param note: what to say of how it was found.
    :param problem: why it was not.
    """

    operator: int
    subtask: int
    handle: ChangelogHandle
    log: Log
    parts: Sequence[tuple[KeyGroupsHandle | IncrementalHandle, StateFile]]
    metas: list[bytes] = field(default_factory=list)
    key: bytes | None = None
    note: str | None = None
    problem: StateExtractError | None = None

    def look(self) -> None:
        """Read the metadata of the changes.

        :raises StateExtractError: with file and offset.
        """
        for _, file in self.parts:
            if isinstance(file.header, KeyedHeader):
                self.key = self.key or key_of_header(file.header, file.header_key)
        for change in self.log.metadata():
            try:
                declaration = parse_declaration(change.data)
            except StateExtractError as error:
                raise self.log.with_location(error, change.location) from None
            self.metas.append(declaration.data)
            self.key = self.key or timer_key(declaration)
        self.metas = list(dict.fromkeys(self.metas))

    def files(self, metadata_uri: str, make: Callable[..., StateFile], most: int) -> list[StateFile]:
        """What is to be read.

        :param make: makes a file; :param most: the operator's max parallelism.
        """
        handle = self.handle
        if not handle.increments:
            return [_clipped(file, handle.key_groups) for _, file in self.parts]
        changes = header_of(self.key or unknown_key(), self.metas)
        header = parse_changes_header(changes)
        size = self.log.size
        share = size // max(len(handle.key_groups), 1)
        left = dict.fromkeys(handle.key_groups)
        files = []
        for part, file in self.parts:
            groups = [group for group in part.key_groups if group in left]
            for group in groups:
                del left[group]
            assert file.content is not None
            filled = {r.key_group: r for r in file.content.ranges}
            ranges = tuple(filled.get(group) or KeyGroupRange(group, 0, 0) for group in groups)
            content = replace(file.content, ranges=ranges, changes=changes, change_bytes=share)
            assert isinstance(file.header, KeyedHeader)
            if groups:
                files.append(replace(
                    file, kind=handle.kind, form=BodyKind.CHANGELOG, content=content, header=merged_header(file.header, header),
                    header_key=file.header_key + changes, changelog=handle,
                ))  # fmt: skip
        if left:
            ranges = tuple(KeyGroupRange(group, 0, 0) for group in left)
            content = Content(BodyKind.CHANGELOG, 0, 0, most, ranges, changes=changes, change_bytes=max(share, 1))
            files.append(make(
                self.operator, self.subtask, handle.kind, BodyKind.CHANGELOG, metadata_uri, size=size, content=content,
                header=header, header_key=changes, changelog=handle,
            ))  # fmt: skip
        return files


def find_keys(changelogs: Sequence[Changelog], max_parallelism: int) -> UnsupportedError | None:
    """Give the changelogs of one operator the key's serializer that some of them are missing.

    :returns: what to say where none can be found.
    :raises StateExtractError: where changes cannot be read for a trial.
    """
    missing = [c for c in changelogs if c.key is None and c.handle.increments]
    if not missing:
        return None
    key = next((c.key for c in changelogs if c.key is not None), None)
    if key is None:
        found = find_key([c.log.changes(_ALL) for c in missing], max_parallelism)
        if found is None:
            return UnsupportedError(
                "the snapshot does not contain the serializer of the keys, and none of the common ones fits",
                advice="a savepoint, or a checkpoint that was taken after the state was materialized, contains it",
            )
        key = found.snapshot
        missing[0].note = (
            f"the snapshot does not record the type of the keys: {found.name} was found by trial and fits "
            f"{pluralize(found.changes, 'change')} of {pluralize(found.keys, 'key')}"
        )
    for changelog in missing:
        changelog.key = key
    return None


def materialized_parts(handle: ChangelogHandle) -> list[KeyGroupsHandle | IncrementalHandle]:
    """The materialized parts of a changelog.

    :raises FormatError: where there are others than snapshots, or some whose key groups are invalid, so that rows would be
        missing, or would come twice.
    """
    parts: list[KeyGroupsHandle | IncrementalHandle] = []
    seen: set[int] = set()
    for part in handle.materialized:
        if not isinstance(part, KeyGroupsHandle | IncrementalHandle):
            raise FormatError(f"the materialized part of a changelog is a {part.kind} handle")
        if not part.key_groups:
            raise FormatError("a materialized part of a changelog has no valid key groups")
        mine = {group for group in part.key_groups if group in handle.key_groups}
        if mine & seen:
            raise FormatError("two materialized parts of a changelog have the same key group", key_group=min(mine & seen))
        seen |= mine
        parts.append(part)
    return parts


def _clipped(file: StateFile, key_groups: Iterable[int]) -> StateFile:
    """A materialized part without the key groups of other subtasks."""
    if file.content is None:
        return file
    selected = set(key_groups)
    ranges = tuple(r for r in file.content.ranges if r.key_group in selected)
    return file if ranges == file.content.ranges else replace(file, content=replace(file.content, ranges=ranges))
