"""The extract job without Spark: options, plan, tasks, Parquet files, commit, manifest and coverage report."""
