"""The judge by rules."""
