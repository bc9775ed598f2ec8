"""The thin layer that runs the job's splits as Spark tasks."""
