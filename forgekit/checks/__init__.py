"""The checks of a registry: pure functions that return problems."""
