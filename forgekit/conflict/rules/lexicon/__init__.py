"""The vocabulary of the judge by rules: which words mean one thing, and which things exclude each other.

A *group* is words that name one thing. A *slot* is a question with several answers, of which a decision
takes one; its *poles* are the answers, and words of one pole agree. A slot of kind `opposite` has poles
that exclude each other by meaning (on, off); of kind `choice`, poles of which one is usually chosen for one
purpose (PostgreSQL, MongoDB), so that two of them conflict in one and the same frame only.

The tables are general vocabulary of software and project work, teaching, writing, money and health; they
are plain text so that a line is easy to add. Words are written in any form, for the reader
stems them; behind `=` a word counts in this very form alone. `!` behind a slot's name: naming an answer
already says what is spoken about.
"""

from __future__ import annotations

from forgekit.conflict.rules.lexicon.choices import CHOICES
from forgekit.conflict.rules.lexicon.groups import GENERIC, GROUPS
from forgekit.conflict.rules.lexicon.limits import SCOPES
from forgekit.conflict.rules.lexicon.opposites import OPPOSITES

__all__ = ["CHOICES", "GENERIC", "GROUPS", "OPPOSITES", "SCOPES"]
