"""The nodes of a ZooKeeper server that belong to checkpoints, read with the library ``kazoo``.

Reads only, in a session of its own that makes no node. Opens what the user names, and nothing that is in the nodes.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from stateextract.errors import (
    EnvironmentProblem,
    FormatError,
    MissingFileError,
    NoAnswerError,
    UnreadableFileError,
    UsageError,
)
from stateextract.ha.zookeeper import is_needed

_URI = re.compile(r"zk://(?P<hosts>[A-Za-z0-9._:,\[\]-]{1,1000})(?P<path>/.*)?", re.DOTALL)
_INSIDE = re.compile(r"(?P<cluster>.*?)/(jobs|checkpoints)(/.*)?", re.DOTALL)
_OTHERS = frozenset({"leader", "leaderlatch", "zookeeper", "running_job_registry"})
"""Nodes that have nothing to do with checkpoints."""
_MOST = 200_000


def read_znodes(uri: str, timeout: int) -> tuple[dict[str, bytes | None], str]:
    """The nodes of the cluster that a URI names, with the data of those that are entries, and the path of the URI.

    All nodes of the cluster are looked at, since what one job's entries mean may depend on the others.

    :param uri: ``zk://host:2181,host:2181/path``: of a cluster, of a job, or above clusters.
    :param timeout: seconds that the server has for one answer.
    :raises StateExtractError: where the server does not answer, or has no such node.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise UsageError(f"{uri!r} is not the address of a ZooKeeper", expected="zk://host:2181/flink/cluster")
    path = "/" + (match["path"] or "").strip("/")
    try:
        from kazoo.client import KazooClient
        from kazoo.exceptions import KazooException, NoNodeError
    except ImportError:
        raise EnvironmentProblem(
            "zk:// needs the package kazoo", advice="pip install 'stateextract[zookeeper]', or give a dump of the nodes"
        ) from None
    # Errors report what it logs.
    logger = logging.getLogger("stateextract.kazoo")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    client = KazooClient(match["hosts"], timeout=float(timeout), read_only=True, logger=logger)
    shown = f"zk://{match['hosts']}"
    try:
        client.start(timeout=timeout)
        inside = _INSIDE.fullmatch(path)
        start = path if inside is None else inside["cluster"] or "/"
        nodes = _read(client, start, timeout, NoNodeError)
    except client.handler.timeout_exception:
        raise NoAnswerError(
            f"ZooKeeper did not answer within {timeout} s",
            advice="check the network and the address; to wait longer, set --store-timeout SECONDS",
            file=shown,
        ) from None
    except KazooException as error:
        raise UnreadableFileError(
            f"ZooKeeper refuses to answer: {type(error).__name__} {error}".rstrip(), file=shown + path
        ) from None
    finally:
        client.stop()
        client.close()
    if path not in nodes and path != "/":
        raise MissingFileError("ZooKeeper has no such node", file=shown + path)
    return nodes, path


def _read(client: Any, start: str, timeout: int, no_node: type[Exception]) -> dict[str, bytes | None]:
    nodes: dict[str, bytes | None] = {}
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if len(nodes) > _MOST:
            raise FormatError(
                f"ZooKeeper has more than {_MOST} nodes there", advice="name the cluster: zk://host:2181/flink/cluster"
            )
        try:
            names = client.get_children_async(path).get(timeout=timeout)
            nodes[path] = client.get_async(path).get(timeout=timeout)[0] if is_needed(path) else None
        except no_node:  # It has gone meanwhile.
            continue
        waiting += [f"{path.rstrip('/')}/{name}" for name in names if name not in _OTHERS]
    return nodes
