"""Entities as Markdown and back, blocks, words, secrets. Pure."""
