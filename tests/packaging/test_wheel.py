"""The wheel, installed by itself; and the zip of the code, with which nothing is installed.

Both virtual environments see the requirements of the one that runs the tests, not the project in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path
from sysconfig import get_paths

import pyarrow.dataset as ds
import pytest

from stateextract.columnar.compiled import native
from stateextract.columnar.compiled.processors import PROCESSORS
from stateextract.spark.archive import main as make_zip
from stateextract.version import VERSION
from tests.conftest import QUICK_JAVA
from tests.writers.generate import PlannedOperator, PlannedState, write_snapshot
from tests.writers.shapes import rows

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = ROOT / "examples" / "orders-checkpoint"
MACHINE_CODE = [f"{name}.{processor.name}" for name in native.KERNELS for processor in PROCESSORS]


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command as in a shell that knows nothing of the project or of a virtual environment."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK", "SPARK", "VIRTUAL_ENV"))}
    own |= {"PATH": "/usr/bin:/bin", "SPARK_LOCAL_IP": "127.0.0.1", **environment}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=own, capture_output=True, text=True, timeout=900, check=False
    )


def environment_in(folder: Path) -> Path:
    """A virtual environment with the requirements only; gives its ``bin``."""
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])", cwd=folder).stdout.strip()
    (Path(packages) / "requirements.pth").write_text(get_paths()["purelib"] + "\n")
    # An editable installation leaves the folder stateextract/submitted there, which is no package.
    assert run(python, "-c", "import stateextract.version", cwd=folder).returncode == 1, "the project is not visible"
    return folder / "bin"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    done = run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT,
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    commands = environment_in(folder / "venv")
    done = run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        commands / "python",
        "install",
        "--quiet",
        "--no-deps",
        wheel,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return commands


@pytest.mark.slow
def test_what_the_wheel_holds(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        information = Parser().parsestr(content.read(f"stateextract-{VERSION}.dist-info/METADATA").decode())
    tops = {name.split("/")[0] for name in names}
    assert tops == {
        "stateextract", "serializers", "pyspark_flink_state.py", "pyspark_flink_state_metadata.py",
        "pyspark_flink_state_diff.py",
        f"stateextract-{VERSION}.dist-info",
    }  # fmt: skip
    assert {
        str(p.relative_to(ROOT)) for name in ("stateextract", "serializers") for p in (ROOT / name).rglob("*.py")
    } <= {*names}
    report = ROOT / "stateextract" / "report"
    data = {str(p.relative_to(ROOT)) for folder in ("assets", "echarts") for p in (report / folder).iterdir()}
    code = {f"stateextract/{native.SHIPPED}/{native.key()}/{name}" for name in MACHINE_CODE}
    assert code == {name for name in names if name.startswith(f"stateextract/{native.SHIPPED}/")}
    assert len(data) > 12
    assert data <= {*names}
    assert (information["Name"], information["Version"]) == ("stateextract", VERSION)
    assert {"spark", "compile"} <= set(information.get_all("Provides-Extra", []))
    needed = [r for r in information.get_all("Requires-Dist", []) if "extra ==" not in r]
    assert not [r for r in needed if r.startswith(("numba", "llvmlite", "pandas", "pyspark"))]
    assert information["Requires-Python"] == ">=3.11"
    assert {"stateextract/py.typed", "serializers/py.typed"} <= set(names)
    assert (information["Author"], information.get_all("Project-URL")) == (
        "stateextract maintainers", ["Apache Flink, https://flink.apache.org/"],
    )  # fmt: skip
    assert "Typing :: Typed" in information.get_all("Classifier", [])


@pytest.mark.slow
def test_the_command_line(installed: Path, tmp_path: Path) -> None:
    done = run(
        installed / "stateextract", "head", SNAPSHOT, "--operator", "orders-by-customer", "--state", "voucher",
        "-n", "1", "--format", "json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"WELCOME-179"' in done.stdout
    done = run(installed / "python", "-c", "import stateextract; print(stateextract.__file__)", cwd=tmp_path)
    assert Path(done.stdout.strip()).is_relative_to(installed.parent)


@pytest.mark.slow
@pytest.mark.parametrize("shipped_by", ["wheel", "zip"])
def test_much_is_read_without_compiling(installed: Path, shipped_by: str, tmp_path: Path) -> None:
    """With an empty cache, and a Python that has neither Numba nor LLVM."""
    entries = 200_000
    write_snapshot(tmp_path / "snapshot", [PlannedOperator("op", [PlannedState("long-long", entries)])])
    (tmp_path / "none").mkdir()
    for module in ("numba", "llvmlite"):
        (tmp_path / "none" / f"{module}.py").write_text(f"raise ModuleNotFoundError('no {module}', name='{module}')")
    python, path = installed / "python", [str(tmp_path / "none")]
    if shipped_by == "zip":  # as on executors that have the requirements only
        python, zipped = environment_in(tmp_path / "venv") / "python", tmp_path / "code.zip"
        assert make_zip([str(zipped)]) == 0
        path.append(str(zipped))
    started = [str(python), "-m", "stateextract"]
    command = ["extract", "--engine", "local", "--snapshot", tmp_path / "snapshot", "--output", tmp_path / "out"]
    done = run(*started, *command, cwd=tmp_path, PYTHONPATH=os.pathsep.join(path), HOME=str(tmp_path / "home"),
               XDG_CACHE_HOME=str(tmp_path / "cache"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "achine code" not in done.stderr
    assert not [file for folder in ("cache", "home") for file in (tmp_path / folder).rglob("*") if file.is_file()]
    (state,) = json.loads((tmp_path / "out" / "_coverage.json").read_text())["entries"]
    assert (state["read"]["engine"], state["read"]["rows"]) == ("kernel", entries)
    found = ds.dataset(tmp_path / "out" / "op" / "long-long", format="parquet").to_table(["key", "value"]).sort_by("key")
    assert found.equals(rows("long-long", 1, 0, entries).select(["key", "value"]).sort_by("key"))


@pytest.mark.slow
@pytest.mark.spark
def test_a_cluster_with_the_code_as_a_zip(installed: Path, tmp_path: Path) -> None:
    """From an environment that is not active, onto executors of their own whose Python has not the project."""
    workers = environment_in(tmp_path / "venv") / "python"
    archive = tmp_path / "stateextract.zip"
    assert make_zip([str(archive)]) == 0
    done = run(
        installed / "stateextract-submit", "--master", "local-cluster[2,1,1024]", "--py-files", archive,
        "--conf", f"spark.executor.extraJavaOptions={QUICK_JAVA}", "--",
        "--snapshot", SNAPSHOT, "--output", tmp_path / "out", "--split-bytes", "8 kB",
        cwd=tmp_path, PYSPARK_PYTHON=str(workers),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]
    assert done.stdout.splitlines()[-1] == f"Wrote 142 rows in 7 datasets to {tmp_path / 'out'}."
    assert " INFO " not in done.stderr
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    rows = {
        dataset["folder"]: ds.dataset(tmp_path / "out" / dataset["folder"], format="parquet").count_rows()
        for dataset in manifest["datasets"]
    }
    assert rows == {
        "orders-by-customer/cents-by-product": 5, "orders-by-customer/last-order": 5, "orders-by-customer/order-ids": 5,
        "orders-by-customer/timers": 50, "orders-by-customer/voucher": 5,
        "sales-per-hour/timers": 36, "sales-per-hour/window-contents": 36,
    }  # fmt: skip
    vouchers = ds.dataset(tmp_path / "out" / "orders-by-customer" / "voucher").to_table().to_pylist()
    assert {row["key"]: row["value"] for row in vouchers}["elif"] == "WELCOME-179"


def test_the_zip_is_a_command_for_scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make_zip([]) == 2
    assert capsys.readouterr().err == "usage: python -m stateextract.spark.archive FILE\n"
    file = tmp_path / "a.zip"
    assert make_zip([str(file)]) == 0
    with zipfile.ZipFile(file) as content:
        assert {name.split("/")[0] for name in content.namelist()} == {
            "stateextract", "serializers", "pyspark_flink_state.py", "pyspark_flink_state_metadata.py",
        "pyspark_flink_state_diff.py",
        }  # fmt: skip
    done = run(
        sys.executable, "-c", "import stateextract.spark.archive as a; print(a.__file__); a.main(['b.zip'])",
        cwd=tmp_path, PYTHONPATH=str(file),
    )  # fmt: skip
    assert done.stdout.strip() == str(file / "stateextract" / "spark" / "archive.py")
    assert (tmp_path / "b.zip").read_bytes() == file.read_bytes(), "what came from a zip goes on as that zip"
