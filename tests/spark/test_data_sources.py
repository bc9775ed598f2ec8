"""The data sources inside of Spark: registration, SQL, pushdown, and what it says when something is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSource

from stateextract.spark import register
from tests.conftest import QUICK_JAVA
from tests.job.snapshots import numbered, write_snapshot
from tests.spark.test_source_golden import DATA, expected, extract, same_rows, source_options
from tests.writers.test_generate import groups_of

pytestmark = pytest.mark.spark
ROOT = Path(__file__).resolve().parents[2]
ORDERS = str(ROOT / "examples" / "orders-checkpoint")
GROUPS = 8
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
# All kinds of state, windows, types that Spark has its own ideas of.
IN_SPARK = ("f23-keys-native-snappy", "f120-windows-native")
SLOWLY = ("f23-records-checkpoint", "f20-async-checkpoint", "f23-kinds-native")
LONG = ("f120-kryo-checkpoint-snappy",)


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    register(spark)
    return spark


@pytest.fixture
def pushing(session: Any) -> Iterator[Any]:
    """The session with filters of sources written in Python pushed down."""
    session.conf.set(PUSHDOWN, "true")
    yield session
    session.conf.unset(PUSHDOWN)


@pytest.mark.parametrize(
    "case",
    [
        *IN_SPARK,
        *(pytest.param(case, marks=pytest.mark.slow) for case in SLOWLY),
        *(pytest.param(case, marks=pytest.mark.long) for case in LONG),
    ],
)
def test_spark_reads_what_it_reads_of_the_jobs_output(session: Any, case: str, tmp_path: Path) -> None:
    path = str(DATA / case / expected(case)["snapshot"])
    compared = 0
    for dataset in extract(case, tmp_path / "out").manifest.datasets:
        written = session.read.parquet(str(tmp_path / "out" / dataset.folder))
        reader = session.read.format("flink-state")
        for name, value in source_options(case, dataset).items():
            reader = reader.option(name, value)
        frame = reader.load(path)
        assert frame.schema == written.schema, dataset
        # As Arrow: Python has no dates before the year 1.
        assert same_rows(frame.toArrow(), written.toArrow()), dataset
        compared += 1
    assert compared


def test_sql(session: Any) -> None:
    session.sql(f"""
        CREATE OR REPLACE TEMPORARY VIEW last_orders USING `flink-state`
        OPTIONS (path '{ORDERS}', operatorUid 'orders-by-customer', stateName 'last-order')
    """)
    rows = session.sql("SELECT key, value.product FROM last_orders WHERE key IN ('elif', 'carmen', 'x') ORDER BY key")
    assert [tuple(row) for row in rows.collect()] == [("carmen", "tea"), ("elif", "bagel")]
    session.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW states USING `flink-state-metadata` OPTIONS (path '{ORDERS}', table 'states')"
    )
    counted = session.sql(
        "SELECT state_kind, count(*) AS n FROM states WHERE state_name IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    assert [tuple(row) for row in counted.collect()] == [
        ("aggregating", 1),
        ("list", 1),
        ("map", 1),
        ("timer", 4),
        ("value", 2),
    ]


@pytest.fixture
def damaged(tmp_path: Path) -> tuple[Path, int]:
    """A snapshot of which only one key group can be read, and a key that lies in it."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for key, group in zip(range(400), groups_of(list(range(400)), GROUPS), strict=True):
        rows.setdefault(group, []).append((key, 10 * key))
    snap = write_snapshot(tmp_path / "s", {"op": {"a": rows}}, parallelism=1, max_parallelism=GROUPS)
    data = bytearray((snap / "op-0").read_bytes())
    position = len(data) - sum(4 + 6 + 17 * len(rows[group]) for group in range(GROUPS))
    for group in range(GROUPS):
        assert int.from_bytes(data[position : position + 4], "big") == group
        if group != 5:
            data[position + 3] = 0x7F
        position += 4 + 6 + 17 * len(rows[group])
    (snap / "op-0").write_bytes(data)
    return snap, rows[5][3][0]


