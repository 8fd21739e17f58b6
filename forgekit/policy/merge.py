"""The three-way merge of one entity: field by field, by what each field means.

`base` is the last state that both sides knew. A field that one side changed takes that side's value.
Where both changed it, its rule decides:

* a set keeps what either side added and loses what either side removed; a keyed map likewise;
* of two times the later or the earlier stands;
* fields that only make sense together (a state, a pair of ids) are one group and come from one side;
* everything else is a `FieldConflict`, and ours stands until a person has chosen.

Order of a set both sides changed: sets of ids are sorted (so by time); other lists keep the order
of the base, or of the one side that rearranged it, and additions follow, sorted.

Laws:

    merge(b, x, x) == merge(b, b, x) == merge(b, x, b) == x
    with no conflict, merge(b, x, y) == merge(b, y, x)
    what one side alone changed is in the result; what either side wrote is there, in the
    conflicts, or outlived by a rule on times or states; a key that nobody knows is kept
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from forgekit.model.archive import Archive
from forgekit.model.body import parts
from forgekit.model.conflict import Conflict, ConflictStatus
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind
from forgekit.model.thread import Thread, ThreadStatus

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldConflict:
    """One field that both sides changed, each in its own way.

    Attributes:
        field: a front-matter key; `records.D001` for one entry of a map; `body` or `## Context` for the
            text before the first section or a section; "" for the entity as a whole.
        base: None where the base lacks it; the same for the sides.
    """

    field: str
    base: object
    ours: object
    theirs: object


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged(Generic[E]):
    """A merged entity (None: deleted), valid even where conflicts are left."""

    entity: E | None
    conflicts: tuple[FieldConflict, ...] = ()


class _Sides(NamedTuple):
    base: Any
    ours: Any
    theirs: Any


_Conflicts = list[FieldConflict]
_Rule = Callable[[str, _Sides, _Conflicts], Any]
"""Merges a named value that both sides changed; adds to the conflicts."""
_Choice = Callable[[Any, Any], tuple[Any, bool]]
"""Chooses the entity whose group of fields stands, and says whether that is a conflict."""

_ABSENT = object()  # the value of a key that is not in a map


def merge(base: E | None, ours: E | None, theirs: E | None) -> Merged[E]:
    """Merge two states of one entity.

    Args:
        base: the state both come from; None where both sides made the entity.
        ours: None where this side deleted it.
        theirs: likewise.

    Raises ValueError when they are not states of one entity.
    """
    if len({(entity.kind, entity.id) for entity in (base, ours, theirs) if entity is not None}) > 1:
        raise ValueError("only states of one entity can be merged")
    if theirs in (ours, base):
        return Merged(entity=ours)
    if ours == base:
        return Merged(entity=theirs)
    if ours is None or theirs is None:
        conflict = FieldConflict(field="", base=base, ours=ours, theirs=theirs)
        return Merged(entity=theirs if ours is None else ours, conflicts=(conflict,))
    sides = _Sides(base, ours, theirs)
    conflicts: _Conflicts = []
    values = _fields(RULES[ours.kind], sides, conflicts)
    for names, choose in GROUPS.get(ours.kind, {}).items():
        values |= _group(names, choose, sides, conflicts)
    values["extra"] = _keyed("", _Sides(base.extra if base else {}, ours.extra, theirs.extra), conflicts)
    if not isinstance(ours, Archive):
        values["body"] = _body(sides, conflicts)
    return Merged(entity=dataclasses.replace(ours, **values), conflicts=tuple(conflicts))


def _settle(sides: _Sides, otherwise: Callable[[], Any]) -> Any:
    """Return the value where at most one side changed it, else what `otherwise` says."""
    if sides.theirs in (sides.ours, sides.base):
        return sides.ours
    return sides.theirs if sides.ours == sides.base else otherwise()


def _fields(
    rules: Mapping[str, _Rule], entities: _Sides, conflicts: _Conflicts, where: str = ""
) -> dict[str, Any]:
    def merged(name: str, rule: _Rule) -> Any:
        sides = _field(name, entities)
        return _settle(sides, lambda: rule(where + name, sides, conflicts))

    return {name: merged(name, rule) for name, rule in rules.items()}


def _field(name: str, entities: _Sides) -> _Sides:
    """Return one field of each; in a base that is not there every field is unset."""
    ours, theirs = getattr(entities.ours, name), getattr(entities.theirs, name)
    unset = () if () in (ours, theirs) else None
    return _Sides(unset if entities.base is None else getattr(entities.base, name), ours, theirs)


def _group(
    names: tuple[str, ...], choose: _Choice, entities: _Sides, conflicts: _Conflicts
) -> dict[str, Any]:
    """Return the values of fields that come from one side together."""
    fields = {name: _field(name, entities) for name in names}
    sides = _Sides._make(zip(*fields.values(), strict=True))

    def chosen() -> Any:
        winner, clash = choose(entities.ours, entities.theirs)
        if clash:
            conflicts.extend(_conflict(name, f) for name, f in fields.items() if f.ours != f.theirs)
        return sides.ours if winner is entities.ours else sides.theirs

    return dict(zip(names, _settle(sides, chosen), strict=True))


def _conflict(name: str, sides: _Sides) -> FieldConflict:
    base, ours, theirs = (None if side is _ABSENT else side for side in sides)
    return FieldConflict(field=name, base=base, ours=ours, theirs=theirs)


# Rules for one field


def _value(name: str, sides: _Sides, conflicts: _Conflicts) -> Any:
    """Leave the choice to a person; ours stands meanwhile."""
    conflicts.append(_conflict(name, sides))
    return sides.ours


def _later(_name: str, sides: _Sides, _conflicts: _Conflicts) -> Any:
    return max(sides.ours, sides.theirs)


def _earlier(_name: str, sides: _Sides, _conflicts: _Conflicts) -> Any:
    return min(sides.ours, sides.theirs)


def _ids(_name: str, sides: _Sides, _conflicts: _Conflicts) -> Any:
    return tuple(sorted(_united(sides)))


def _lines(_name: str, sides: _Sides, _conflicts: _Conflicts) -> Any:
    return tuple(_ordered(_united(sides), sides))


def _pairs(name: str, sides: _Sides, conflicts: _Conflicts) -> Any:
    """Merge (local id, id) pairs; without a local id the id is the key, as in the file."""
    maps = ({local or entity: (local, entity) for local, entity in side or ()} for side in sides)
    return tuple(_keyed(f"{name}.", _Sides._make(maps), conflicts).values())


def _compressions(name: str, sides: _Sides, conflicts: _Conflicts) -> Any:
    """Merge entries by tag, and each entry field by field."""

    def entry(where: str, entries: _Sides, conflicts: _Conflicts) -> Any:
        base = None if entries.base is _ABSENT else entries.base
        values = _fields(COMPRESSION_RULES, entries._replace(base=base), conflicts, f"{where}.")
        return dataclasses.replace(entries.ours, **values)

    maps = ({entry.compression_tag: entry for entry in side or ()} for side in sides)
    return tuple(_keyed(f"{name}.", _Sides._make(maps), conflicts, entry).values())


def _united(sides: _Sides) -> set[Any]:
    base, ours, theirs = (set(side or ()) for side in sides)
    return (ours & theirs) | (ours - base) | (theirs - base)


def _ordered(kept: Iterable[Any], sides: _Sides) -> list[Any]:
    """Return keys in an order that does not depend on which side is ours."""
    keys = set(kept)
    shared = keys.intersection(*(side or () for side in sides))
    orders = _Sides._make(list(dict.fromkeys(key for key in side or () if key in shared)) for side in sides)
    return [*_settle(orders, lambda: orders.base), *sorted(keys - shared)]


def _keyed(where: str, maps: _Sides, conflicts: _Conflicts, rule: _Rule = _value) -> dict[str, Any]:
    """Merge maps key by key; a key that one side removed and the other changed stays, as a conflict."""

    def merged(key: str) -> Any:
        sides = _Sides._make(side.get(key, _ABSENT) for side in maps)

        def both() -> Any:
            if _ABSENT in (sides.ours, sides.theirs):
                conflicts.append(_conflict(where + key, sides))
                return sides.theirs if sides.ours is _ABSENT else sides.ours
            return rule(where + key, sides, conflicts)

        return _settle(sides, both)

    found = {key: merged(key) for key in dict.fromkeys(key for side in maps for key in side)}
    kept = {key: value for key, value in found.items() if value is not _ABSENT}
    order = _settle(_Sides._make(list(side) for side in maps), lambda: _ordered(kept, maps))
    return {key: kept[key] for key in dict.fromkeys((*order, *kept)) if key in kept}


# Groups: fields that come from one side together

_STATE = ("status", "updated_at", "resolved_in")
_THREAD_ORDER = [ThreadStatus.RESOLVED, ThreadStatus.SUPERSEDED, ThreadStatus.ABANDONED, ThreadStatus.OPEN]
_DECISION_ORDER = [
    DecisionStatus.SUPERSEDED,
    DecisionStatus.REVISED,
    DecisionStatus.INVALIDATED,
    DecisionStatus.ACTIVE,
]


def _either(ours: Any, _theirs: Any) -> tuple[Any, bool]:
    """Leave the choice to a person; ours stands meanwhile."""
    return ours, True


def _thread_state(ours: Thread, theirs: Thread) -> tuple[Thread, bool]:
    """Let the later state stand, as `updated_at` says.

    So an end stands over OPEN unless the thread was reopened after it: an archive that merely repeats
    OPEN changes no state and is never later. Ties: resolved, superseded, abandoned, open; then the
    smaller `resolved_in`, none coming last.
    """

    def rank(thread: Thread) -> tuple[Any, ...]:
        place = thread.resolved_in is None, thread.resolved_in or ""
        return -thread.updated_at, _THREAD_ORDER.index(thread.status), *place

    return min(ours, theirs, key=rank), False


def _decision_state(ours: Decision, theirs: Decision) -> tuple[Decision, bool]:
    """Let an end stand over active; two ends are a conflict.

    Until it is settled: superseded, revised, invalidated; then the smaller `superseded_by`, then the
    smaller `revised_in`, none coming last.
    """

    def rank(decision: Decision) -> tuple[Any, ...]:
        links = decision.superseded_by, decision.revised_in
        return _DECISION_ORDER.index(decision.status), *((link is None, link or "") for link in links)

    return min(ours, theirs, key=rank), ours.status.ended and theirs.status.ended


def _conflict_state(ours: Conflict, theirs: Conflict) -> tuple[Conflict, bool]:
    """Let any answer stand over OPEN; two answers are a conflict."""
    if ours.status is ConflictStatus.OPEN:
        return theirs, False
    return ours, theirs.status is not ConflictStatus.OPEN


# The body

PREAMBLE = "body"
RESOLUTION = "## Resolution"


def _body(entities: _Sides, conflicts: _Conflicts) -> str:
    """Merge bodies section by section; a thread's resolution goes with the state that stands."""
    bodies = _Sides._make("" if entity is None else entity.body for entity in entities)
    maps = _Sides._make(_sections(body) for body in bodies)
    winner = _winner(entities)
    if winner is None:
        return str(_settle(bodies, lambda: _joined(_keyed("", maps, conflicts))))
    stands, yields = (maps.ours, maps.theirs) if winner is entities.ours else (maps.theirs, maps.ours)
    texts = _Sides._make(side.get(RESOLUTION) for side in maps)
    if yields.pop(RESOLUTION, None) not in (None, texts.base, stands.get(RESOLUTION)):
        conflicts.append(_conflict(RESOLUTION, texts))
    if RESOLUTION in stands:
        yields[RESOLUTION] = stands[RESOLUTION]
    return _joined(_keyed("", maps, conflicts))


