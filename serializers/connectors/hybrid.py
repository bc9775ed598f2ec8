"""HybridSource's wrapper around the splits and the enumerator of its sources: the inner payload is in the inner form's column.

Classes: ``org.apache.flink.connector.base.source.hybrid.HybridSourceSplitSerializer`` (version 1 adds whether the split is
finished), ``…HybridSourceEnumeratorStateSerializer``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.connectors.forms import (
    COORDINATOR,
    I32,
    TEXT,
    PayloadForm,
    read_flag,
    read_text,
    read_versioned,
    register_form,
    struct_of,
)
from stateextract.files.reader import Reader

_REASON = "the inner payload's form, which has its own column"


def _split(reader: Reader, version: int) -> dict[str, Any]:
    split: dict[str, Any] = {"source_index": reader.i32("a source"), "split_id": read_text(reader)}
    split |= dict(zip(("version", "payload"), read_versioned(reader), strict=True))
    return split | {"finished": read_flag(reader) if version == 1 else None}


def _enumerator(reader: Reader, version: int) -> dict[str, Any]:
    index = reader.i32("a source")
    inner_version, payload = read_versioned(reader)
    return {"source_index": index, "version": inner_version, "payload": payload}


register_form(
    "SourceReaderState",
    PayloadForm(
        "hybrid_split", (0, 1), _split, struct_of(source_index=I32, split_id=TEXT, version=I32, finished=pa.bool_()),
        reason=_REASON, wraps=True,
    ),
)  # fmt: skip
register_form(
    COORDINATOR,
    PayloadForm(
        "hybrid_enumerator", (0,), _enumerator, struct_of(source_index=I32, version=I32), reason=_REASON, wraps=True
    ),
)
