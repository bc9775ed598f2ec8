"""Measurements, and the generators of the snapshots they run on."""
