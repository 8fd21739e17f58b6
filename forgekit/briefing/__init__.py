"""Blocks to paste into a conversation, and answers to questions."""