def test_keys_and_filters_read_their_key_groups_only(pushing: Any, damaged: tuple[Path, int]) -> None:
    snap, key = damaged

    def load(**options: Any) -> Any:
        return pushing.read.format("flink-state").options(stateName="a", **options).load(str(snap))

    assert [tuple(row) for row in load(keys=f"[{key}]").select("key", "value").collect()] == [(key, 10 * key)]
    assert load(keyGroups="5").count() == groups_of(list(range(400)), GROUPS).count(5)
    if hasattr(datasource, "EqualTo"):  # Spark 4.0 has no filter pushdown
        filtered = load(pushFilters=True).where(f"key = {key}").select("key", "value")
        assert [tuple(row) for row in filtered.collect()] == [(key, 10 * key)]
    with pytest.raises(Exception, match=r"FormatError: found key group 127; expected key group 0; in file .*/op-0"):
        load().where(f"key = {key}").collect()


def test_frames_and_views_can_be_used_again(pushing: Any) -> None:
    """Spark gives later queries the plan of one that pushed filters: by default this source takes none."""
    reader = pushing.read.format("flink-state").options(operatorUid="orders-by-customer", stateName="voucher")
    frame = reader.load(ORDERS)
    assert [frame.where("key = 'elif'").count(), frame.count()] == [1, 5]
    both = frame.where("key = 'elif'").union(frame.where("key_group = 50"))
    assert sorted(row.key for row in both.collect()) == ["elif", "jonas"]
    frame.createOrReplaceTempView("again")
    assert [pushing.sql(f"SELECT * FROM again {where}").count() for where in ("WHERE key = 'x'", "")] == [0, 5]


def test_what_is_asked_for_needs_no_configuration(session: Any) -> None:
    """Where Spark pushes no filters down, it gets everything rather than nothing."""
    reader = session.read.format("flink-state").options(operatorUid="orders-by-customer", stateName="voucher")
    assert reader.option("pushFilters", True).load(ORDERS).where("key = 'elif'").count() == 1


def test_a_schema_that_the_user_gives(session: Any) -> None:
    reader = session.read.format("flink-state").option("operatorUid", "orders-by-customer")
    frame = reader.option("stateName", "last-order").schema("value STRUCT<status: STRING>, key STRING").load(ORDERS)
    assert sorted((row.key, row.value.status) for row in frame.collect())[:2] == [("alice", "PAID"), ("carmen", "NEW")]


def test_wide_rows_and_several_tasks(session: Any, tmp_path: Path) -> None:
    states = {"a": numbered(300, 16), "b": numbered(20, 16, 3)}
    snap = write_snapshot(tmp_path / "s", {"op": states}, parallelism=4, max_parallelism=16)
    reader = session.read.format("flink-state").option("wide", True).option("splitBytes", "270 kB")
    frame = reader.load(str(snap))
    assert frame.rdd.getNumPartitions() == 4
    rows = sorted((row.key, row.a, row.b) for row in frame.collect())
    assert rows == [(i, 10 * i, 3 * i if i < 20 else None) for i in range(300)]
    assert frame.where("key_group = -1").collect() == []


def test_what_spark_says_of_mistakes(session: Any) -> None:
    with pytest.raises(
        Exception, match=r"UsageError: flink-state has no option 'operatorud'\. The nearest is operatorUid\."
    ) as caught:
        session.read.format("flink-state").option("operatorUd", "x").load(ORDERS)
    assert str(caught.value).count("File ") <= 2, "of the trace only what Spark insists on"
    with pytest.raises(Exception, match=r"no state is called 'vouche'\. The nearest are 'voucher'"):
        session.read.format("flink-state").option("operatorUid", "orders-by-customer").option(
            "stateName", "vouche"
        ).load(ORDERS)
    with pytest.raises(Exception, match="/nowhere does not exist"):
        session.read.format("flink-state-metadata").load("/nowhere").show()


class OfOneSession(DataSource):  # type: ignore[misc]
    """A source that is registered and not installed."""

    @classmethod
    def name(cls) -> str:
        return "of-one-session"

    def schema(self) -> str:
        return "n int"


