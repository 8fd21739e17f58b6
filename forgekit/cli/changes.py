"""What a command says that changed the registry: the entity, the commit, the conflicts that came to light."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forgekit import console
from forgekit.cli.base import is_dry_run, wants_json
from forgekit.model.kinds import Kind, short_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forgekit.change import Written
    from forgekit.conflict.judge import Judgement
    from forgekit.forge import Forge
    from forgekit.model.conflict import Conflict
    from forgekit.store import Outcome

UNCHANGED = "nothing to do, it says so already"


def wrote(written: Written, verb: str, unchanged: str = UNCHANGED) -> None:
    """Say what a write did: the short id on stdout, the rest on stderr; a dry run prints the diff.

    Args:
        written: what was written.
        verb: noun and verb.
        unchanged: says why there was nothing to do, if so it was.
    """
    entity, outcome = written.entity, written.outcome
    name = short_id(entity.kind, entity.id)
    conflicts = _conflicts(written)
    if wants_json():
        console.as_json(
            {
                "id": entity.id,
                "short_id": name,
                "commit": outcome.commit,
                "dry_run": is_dry_run(),
                "written": sorted(outcome.written),
                "conflicts": [conflict_view(item) for item in conflicts],
            }
        )
        return
    if outcome.diff:
        console.diff(outcome.diff)
    else:
        console.data(name)
    console.info(f"{verb} {name}: {done(outcome, unchanged)}")
    for item in conflicts:
        for line in conflict_lines(item):
            console.info(line)


def _conflicts(written: Written) -> list[Conflict]:
    """Return the conflicts that were written beside the entity."""
    from forgekit.model.conflict import Conflict

    beside = (entity for entity in written.outcome.change.writes if entity.id != written.entity.id)
    return [entity for entity in beside if isinstance(entity, Conflict)]


def talk_of_judge(forge: Forge) -> None:
    """Say which pairs the judge left unjudged."""
    from forgekit.models.encoder import Missing

    if not isinstance(forge.judge, Missing):
        for problem in forge.judge.problems:
            console.info(f"{problem.severity.value}: {problem}")


def conflict_lines(conflict: Conflict, judgement: Judgement | None = None) -> list[str]:
    """Say which two decisions contradict each other, why, and what to do.

    With the judgement, say what it is made of in place of what the file keeps.
    """
    name = short_id(Kind.CONFLICT, conflict.id)
    a, b = (short_id(Kind.DECISION, side) for side in (conflict.decision_a, conflict.decision_b))
    lines = [f"conflict {name}: {a} and {b} cannot both be followed"]
    lines += [f"  {line}" for line in (_explained(a, b, judgement) if judgement else conflict.evidence)]
    if conflict.kept is None:
        return [
            *lines,
            f"  choose: forgekit conflict resolve {name} --keep {a} --reason TEXT; or scope, or dismiss",
        ]
    return [*lines, f"  {conflict.reason}: {short_id(Kind.DECISION, conflict.kept)} was kept"]


def _explained(a: str, b: str, judgement: Judgement) -> Iterator[str]:
    """Yield the words that weighed most and the probability."""
    for side, words in zip((a, b), judgement.words, strict=True):
        yield f"words of {side}: {', '.join(words) or 'none'}"
    yield f"a contradiction with probability {judgement.probability:.2f}"


def conflict_view(conflict: Conflict, judgement: Judgement | None = None) -> dict[str, object]:
    """Return a conflict as JSON values, with what its judgement is made of where that is given."""
    said: dict[str, object] = {}
    if judgement is not None:
        said = {
            "probability": judgement.probability,
            "level": judgement.level.value,
            "words": [list(words) for words in judgement.words],
        }
    return {
        "conflict_id": conflict.id,
        "short_id": short_id(Kind.CONFLICT, conflict.id),
        "decision_a": conflict.decision_a,
        "decision_b": conflict.decision_b,
        "status": conflict.status.value,
        "nature": conflict.nature,
        "evidence": list(conflict.evidence),
        "similarity": conflict.similarity,
        "kept": conflict.kept,
        **said,
    }


def done(outcome: Outcome, unchanged: str = UNCHANGED) -> str:
    """Say in words what became of a write."""
    if outcome.diff:
        return "nothing written (dry run)"
    if outcome.commit is not None:
        return f"committed as {outcome.commit[:10]}"
    if outcome.written or outcome.deleted:
        files = console.count(len(outcome.written) + len(outcome.deleted), "file")
        return f"{files} written, not committed"
    return unchanged
