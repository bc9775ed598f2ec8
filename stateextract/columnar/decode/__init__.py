"""Decoders: from a window of bytes to Arrow batches."""
