"""Fetch, merge and push the registry."""
