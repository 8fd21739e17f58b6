"""Schema 1 to 2: take back what the first version wrote about conflicts by itself. Pure.

The first version stored what its judge found as conflict files, and superseded a decision that contradicts
one of a much higher tier. Both are computed now (`conflict.finding`). Files that a person or an archive wrote
or changed stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from forgekit.conflict.pairs import NATURE
from forgekit.errors import FormatError
from forgekit.ids import EntityId, pair_id
from forgekit.model.entities import Conflict, ConflictStatus, Decision, DecisionStatus, entity_path
from forgekit.model.kinds import Kind, path_of
from forgekit.model.rules import section, with_section
from forgekit.text import codec, edit

_SECTION = "Superseded"
_TIER_REASON = re.compile(r"the higher tier stands: \S+ against \S+")
_TIER_SECTION = re.compile(r"Contradicts a decision of a higher tier \(\S+ against \S+\): .+")
_REVISIONS = ("two active revisions of ", "two revisions of ")  # archives and merges say these


def migrated(texts: Mapping[str, str], touched: Callable[[str], bool]) -> dict[str, str | None]:
    """Return the files that change, by path; None for one to delete.

    Args:
        texts: entity files by path.
        touched: whether a person has changed the file at a path since it was made.
    """
    found = {
        entity.id: entity
        for path, text in texts.items()
        if (entity := _conflict(path, text)) is not None and not touched(path)
    }
    restored: dict[EntityId, str] = {}
    changed: dict[str, str | None] = {}
    for path, decision in _losers(texts):
        verdict = pair_id(decision.id, decision.superseded_by or EntityId(""))
        if verdict in found or path_of(Kind.CONFLICT, verdict) not in texts:
            active = replace(
                decision,
                status=DecisionStatus.ACTIVE,
                superseded_by=None,
                body=with_section(decision.body, _SECTION, ""),
            )
            restored[decision.id] = changed[path] = edit.update(texts[path], active)
    for conflict in found.values():
        loser = conflict.decision_b if conflict.kept == conflict.decision_a else conflict.decision_a
        if conflict.kept is None or loser in restored or not _superseded(texts, loser, conflict.kept):
            changed[entity_path(conflict)] = None
    return changed


def _conflict(path: str, text: str) -> Conflict | None:
    """Return the conflict of a file that holds nothing but what the first version wrote by itself."""
    if not path.startswith(f"{Kind.CONFLICT.folder}/"):
        return None
    try:
        conflict = codec.loads(Kind.CONFLICT, text)
    except FormatError:
        return None
    if not isinstance(conflict, Conflict) or conflict.body or conflict.extra or edit.comments(text):
        return None
    if conflict.nature.startswith(_REVISIONS) or conflict.nature != (*conflict.evidence, NATURE)[0]:
        return None
    if conflict.status is ConflictStatus.OPEN:
        return conflict if conflict.reason is None else None
    by_tier = conflict.status is ConflictStatus.RESOLVED and _TIER_REASON.fullmatch(conflict.reason or "")
    return conflict if by_tier else None


def _losers(texts: Mapping[str, str]) -> Iterator[tuple[str, Decision]]:
    """Yield the decisions that the first version superseded by itself, with their paths."""
    for path, text in texts.items():
        if path.startswith(f"{Kind.DECISION.folder}/") and f"## {_SECTION}" in text:
            try:
                decision = codec.loads(Kind.DECISION, text)
            except FormatError:
                continue
            if (
                isinstance(decision, Decision)
                and decision.status is DecisionStatus.SUPERSEDED
                and decision.superseded_by is not None
                and _TIER_SECTION.fullmatch(section(decision.body, _SECTION))
            ):
                yield path, decision


def _superseded(texts: Mapping[str, str], key: EntityId, by: EntityId) -> bool:
    try:
        decision = codec.loads(Kind.DECISION, texts[path_of(Kind.DECISION, key)])
    except (KeyError, FormatError):
        return False
    return isinstance(decision, Decision) and decision.superseded_by == by
