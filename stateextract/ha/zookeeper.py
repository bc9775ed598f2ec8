"""ZooKeeper's nodes as the stores of jobs.

Takes the nodes as paths and data, from a dump or from a server. Nodes are found by the end of their path, since root and
cluster id are the user's: ``…/jobs/<job id>/checkpoints/<id>`` from Flink 1.14 on, ``…/checkpoints/<job id>/<id>`` before.
Only direct children of the node with the checkpoints are entries; what is below them are locks.

Sources of the layout: ``ZooKeeperUtils``, ``ZooKeeperStateHandleStore``. Opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stateextract.errors import FormatError
from stateextract.ha.store import JobStore, decode_base64, entry_of, in_order

_NEW = re.compile(
    r"(?P<root>.*)/jobs/(?P<job>[0-9a-f]{32})(/checkpoints(/(?P<name>[^/]+)(?P<below>/.*)?)?)?", re.DOTALL
)
_OLD = re.compile(r"(?P<root>.*)/(?P<folder>[^/]+)/(?P<job>[0-9a-f]{32})(/(?P<name>[^/]+)(?P<below>/.*)?)?", re.DOTALL)
_DIGITS = re.compile(r"[0-9]{19}")
_LOCKS = "locks"
_NO_LOCKS = "no locks child: the entry is being removed"


def stores_of_znodes(nodes: Mapping[str, bytes | None]) -> list[JobStore]:
    """The stores of all jobs.

    :param nodes: the data by path; of nodes that are not entries it may be ``None``.
    """
    # Flink 1.15 began to keep locks below a node of that name. A graph always has it, so its absence shows an older version.
    locked = {_cluster(path) for path in nodes if path.endswith(f"/{_LOCKS}")}
    parents = {path.rpartition("/")[0] for path in nodes if path.endswith(f"/{_LOCKS}")}
    stores: dict[str, JobStore] = {}
    for path, data in nodes.items():
        match = _match(path)
        if match is None or match["below"]:
            continue
        new = match.re is _NEW
        location = f"{match['root']}/jobs/{match['job']}/checkpoints" if new else path
        if match["name"] is not None:
            location = path.rpartition("/")[0]
        store = stores.setdefault(location, JobStore(match["job"], location))
        if match["name"] is not None:
            removed = _NO_LOCKS if new and match["root"] in locked and path not in parents else None
            store.entries.append(entry_of(match["name"], match["name"], data, removed))
    return in_order(stores.values())


def _match(path: str) -> re.Match[str] | None:
    """A node of a job's store, or below one of its entries."""
    match = _NEW.fullmatch(path)
    if match is None:
        match = _OLD.fullmatch(path)
        # Until 1.13 the folder's name was an option, so the names of the entries may have to say what it is.
        if match is None or not (match["folder"] == "checkpoints" or _DIGITS.fullmatch(match["name"] or "")):
            return None
    return match


def _cluster(path: str) -> str:
    """The path of the cluster that a node belongs to."""
    match = re.match(r"(.*?)/(jobs|jobgraphs|execution-plans)/", path, re.DOTALL)
    return match[1] if match is not None else path


def is_needed(path: str) -> bool:
    """Whether the data of a node is needed, since it is an entry."""
    match = _match(path)
    return match is not None and match["name"] is not None and not match["below"]


def nodes_of_dump(document: Any) -> dict[str, bytes | None]:
    """The nodes of a dump: a list of objects with ``path`` and ``data`` (Base64, or null).

    :raises FormatError: for another document.
    """
    if not is_dump(document):
        raise FormatError("the document is not a dump of ZooKeeper", expected="a list of objects with path and data")
    nodes: dict[str, bytes | None] = {}
    for node in document:
        data = node.get("data")
        if data is not None and not isinstance(data, str):
            raise FormatError(f"the data of {node['path']!r} is {data!r}", expected="Base64 or null")
        nodes[node["path"]] = decode_base64(data, node["path"]) if data and is_needed(node["path"]) else None
    return nodes


def is_dump(document: Any) -> bool:
    return isinstance(document, list) and all(
        isinstance(node, dict) and isinstance(node.get("path"), str) and node["path"].startswith("/") for node in document
    )


def is_below(node: str, path: str) -> bool:
    return path == "/" or node == path or node.startswith(f"{path}/")