def test_spark_finds_the_sources_where_they_are_installed(session: Any) -> None:
    """Without ``register``: what was registered belongs to its session, and another one has nothing of it."""
    session.dataSource.register(OfOneSession)
    assert session.read.format("of-one-session").load().columns == ["n"]
    own = session.newSession()
    with pytest.raises(Exception, match="DATA_SOURCE_NOT_FOUND"):
        own.read.format("of-one-session").load()
    reader = own.read.format("flink-state").options(operatorUid="orders-by-customer", stateName="voucher")
    frame = reader.load(ORDERS)
    assert (frame.where("key IN ('elif', 'jonas')").count(), frame.count()) == (2, 5)


# ---- sessions of their own

COUNT = f"""
reader = spark.read.format("flink-state").option("operatorUid", "orders-by-customer")
df = reader.option("stateName", "voucher").load({ORDERS!r})
print("rows", df.where("key IN ('elif', 'jonas')").count(), df.count())
"""


def run(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    text = "from pyspark.sql import SparkSession\n" + code
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_REMOTE")}
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, cwd=cwd, timeout=600, check=False,
        env={**own, "PYSPARK_PYTHON": sys.executable, **environment},
    )  # fmt: skip


def session_of(master: str) -> str:
    executors = f'.config("spark.executor.extraJavaOptions", "{QUICK_JAVA}")'
    return f'spark = SparkSession.builder.master("{master}").config("spark.ui.enabled", "false"){executors}.getOrCreate()\n'


REGISTER = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom stateextract.spark import register\n"


@pytest.fixture(scope="module")
def hidden_from_workers(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A session whose driver has the project by a path of its own, and whose workers find something else of that name.

    It reads with sources that were registered without the code, and after that with the code.
    """
    folder = tmp_path_factory.mktemp("hidden")
    (folder / "stateextract").mkdir()
    (folder / "stateextract" / "__init__.py").write_text("raise ModuleNotFoundError(name='stateextract')\n")
    code = f"import os\nos.environ['PYTHONPATH'] = {str(folder)!r}\n" + session_of("local[1]") + REGISTER
    indented = "".join(f"    {line}\n" for line in COUNT.splitlines())
    code += (
        f"register(spark, ship_code='never')\ntry:\n{indented}except Exception as error:\n    print('refused', error)\n"
    )
    return run(code + "register(spark)\n" + COUNT, folder)


@pytest.mark.slow
def test_where_workers_cannot_import_the_project(hidden_from_workers: subprocess.CompletedProcess[str]) -> None:
    assert hidden_from_workers.stdout.splitlines()[-1] == "rows 2 5", hidden_from_workers.stderr[-3000:]
    assert hidden_from_workers.stdout.count("rows ") == 1


@pytest.mark.slow
def test_where_a_package_is_missing_it_is_said_what_to_set(
    hidden_from_workers: subprocess.CompletedProcess[str],
) -> None:
    refused, _, _ = hidden_from_workers.stdout.partition("\nrows ")
    assert refused.startswith("refused "), hidden_from_workers.stderr[-3000:]
    assert "cannot import stateextract" in refused
    assert "register the sources with stateextract.spark.register(spark), which sends the code along" in refused


@pytest.mark.slow
def test_on_executors_of_their_own_the_code_is_sent(tmp_path: Path) -> None:
    code = session_of("local-cluster[1,1,1024]") + REGISTER + "register(spark, ship_code='always')\n" + COUNT
    done = run(code, tmp_path)
    assert "rows 2 5" in done.stdout, done.stderr[-3000:]


@pytest.mark.parametrize("also_behind", [False, True])
def test_another_project_of_the_name_before_ours_is_not_taken(also_behind: bool, tmp_path: Path) -> None:
    (tmp_path / "stateextract").mkdir()
    (tmp_path / "stateextract" / "__init__.py").write_text("raise ModuleNotFoundError(name='stateextract')\n")
    code = f"import sys; carrier = {str(ROOT / 'stateextract' / 'spark' / 'worker.py')!r}; root = {str(ROOT)!r}\n"
    code += f"sys.path.insert(0, {str(tmp_path)!r})\n" + "sys.path.append(root)\n" * also_behind
    code += "made = {}; exec(open(carrier).read(), made)\n"
    code += "for _ in range(2): made['make_importable'](root, None)\n"
    code += "import stateextract; print(stateextract.__file__, sys.path.count(root), sys.path[1])"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split() == [str(ROOT / "stateextract" / "__init__.py"), str(1 + also_behind), str(tmp_path)]
