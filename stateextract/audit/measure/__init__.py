"""Statistics of one state: columns, sizes, hashes, samples."""
