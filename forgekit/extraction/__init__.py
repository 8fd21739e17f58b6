"""Candidates in the turns of a conversation. Pure."""
