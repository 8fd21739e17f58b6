"""What an agent that may not write proposes: a candidate that waits for a person's review."""

from __future__ import annotations

from collections.abc import Iterable

from forgekit.change import COMMITTED, WriteOptions, Written, origin_of, typed, write
from forgekit.forge import Forge
from forgekit.ids import EntityId, candidate_id, project_id
from forgekit.model.entities import Candidate, Entity, Proposal
from forgekit.model.registry import Registry
from forgekit.model.rules import statement, with_section

CONFIDENCE = 0.5
"""Of what an agent proposes: nobody has measured how often it is right."""


def propose(
    forge: Forge,
    proposes: Proposal,
    text: str,
    *,
    conversation: str,
    why: str,
    rationale: str = "",
    alternatives: Iterable[str] = (),
    project: str | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """File a candidate; one that is filed already is returned as it is.

    Args:
        proposes: what it would be registered as.
        conversation: its source, by any name; an unknown uuid is registered along.
        why: who proposes it.
        rationale: why, Markdown.
        alternatives: what was rejected.
        project: a project's name, else the conversation's.

    Raises RuleError for a text that is too long, NotFoundError, UsageError.
    """
    line = typed(text, "the reason")
    rejected = tuple(dict.fromkeys(statement(each, 300) for each in alternatives))

    def decide(registry: Registry) -> list[Entity]:
        origin = origin_of(forge, registry, project, conversation, None)
        source = origin.conversation or EntityId("")
        candidate = Candidate(
            candidate_id=candidate_id(source, origin.at, proposes.value, line),
            candidate=line,
            proposes=proposes,
            confidence=CONFIDENCE,
            why=why,
            project_name=origin.project,
            project_uuid=project_id(origin.project),
            conversation_id=source,
            turn=0,
            alternatives_rejected=rejected,
            created_at=origin.at,
            body=with_section("", "Rationale", rationale),
        )
        known = registry.get(candidate.id)
        return [known] if known is not None else [candidate, *origin.beside]

    return write(forge, decide, "candidate new", options)
