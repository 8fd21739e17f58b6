"""A register of decisions, threads and lineage behind model conversations."""

__version__ = "0.1.0"
