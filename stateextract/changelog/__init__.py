"""State of the changelog backend: a snapshot that was materialized at some time, and the changes since, applied to it."""
