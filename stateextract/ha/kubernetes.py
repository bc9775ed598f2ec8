"""ConfigMaps as the stores of jobs.

Takes the documents that ``kubectl get configmap -o json`` or ``-o yaml`` prints: one ConfigMap, or a list. A job's ConfigMap is
``<cluster id>-<job id>-config-map``, until 1.15 ``<cluster id>-<job id>-jobmanager-leader``; its keys ``checkpointID-<id>`` are
the entries.

Sources of the layout: ``KubernetesUtils``, ``KubernetesStateHandleStore``, ``KubernetesCheckpointStoreUtil``. Opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stateextract.errors import FormatError
from stateextract.ha.store import JobStore, StoreEntry, decode_base64, entry_of, in_order

_JOB = re.compile(r".*-([0-9a-f]{32})-(config-map|jobmanager-leader)", re.DOTALL)
_PREFIX = "checkpointID-"
_LISTS = ("List", "ConfigMapList")


def is_config_map(document: Any) -> bool:
    """Whether a document is a ConfigMap or a list of objects of Kubernetes."""
    return isinstance(document, dict) and document.get("kind") in ("ConfigMap", *_LISTS)


def stores_of_config_maps(document: Any) -> list[JobStore]:
    """The stores of all jobs; ConfigMaps of other things are ignored.

    :raises FormatError: for a document that is none of them.
    """
    return in_order(store for one in _config_maps(document) if (store := _store(one)) is not None)


def _config_maps(document: Any) -> Iterator[Mapping[str, Any]]:
    if not is_config_map(document):
        kind = document.get("kind") if isinstance(document, dict) else type(document).__name__
        raise FormatError(f"the document is of the kind {kind!r}", expected="a ConfigMap, or a List of them")
    if document["kind"] == "ConfigMap":
        yield document
        return
    items = document.get("items")
    if not isinstance(items, list):
        raise FormatError("the list of ConfigMaps has no items")
    for item in items:
        # In a ConfigMapList the items need not say what they are.
        if isinstance(item, dict) and item.get("kind", "ConfigMap") == "ConfigMap":
            yield item


def _store(document: Mapping[str, Any]) -> JobStore | None:
    metadata, data = document.get("metadata"), document.get("data")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    values = {key: value for key, value in (data if isinstance(data, dict) else {}).items() if key.startswith(_PREFIX)}
    match = _JOB.fullmatch(name) if isinstance(name, str) else None
    if match is None and not values:
        return None
    store = JobStore(match[1] if match is not None else None, name if isinstance(name, str) else "a ConfigMap")
    for key, value in values.items():
        digits = key.removeprefix(_PREFIX)
        if not isinstance(value, str):
            raise FormatError(f"the value of {key!r} in {store.location} is not text")
        try:
            store.entries.append(entry_of(key, digits, decode_base64(value, key)))
        except FormatError as error:
            # Unlike a handle that cannot be read, this ends Flink's start.
            id_ = int(digits) if digits.isascii() and digits.isdigit() else None
            store.entries.append(StoreEntry(key, id_, problem=error))
    return store
