"""A model checker for the protocol of ``commit.py`` and ``claim.py``: jobs in every order of their store operations.

The jobs are the real code over a store that exists only here. A job is a function of the answers that it got so far: to
find its next operation it runs again from its start, gets the known answers, and is stopped where they end. So a state of
the whole is the store with the answers of each job, and all states that can be reached are visited, each once: at every
state each job may make its next operation or be killed. Whenever no job is left, a successor runs.

Two things keep the number of states small, and lose none that matters. Where all that a job still knows of its answers can
be listed, it says so by a ``mark``, and two jobs with the same mark count as the same. An operation in the job's own
staging folder changes nothing for another job that runs, so it is made at once; the job can be killed before it all the
same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import pyarrow.fs as pafs
import pytest

from stateextract.errors import OutputError
from stateextract.job.claim import DEAD_SECONDS, Claim, ThisProcess
from stateextract.job.commit import Commit
from stateextract.job.output import Output
from stateextract.job.output_manifest import Dataset, Job, Manifest, parse_manifest
from stateextract.job.writer import WrittenFile

ROOT = "/no-such-directory/out"
EARLIER, A, B, C = "eeeeeeeeeeee", "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"
DATASETS = {EARLIER: ("op/a", "op/old"), A: ("op/a",), B: ("op/a", "op/b"), C: ("op/a", "op/c")}


class Violation(AssertionError):
    """The protocol did something wrong; says by which steps."""


class Store(NamedTuple):
    """All that jobs share."""

    kind: str
    files: frozenset[tuple[str, bytes]] = frozenset()
    folders: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    clock: int = 0

    def content(self) -> dict[str, bytes]:
        return dict(self.files)


Operation = tuple[Any, ...]
Answer = Any
PAUSE: Operation = ("pause",)


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def below(path: str, folder: str) -> bool:
    return path.startswith(folder + "/")


def kind_of(store: Store, path: str) -> str:
    if path in store.content():
        return "file"
    if path in store.folders or (store.kind == "object" and any(below(f, path) for f, _ in store.files)):
        return "folder"
    return "nothing"


@cache
def apply(store: Store, operation: Operation) -> tuple[Store, Answer]:
    """What the store is after an operation, and what it answers; an error is an answer too."""
    name, *arguments = operation
    files = store.content()
    if name == "info":
        return store, kind_of(store, arguments[0])
    if name == "list":
        folder, recursive = arguments
        found = {f: "file" for f in files if below(f, folder)}
        found |= {f: "folder" for f in store.folders if below(f, folder)}
        if store.kind == "object":
            for f in list(found):
                while below(parent(f), folder):
                    f = parent(f)
                    found[f] = "folder"
        return store, tuple(sorted((f, k) for f, k in found.items() if recursive or parent(f) == folder))
    if name == "read":
        return store, files.get(arguments[0], FileNotFoundError)
    if name == "make":
        folder, made = arguments[0], set(store.folders)
        while store.kind != "object" and folder and folder != "/no-such-directory":
            made.add(folder)
            folder = parent(folder)
        return store._replace(folders=frozenset(made)), None
    if name in ("create", "fill"):
        path, data = arguments
        if store.kind != "object" and parent(path) not in store.folders:
            return store, FileNotFoundError
        if name == "create":
            return store._replace(files=frozenset({**files, path: b""}.items())), None
        # A file that was removed while it was open is gone.
        return (store._replace(files=frozenset({**files, path: data}.items())) if path in files else store), None
    if name == "put":
        return store._replace(files=frozenset({**files, arguments[0]: arguments[1]}.items())), None
    if name == "remove":
        if arguments[0] not in files:
            return store, FileNotFoundError
        del files[arguments[0]]
        return store._replace(files=frozenset(files.items())), None
    if name == "remove folder":
        if arguments[0] not in store.folders or any(below(f, arguments[0]) for f in (*files, *store.folders)):
            return store, OSError
        return store._replace(folders=store.folders - {arguments[0]}), None
    if name == "move":
        source, target = arguments
        if (target in files and store.kind == "hdfs") or parent(target) not in store.folders:
            return store, OSError
        moved = {f: target + f[len(source) :] for f in (*files, *store.folders) if f == source or below(f, source)}
        if not moved:
            return store, FileNotFoundError
        return store._replace(
            files=frozenset({moved.get(f, f): data for f, data in files.items() if f != target}.items()),
            folders=frozenset(moved.get(f, f) for f in store.folders),
        ), None
    if name == "lives":
        return store, arguments[0] not in store.dead
    if name == "now":
        return store, store.clock * DEAD_SECONDS
    assert name in ("pause", "enter", "leave"), name
    return store, None


class Stopped(BaseException):
    """A job has used up the answers that are known."""


@dataclass
class Answers:
    """What a job got so far, and the operation that it wants next."""

    known: tuple[Answer, ...]
    used: int = 0
    wanted: Operation | None = None

    def ask(self, *operation: Any) -> Answer:
        if self.used == len(self.known):
            self.wanted = self.wanted or operation
            raise Stopped
        answer = self.known[self.used]
        self.used += 1
        if isinstance(answer, type) and issubclass(answer, OSError):
            raise answer(2, "the store says no", str(operation))
        return answer


class Stream:
    def __init__(self, ask: Callable[..., Answer], path: str, whole: bool) -> None:
        self._ask, self._path, self._whole, self._data = ask, path, whole, b""
        if not whole:
            ask("create", path, b"")

    def __enter__(self) -> Stream:
        return self

    def write(self, data: bytes) -> None:
        self._data += data

    def read(self) -> bytes:
        data: bytes = self._ask("read", self._path)
        return data

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._writes and (self._whole or self._data):
            self._ask("put" if self._whole else "fill", self._path, self._data)

    _writes = True


class ReadStream(Stream):
    _writes = False


class FileSystem:
    """As much of ``pyarrow.fs`` as the protocol uses."""

    def __init__(self, kind: str, ask: Callable[..., Answer]) -> None:
        self.kind, self.ask = kind, ask
        self.type_name = {"object": "s3"}.get(kind, kind)

    def get_file_info(self, what: Any) -> Any:
        types = {"file": pafs.FileType.File, "folder": pafs.FileType.Directory, "nothing": pafs.FileType.NotFound}
        if isinstance(what, pafs.FileSelector):
            found = self.ask("list", what.base_dir, what.recursive)
            return [pafs.FileInfo(path, types[kind]) for path, kind in found]
        return pafs.FileInfo(what, types[self.ask("info", what)])

    def create_dir(self, path: str, recursive: bool = True) -> None:
        self.ask("make", path)

    def delete_file(self, path: str) -> None:
        self.ask("remove", path)

    def delete_dir(self, path: str) -> None:
        """Not one step anywhere: a killed job leaves some of it."""
        found = self.ask("list", path, True)
        for f, kind in found:
            if kind == "file":
                self.ask("remove", f)
        if self.kind != "object":
            for f, kind in reversed(found):
                if kind == "folder":
                    self.ask("remove folder", f)
            self.ask("remove folder", path)

    def move(self, source: str, target: str) -> None:
        if self.kind != "object":
            self.ask("move", source, target)
            return
        found = self.ask("list", source, True) or ((source, "file"),)
        for f, kind in found:
            if kind == "file":
                self.ask("put", target + f[len(source) :], self.ask("read", f))
                self.ask("remove", f)

    def open_output_stream(self, path: str) -> Stream:
        return Stream(self.ask, path, self.kind == "object")

    def open_input_stream(self, path: str) -> Stream:
        return ReadStream(self.ask, path, True)


class ModelOutput(Output):
    def remove_if_empty(self) -> None:
        if self.fs.kind == "local":
            with suppress(OSError):
                self.fs.ask("remove folder", self.root)


class ModelProcess(ThisProcess):
    """The process of a job in the model. Its marks list what the job knows when it begins to claim, or to wait."""

    commit: Commit | None = None

    def __init__(self, ask: Callable[..., Answer]) -> None:
        self.ask = ask

    def known(self) -> tuple[Any, ...]:
        commit = self.commit
        if commit is None:
            return ()
        watched = tuple((job, one.content, one.since, one.changed) for job, one in commit._claim._watched.items())
        return (commit._existed, watched)

    def claim(self, job: str) -> dict[str, Any]:
        self.ask("mark", "claims", *self.known())
        return {"job": job}

    def lives(self, job: str, claim: Mapping[str, Any]) -> bool | None:
        alive: bool = self.ask("lives", job)
        return alive

    def now(self) -> float:
        now: float = self.ask("now")
        return now

    def pause(self, seconds: float) -> None:
        look = sys._getframe(2).f_code.co_name
        assert look in ("_first_look", "_second_look"), look
        self.ask("mark", "pauses", look, *self.known())
        self.ask(*PAUSE)

    def beats(self) -> bool:
        return False


class ModelClaim(Claim):
    """Marks what is left to know when the claim is there, and when it is given back."""

    def acquire(self) -> None:
        super().acquire()
        assert isinstance(self._process, ModelProcess)
        self._process.ask("mark", "acquired", *self._process.known())

    def _claims(self) -> dict[str, bool]:
        claims = super()._claims()
        assert isinstance(self._process, ModelProcess)
        look = sys._getframe(1).f_code.co_name
        self._process.ask("mark", "saw", look, tuple(sorted(claims.items())), *self._process.known())
        return claims

    def release(self) -> None:
        assert isinstance(self._process, ModelProcess)
        failed, caller = sys.exc_info()[1], sys._getframe(1).f_code.co_name
        if not isinstance(failed, Stopped):
            self._process.ask("mark", "release", caller, self.held, str(failed), *self._process.known()[:1])
        super().release()


@dataclass(frozen=True)
class Script:
    """A job of the model."""

    job: str
    mode: str
    kind: str
    renames: bool
    commit: type[Commit] = Commit

    def run(self, ask: Callable[..., Answer]) -> str:
        """The whole job; how it ended."""
        fs: Any = FileSystem(self.kind, ask)
        place = ModelProcess(ask)
        commit = place.commit = self.commit(ModelOutput(ROOT, fs, ROOT), self.job, self.mode, self.renames, place)
        commit._claim = ModelClaim(commit.output, self.job, place)
        try:
            commit.prepare()
            ask("mark", "prepared", commit._existed, None if commit._older is None else commit._older.to_json())
            datasets = [self._dataset(commit, folder) for folder in DATASETS[self.job]]
            job = Job(self.job, "", "", "", 1, 1, {})
            commit.publish(Manifest(self.job, {self.job: job}, datasets), coverage_of(self.job))
            return "published"
        except OutputError as error:
            commit.abort()
            return error.message

    def _dataset(self, commit: Commit, folder: str) -> Dataset:
        names = [f"{folder}/part-00000-{self.job}-{attempt}-0.parquet" for attempt in ("one", "doubled")]
        commit.output.fs.create_dir(f"{commit.task_folder}/{folder}")
        for name in names if folder == "op/a" else names[:1]:
            commit.output.write(f"{commit.task_folder}/{name}", rows_of(self.job, folder))
        files = [WrittenFile(names[0], 1, 1)]
        return Dataset(folder, "op", None, None, folder[3:], "value", False, 1, files, [], "", [], self.job)


@dataclass(frozen=True)
class Election:
    """A job that only claims: ``enter`` and ``leave`` are where it would change the output."""

    job: str
    kind: str
    mode: str = "overwrite"

    def run(self, ask: Callable[..., Answer]) -> str:
        fs: Any = FileSystem(self.kind, ask)
        claim = ModelClaim(ModelOutput(ROOT, fs, ROOT), self.job, ModelProcess(ask))
        try:
            claim.acquire()
        except OutputError as error:
            return error.message
        ask("enter")
        ask("leave")
        claim.release()
        return "published"


def rows_of(job: str, folder: str) -> bytes:
    return f"{job} {folder}".encode()


def coverage_of(job: str) -> bytes:
    return f"coverage of {job}".encode()


# ---- exploring


class Node:
    """The answers of one job up to a point; two jobs with the same answers, or the same mark, are the same node."""

    def __init__(self, script: Any, before: Node | None = None, answer: Answer = None) -> None:
        self.script, self.before, self.answer = script, before, answer
        self._same: dict[Any, Node] = {} if before is None else before._same
        self._after: dict[Answer, Node] = {}
        self._next: tuple[str, Any] | None = None

    def after(self, answer: Answer) -> Node:
        if answer not in self._after:
            self._after[answer] = Node(self.script, self, answer).settled()
        return self._after[answer]

    def settled(self) -> Node:
        """The first node with the same mark, or the same end."""
        what, which = self.next()
        if what == "operation" and which[0] == "mark":
            marked = self._same.get(which)
            if marked is None:
                marked = self._same[which] = Node(self.script, self)
            return marked.settled()
        return self._same.setdefault(which, self) if what == "ended" else self

    def next(self) -> tuple[str, Any]:
        """``("operation", …)`` or ``("ended", …)``."""
        if self._next is None:
            known: list[Answer] = []
            node = self
            while node.before is not None:
                known.append(node.answer)
                node = node.before
            answers = Answers(tuple(reversed(known)))
            try:
                self._next = ("ended", self.script.run(answers.ask))
            except Stopped:
                assert answers.wanted is not None
                self._next = ("operation", answers.wanted)
        return self._next


class State(NamedTuple):
    store: Store
    nodes: tuple[Node | None, ...]
    """``None`` is a job that was killed: what it knew is gone."""
    seen: tuple[Any, ...] = ()
    """What the store was when each job that pauses looked last: it goes on when that has changed."""
    inside: frozenset[int] = frozenset()

    def killed(self) -> int:
        return self.nodes.count(None)

    def ended(self) -> dict[str, str]:
        """How each job ended that was not killed, once none runs."""
        return {node.script.job: node.next()[1] for node in self.nodes if node is not None}


@cache
def is_private(node: Node) -> bool:
    """Whether no other job that runs can see or change what the next operation is about.

    That is the inside of the job's own staging folder, and whether its own claim is there.
    """
    name, *arguments = node.next()[1]
    job = node.script.job
    if name == "info" and arguments[0] in (f"{ROOT}/_claim-{job}", f"{ROOT}/_writer-{job}"):
        return True
    inside = [below(a, f"{ROOT}/_staging-{job}") for a in arguments if isinstance(a, str)]
    return name != "lives" and bool(inside) and all(inside)


def steps(state: State, kills: int) -> Iterator[tuple[tuple[str, Operation | None], State]]:
    """Every state that may follow, and whose operation leads there; ``None`` is a kill."""
    running = {i: node for i, node in enumerate(state.nodes) if node is not None and node.next()[0] == "operation"}
    now = (state.store.files, state.store.dead)
    pausing = {i for i, node in running.items() if node.next()[1] == PAUSE and state.seen[i] == now}
    alone = next((i for i, node in running.items() if is_private(node)), None)
    for i in running if alone is None else [alone]:
        node, store = running[i], state.store
        operation = node.next()[1]
        if i in pausing:
            if len(running) > len(pausing):
                continue
            store = store._replace(clock=store.clock + 1)
        store, answer = apply(store, operation)
        inside = state.inside | {i} if operation[0] == "enter" else state.inside
        inside = inside - {i} if operation[0] == "leave" else inside
        after = node.after(answer)
        looked = (store.files, store.dead) if after.next()[1] == PAUSE else None

        def followed(store: Store, node: Node | None, seen: Any, inside: frozenset[int], i: int = i) -> State:
            nodes = (*state.nodes[:i], node, *state.nodes[i + 1 :])
            return State(store, nodes, (*state.seen[:i], seen, *state.seen[i + 1 :]), inside)

        yield (node.script.job, operation), followed(store, after, looked, inside)
        if state.killed() < kills:
            dead = state.store._replace(dead=state.store.dead | {node.script.job})
            yield (node.script.job, None), followed(dead, None, None, state.inside - {i})


def explore(
    first: Store, scripts: list[Any], kills: int, check: Callable[[State], None], check_end: Callable[[State], None]
) -> int:
    """Visit all states; how many there are."""
    start = State(first, tuple(Node(script).settled() for script in scripts), seen=(None,) * len(scripts))
    came: dict[State, tuple[State, tuple[str, Operation | None]] | None] = {start: None}
    stack = [start]
    while stack:
        state = stack.pop()
        try:
            check(state)
            followers = list(steps(state, kills))
            if all(operation is None for (_, operation), _ in followers):
                check_end(state)
        except AssertionError as error:
            raise Violation(f"{error}\n" + "\n".join(path_to(state, came))) from error
        for label, follower in followers:
            if follower not in came:
                came[follower] = (state, label)
                stack.append(follower)
    return len(came)


def path_to(state: State, came: Mapping[State, tuple[State, tuple[str, Operation | None]] | None]) -> list[str]:
    labels = []
    before = came[state]
    while before is not None:
        state, (job, operation) = before
        labels.append(f"{job[0]}: {'killed' if operation is None else ' '.join(map(str, operation))[:150]}")
        before = came[state]
    return labels[::-1]


def alone(store: Store, script: Script) -> tuple[Store, str]:
    """What a job that nothing disturbs makes of a store, and how it ends."""

    def ask(*operation: Any) -> Answer:
        nonlocal store
        if operation[0] == "pause":
            store = store._replace(clock=store.clock + 1)
        if operation[0] == "mark":
            return None
        store, answer = apply(store, operation)
        if isinstance(answer, type) and issubclass(answer, OSError):
            raise answer(2, "the store says no", str(operation))
        return answer

    how = script.run(ask)
    return store, how


# ---- what must be true


def manifest_of(store: Store) -> Manifest | None:
    data = store.content().get(f"{ROOT}/_manifest.json")
    return None if data is None else _parsed(data)


@cache
def _parsed(data: bytes) -> Manifest:
    return parse_manifest(data, "the manifest")


def data_files(store: Store) -> dict[str, bytes]:
    found = {path.removeprefix(ROOT + "/"): data for path, data in store.files}
    return {path: data for path, data in found.items() if not path.startswith("_")}


@cache
def check_always(store: Store) -> None:
    """At every moment: the manifest is whole, and its files are; a reader who waits for ``_SUCCESS`` may list."""
    manifest, there = manifest_of(store), data_files(store)
    named = {}
    for dataset in manifest.datasets if manifest is not None else []:
        assert dataset.folder in DATASETS[dataset.job]
        for file in dataset.files:
            named[file.path] = rows_of(dataset.job, dataset.folder)
            assert there.get(file.path) == named[file.path], f"{file.path} is in the manifest and not whole"
    if f"{ROOT}/_SUCCESS" in store.content():
        assert there == named, "there is _SUCCESS, and other files than the manifest names"
        assert manifest is not None, "there is _SUCCESS and no manifest"


def check_at_rest(store: Store) -> None:
    """When no job runs and none was killed: nothing but what the manifest names."""
    manifest = manifest_of(store)
    names = {path.removeprefix(ROOT + "/") for path in store.content()}
    folders = {path.removeprefix(ROOT + "/") for path in store.folders if below(path, ROOT)}
    if manifest is None:
        assert names == set(), f"something is left: {names}"
        assert folders == set(), f"folders are left: {folders}"
        return
    data = {file.path for dataset in manifest.datasets for file in dataset.files}
    assert names == {*data, "_manifest.json", "_coverage.json", "_SUCCESS"}, f"something else is left: {names}"
    assert folders <= {"op", *(dataset.folder for dataset in manifest.datasets)}, f"folders are left: {folders}"
    assert store.content()[f"{ROOT}/_coverage.json"] == coverage_of(manifest.job)


def owners(store: Store) -> dict[str, str]:
    """Whose rows each dataset has."""
    manifest = manifest_of(store)
    return {} if manifest is None else {dataset.folder: dataset.job for dataset in manifest.datasets}


def check_owners(store: Store, published: set[str], started: dict[str, str]) -> None:
    """No rows of a job that published are lost, but for those that a later one replaced."""
    manifest, rows = manifest_of(store), owners(store)
    for job in published:
        for folder in DATASETS[job]:
            assert rows.get(folder) in published, f"rows of {job} in {folder} are lost"
    for folder, job in started.items():
        assert rows.get(folder) == job or (published and folder in DATASETS[rows[folder]]), f"old rows of {folder} are lost"
    if manifest is not None:
        assert all(rows[folder] == manifest.job for folder in DATASETS[manifest.job])


@dataclass
class Checks:
    """What must be true of two jobs that start together."""

    scripts: list[Script]
    start: dict[str, str]
    succeeded: set[Any] = field(default_factory=set)

    def always(self, state: State) -> None:
        check_always(state.store)

    def end(self, state: State) -> None:
        ended = state.ended()
        published = {job for job, how in ended.items() if how == "published"}
        modes = {script.job: script.mode for script in self.scripts}
        errors = [job for job in published if modes[job] == "error"]
        assert len(errors) <= (0 if self.start else 1), "two jobs published in mode error"
        if not state.killed():
            check_at_rest(state.store)
            check_owners(state.store, published, self.start)
            assert published or (self.start and "overwrite" not in modes.values()), f"nothing was published: {ended}"
        for mode in ("error", "overwrite"):
            self.successor(state.store, replace(self.scripts[0], job=C, mode=mode), published)

    def successor(self, store: Store, script: Script, published: set[str]) -> None:
        if (store, script.mode, frozenset(published)) in self.succeeded:
            return
        self.succeeded.add((store, script.mode, frozenset(published)))
        after, how = alone(store, script)
        check_at_rest(after)
        if how == "published":
            committed = set(owners(after).values()) - {EARLIER, C}
            assert script.mode == "overwrite" or not committed | set(self.start)
            check_owners(after, published | committed | {C}, self.start)
        else:
            assert "not empty" in how, f"the successor is refused: {how}"
            assert script.mode == "error", how
            assert owners(after), "the successor is refused, and nothing was published"
            check_owners(after, published | (set(owners(after).values()) - {EARLIER}), self.start)


def check_pair(
    kind: str, renames: bool, modes: tuple[str, str], earlier: bool, kills: int = 2, commit: type[Commit] = Commit
) -> int:
    store = Store(kind)
    if earlier:
        store, how = alone(store, Script(EARLIER, "error", kind, renames))
        assert how == "published"
    scripts = [Script(job, mode, kind, renames, commit) for job, mode in zip((A, B), modes, strict=True)]
    checks = Checks(scripts, owners(store))
    return explore(store, scripts, kills, checks.always, checks.end)


# ---- the tests


MODES = (("error", "error"), ("overwrite", "overwrite"), ("error", "overwrite"))
ALL = "STATEEXTRACT_INTERLEAVINGS"
"""If this is set, every store and publish mode meets every pair of modes, and both jobs may be killed; else each pair has its
turn, and one job is killed."""


def _cases() -> list[Any]:
    places = list(product(("local", "hdfs", "object"), (True, False)))
    turns = [(*place, MODES[i % len(MODES)]) for i, place in enumerate(places)]
    chosen = [(*place, modes) for place, modes in product(places, MODES)] if ALL in os.environ else turns
    return [
        pytest.param(*case, id=f"{case[0]}-{'rename' if case[1] else 'direct'}-{case[2][0]}-{case[2][1]}") for case in chosen
    ]


@pytest.mark.parametrize(("kind", "renames", "modes"), _cases())
def test_two_jobs_in_every_order_with_a_kill_at_every_step(kind: str, renames: bool, modes: tuple[str, str]) -> None:
    """No row is lost or doubled, the manifest always fits the files, and no successor is refused."""
    # In mode error an output that is there is refused at once, so the interesting start is an empty one.
    earlier = modes == ("overwrite", "overwrite")
    assert check_pair(kind, renames, modes, earlier, kills=2 if ALL in os.environ else 1) > 5_000


def test_three_jobs_claim() -> None:
    """At most one is inside, and at least one was if none is killed."""
    scripts = [Election(job, "object") for job in (A, B, C)]

    def always(state: State) -> None:
        assert len(state.inside) < 2, "two jobs are inside"

    def end(state: State) -> None:
        assert state.killed() or "published" in state.ended().values()

    assert explore(Store("object"), scripts, 0, always, end) > 1_000


@contextmanager
def _broken(name: str) -> Iterator[None]:
    """The protocol with one part left out."""
    with pytest.MonkeyPatch.context() as patch:
        if name == "no first look":
            patch.setattr(Claim, "_first_look", lambda self: None)
        elif name == "no second look":
            patch.setattr(Claim, "_second_look", lambda self: None)
        elif name == "the smaller id goes on, whoever writes":
            patch.setattr(ModelClaim, "_claims", lambda self: dict.fromkeys(Claim._claims(self), False))
        elif name == "all others are dead":
            patch.setattr(ModelProcess, "lives", lambda self, job, claim: False)
        elif name == "nobody is dead":
            patch.setattr(ModelProcess, "lives", lambda self, job, claim: True)
        elif name == "dead jobs are not settled":
            patch.setattr(Commit, "_finalize_dead_jobs", lambda self: None)
        elif name == "no look at the output after the claim":
            check = Commit._check_mode
            patch.setattr(Commit, "_check_mode", lambda self, entries: self._claim.held or check(self, entries))
        else:
            assert name == "the older manifest is not kept"
            patch.setattr(Commit, "_staged_manifest", lambda self, job: None)
        yield


@pytest.mark.parametrize(
    ("name", "kills"),
    [
        ("no first look", 0),
        ("no second look", 0),
        ("the smaller id goes on, whoever writes", 0),
        ("all others are dead", 0),
        ("nobody is dead", 1),
        ("dead jobs are not settled", 1),
        ("no look at the output after the claim", 0),
        ("the older manifest is not kept", 1),
    ],
)
def test_a_protocol_without_one_of_its_parts_is_found_out(name: str, kills: int) -> None:
    modes = ("error", "error") if name.startswith("no look at") else ("overwrite", "overwrite")
    with _broken(name), pytest.raises(Violation):
        check_pair("hdfs" if name.startswith("the older") else "object", False, modes, modes[0] == "overwrite", kills)
