"""HybridSource's wrapper around the splits and the enumerator of its sources: the inner payload is in the inner form's column.

Classes: ``org.apache.flink.connector.base.source.hybrid.HybridSourceSplitSerializer`` (version 1 adds whether the split is
finished), ``…HybridSourceEnumeratorStateSerializer``.
"""

from __future__ import annotations

from serializers.connectors.payload_forms import COORDINATOR, PayloadForm, register_form
from serializers.connectors.payload_parts import BLOB, FLAG, INT, UTF, in_order, record, since

_REASON = "the inner payload's form, which has its own column"

register_form(
    "SourceReaderState",
    PayloadForm(
        "hybrid_split", (0, 1),
        *in_order(
            record(source_index=INT, split_id=UTF, version=INT, payload=BLOB, finished=since(1, FLAG)),
            "source_index", "split_id", "version", "finished",
        ),
        reason=_REASON, wraps=True,
    ),
)  # fmt: skip
register_form(
    COORDINATOR,
    PayloadForm(
        "hybrid_enumerator", (0,),
        *in_order(record(source_index=INT, version=INT, payload=BLOB), "source_index", "version"),
        reason=_REASON, wraps=True,
    ),
)  # fmt: skip
