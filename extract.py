"""Extracts the state in an Apache Flink checkpoint or savepoint as Parquet, with Spark.

spark-submit extract.py --snapshot PATH --output PATH [--operator UID|ID|NAME]... [--state NAME]... [--config FILE]
"""

import sys
from pathlib import Path

try:
    from stateextract.spark.job import main
except ModuleNotFoundError as missing:
    sys.exit(
        f"extract.py: the Python at {sys.executable} has no {missing.name}. Install the requirements there "
        "(pip install 'stateextract[spark]'), or set PYSPARK_PYTHON to a Python that has them."
    )

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).resolve().parent / "conf" / "spark-defaults.conf"))
