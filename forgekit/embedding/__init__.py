"""Texts as vectors: one port, the model's files, and the encoders behind it."""
