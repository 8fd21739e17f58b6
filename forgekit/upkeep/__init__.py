"""Keeping a registry well: made, checked, diagnosed, summed up, exported."""
