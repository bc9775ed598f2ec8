"""The report: a snapshot's statistics as one HTML page that needs nothing else."""
