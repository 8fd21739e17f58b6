"""What archives state: `read_archive` reads one text, `fold` joins all of them, `settle` finds what to write.

Order of reading: `document` (Markdown structure), `logs`, `records`, `notes`, `updates` (of a parent's
records); `tagged` with `tokens`, `tagger`, `spans`, `layout`, `grouping` (what has no known label); `claims`
(values, merging), `metadata`, `read`. Order of joining: `ancestry` with `descriptions`, `fold`, `aggregate`,
`conversations`, `changes`. `states` reads what the words of a state mean, `machine_block` writes records as a
block.
"""

READER_VERSION = "23"
"""Raise it when `read_archive` reads a text in another way: it is part of the key of the reader's cache."""
