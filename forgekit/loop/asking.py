"""The retrieval protocol, answered from the store: every answer names its source."""

from __future__ import annotations

from dataclasses import dataclass

from forgekit.forge import Forge
from forgekit.loop.answers import answer
from forgekit.loop.facts import facts
from forgekit.loop.found import Found, Store
from forgekit.loop.standing import STANDING
from forgekit.policy.question import Question, read_question
from forgekit.text.blocks import quote


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An answer with its sources.

    Attributes:
        found: whether the store holds one.
    """

    text: str
    data: dict[str, object]
    found: bool


def ask(forge: Forge, question: str, project: str | None = None) -> Answer:
    """Answer one of the retrieval commands, or search.

    Args:
        forge: the registry.
        question: in the words of the retrieval protocol, or any others.
        project: only this one.
    """
    registry = forge.registry()
    if project is not None:
        project = forge.known_project(project, registry).project_name
    kept = [a for a in registry.archives if project in (None, a.project_name)]
    store = Store(forge, registry, project, facts(forge.catalogue, kept))
    asked = read_question(question)
    standing = STANDING.get(asked.command)
    found = standing(store) if standing else answer(store, asked.command, asked.subject)
    return _answer(asked, question, found, "; ".join(store.notices))


def _answer(asked: Question, question: str, found: Found, notice: str) -> Answer:
    heading = f"## Retrieved Context: {quote(question)}"
    if not found.lines:
        text = f"{heading}\n\nNothing in the registry answers this.\n"
    else:
        about = [f"**Source:** {'; '.join(dict.fromkeys(found.sources)) or 'registry'}"]
        if found.turns:
            about.append(f"**Transcript Reference:** {found.turns}")
        about.append(f"**Scope:** {found.scope}")
        text = "\n\n".join([heading, "\n".join(found.lines), "\n".join(about)]) + "\n"
    data: dict[str, object] = {
        "question": question,
        "command": asked.command.value,
        "subject": asked.subject,
        "found": bool(found.lines),
        "ids": list(dict.fromkeys(found.ids)),
        "sources": list(dict.fromkeys(found.sources)),
        "answer_text": text,
        "notice": notice,
    }
    return Answer(text=text, data=data, found=bool(found.lines))
