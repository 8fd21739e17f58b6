"""Entities and what they consist of: frozen values, valid on construction."""
