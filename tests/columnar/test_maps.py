"""Maps, over whose parts Arrow aborts the process instead of raising: both decoders must get there first."""

from __future__ import annotations

import pyarrow as pa
import pytest

from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import Decoder, make_decoder
from stateextract.columnar.layout import Layout, List, Map, Null, Nullable, Number, Text, struct
from stateextract.errors import ValueRefusedError
from stateextract.files.block import Block

ENGINES = ("interpreter", "kernel")
TEXT, BYTE = Text("flink"), Number(pa.int8())
ONE_NULL = bytes.fromhex("00000002" + "026b01" + "0001")
"""Two entries: ``k`` and null."""


def decoded(layout: Layout, data: bytes, engine: str, maps: str = "map") -> pa.Array:
    decoder: Decoder = make_decoder(layout, Policy(maps=maps), engine=engine)  # type: ignore[arg-type]
    progress = decoder.decode(Block.of(data), 0, len(data), 1)
    assert (progress.entries, progress.pos) == (1, len(data))
    return decoder.flush()


@pytest.mark.parametrize("engine", ENGINES)
def test_values_can_be_taken_from_a_map(engine: str) -> None:
    """The type of the entries is that of the map: a scalar of it can be made."""
    array = decoded(struct(m=Map(TEXT, Nullable(BYTE))), bytes.fromhex("00000001" + "026b" + "0001"), engine)
    array.validate(full=True)
    assert array[0]["m"].values.type == pa.struct(
        [pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int8())]
    )
    assert array.to_pylist() == [{"m": [("k", 1)]}]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("layout", "before"),
    [(struct(m=Map(TEXT, BYTE)), ""), (struct(m=List(Map(TEXT, BYTE))), "00000001")],
    ids=["map", "list of maps"],
)
def test_a_null_key_is_refused(layout: Layout, before: str, engine: str) -> None:
    with pytest.raises(ValueRefusedError, match=r"a map has a null key.* Set --maps list"):
        decoded(layout, bytes.fromhex(before) + ONE_NULL, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_null_key_in_a_list_of_pairs(engine: str) -> None:
    array = decoded(struct(m=Map(TEXT, BYTE)), ONE_NULL, engine, "list")
    assert array.to_pylist() == [{"m": [{"key": "k", "value": 1}, {"key": None, "value": 1}]}]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("key", [Null(1), Nullable(Null(1))], ids=["void", "nullable void"])
def test_a_map_keyed_by_void_needs_no_option(key: Layout, engine: str) -> None:
    array = decoded(struct(m=Map(key, BYTE)), bytes.fromhex("00000001" + "01" + "07"), engine)
    assert array.type == pa.struct([("m", pa.list_(pa.struct([("key", pa.bool_()), ("value", pa.int8())])))])
    assert array.to_pylist() == [{"m": [{"key": None, "value": 7}]}]
