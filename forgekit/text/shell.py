"""Command lines as a shell reads them."""

from __future__ import annotations

import re

_OPENED = re.compile(r"(?<!<)<<-?[ \t]*\\?(['\"]?)([A-Za-z_]\w{0,63})\1")
"""What opens a here-document; neither a here-string (`<<<`) nor a shift by a number."""
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.""", re.DOTALL)
_OPERATORS = dict.fromkeys(map(ord, "|;&<>\n"), " ")
_BESIDE = " \t)\"'`;"
"""What may surround the word that ends one."""


def without_documents(command: str) -> str:
    """Return a command line without the text of its here-documents, which it may be cut in: linear in it."""
    kept: list[str] = []
    waiting: list[str] = []
    for line in command.split("\n"):
        if not waiting:
            kept.append(line)
            waiting = [opened[2] for opened in _OPENED.finditer(line)]
        elif line.strip(_BESIDE) == waiting[0]:
            del waiting[0]
    return "\n".join(kept)


def without_quoted_operators(command: str) -> str:
    """Return a command line with blanks for the operators between quotation marks and behind backslashes."""
    return _QUOTED.sub(lambda quoted: quoted[0].translate(_OPERATORS), command)
