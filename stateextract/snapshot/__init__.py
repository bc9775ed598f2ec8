"""A snapshot, opened: headers, states, coverage, and the readers of its files."""
