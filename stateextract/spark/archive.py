"""The code as a zip, for Spark's Python processes on other machines.

``python -m stateextract.spark.archive FILE`` writes the zip that ``spark-submit --py-files`` takes (``scripts/pyfiles`` in a
checkout). The job and the data sources make the same zip by themselves where the workers are elsewhere; one made beforehand
is for a driver that runs in the cluster too.

The code is Python, and machine code of the kernels for all processors, as far as it is there. What the code needs (pyarrow,
numpy, …) is compiled and cannot be in the zip.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from stateextract.columnar.compiled import native

PACKAGES = ("stateextract", "serializers")
# Spark looks for data sources in modules of such names.
MODULES = ("pyspark_flink_state.py", "pyspark_flink_state_metadata.py", "pyspark_flink_state_diff.py")
_DATE = (1980, 1, 1, 0, 0, 0)


def zipped(root: Path, machine_code: Mapping[str, bytes] | None = None) -> bytes:
    """Both packages and the modules by which Spark finds the data sources; equal content gives equal bytes.

    :param root: the folder that holds them, or a zip that this function made and that they were imported from.
    :param machine_code: compiled kernels, by their places in the package ``stateextract``.
    """
    if root.is_file():
        return root.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as content:
        sources = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
        for path in sources + [root / name for name in MODULES if (root / name).is_file()]:
            entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), _DATE)
            content.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
        for name, data in sorted((machine_code or {}).items()):
            content.writestr(zipfile.ZipInfo(f"stateextract/{name}", _DATE), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def main(arguments: list[str]) -> int:
    """The command: writes the zip to the file that is named."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m stateextract.spark.archive FILE", file=sys.stderr)
        return 2
    Path(arguments[0]).write_bytes(zipped(Path(__file__).resolve().parents[2], native.delivery()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