def _winner(entities: _Sides) -> Thread | None:
    """Return the thread whose state a rule chose over the other's, where one of them has ended."""
    ours, theirs = entities.ours, entities.theirs
    if not isinstance(ours, Thread) or not (ours.status.ended or theirs.status.ended):
        return None
    state = _Sides._make([getattr(entity, name, None) for name in _STATE] for entity in entities)
    return _thread_state(ours, theirs)[0] if _settle(state, lambda: None) is None else None


def _sections(body: str) -> dict[str, str]:
    """Return the text of each section, heading included; those of one name count as one."""
    out: dict[str, str] = {}
    for name, text in parts(body):
        key = PREAMBLE if name is None else f"## {name}"
        out[key] = f"{out[key]}\n\n{text}".strip("\n") if key in out else text.strip("\n")
    return {key: text for key, text in out.items() if text}


def _joined(sections: dict[str, str]) -> str:
    preamble = sections.pop(PREAMBLE, "")
    return "\n\n".join(text for text in (preamble, *sections.values()) if text)


# The tables

_SCOPE: dict[str, _Rule] = {"project_name": _value, "project_uuid": _value}

RULES: dict[Kind, dict[str, _Rule]] = {
    Kind.PROJECT: {**_SCOPE, "tags": _lines},
    Kind.CONVERSATION: {
        **_SCOPE,
        "conversation_id": _value,
        "title": _value,
        "external_id": _value,
        "session_id": _value,
        "created_at": _earlier,
        "tags": _lines,
    },
    Kind.THREAD: {
        **_SCOPE,
        "thread_id": _value,
        "title": _value,
        "priority": _value,
        "local_id": _value,
        "blocked_by": _ids,
        "first_seen_in": _value,
        "conversation_ids": _ids,
        "created_at": _earlier,
        "tags": _lines,
    },
    Kind.DECISION: {
        **_SCOPE,
        "decision_id": _value,
        "decision": _value,
        "epistemic_tier": _value,
        "tier_token": _value,
        "local_id": _value,
        "originated_in": _value,
        "conversation_ids": _ids,
        "dependencies": _ids,
        "alternatives_rejected": _lines,
        "created_at": _earlier,
        "last_validated": _later,
        "tags": _lines,
    },
    Kind.LINEAGE: {**_SCOPE, "lineage_id": _value, "compressions": _compressions},
    Kind.CONFLICT: {
        "conflict_id": _value,
        "nature": _value,
        "similarity": _value,
        "evidence": _lines,
        "detected_at": _earlier,
        "reason": _value,
    },
    Kind.ARCHIVE: {
        **_SCOPE,
        "archive_id": _value,
        "compression_tag": _value,
        "compression_mode": _value,
        "compressed_at": _value,
        "turn_range": _value,
        "conversation_id": _value,
        "conversation_title": _value,
        "conversation_started": _value,
        "session_id": _value,
        "external_id": _value,
        "inherits_from": _lines,
        "records": _pairs,
    },
}
COMPRESSION_RULES: dict[str, _Rule] = {
    "compression_tag": _value,
    "compression_mode": _value,
    "compressed_at": _value,
    "turn_range": _value,
    "decisions_carried": _pairs,
    "decisions_dropped": _pairs,
    "threads_carried": _pairs,
    "threads_resolved": _pairs,
}
GROUPS: dict[Kind, dict[tuple[str, ...], _Choice]] = {
    Kind.THREAD: {_STATE: _thread_state},
    Kind.DECISION: {("status", "superseded_by", "revised_in"): _decision_state},
    Kind.LINEAGE: {("source_conversation_id", "target_conversation_id"): _either},
    Kind.CONFLICT: {("decision_a", "decision_b"): _either, ("status", "kept"): _conflict_state},
    Kind.ARCHIVE: {("content_sha256", "body"): _either},
}
