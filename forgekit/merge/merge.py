"""The three-way merge of one entity's states and files, and the rules for values and groups of fields.

The declarations in `model.entities` name the rule of each field. A rule is asked only where both sides
changed the value, each in its own way.

A file is read, merged by fields and written canonically; comments in the front matter go along. What comes
out can always be read again: if one of two files cannot be read, the other is kept, with the whole text of
the first among its conflicting edits. The merge driver and `forgekit sync` share this.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar, cast

from forgekit.errors import FormatError, RuleError
from forgekit.frozen import frozen
from forgekit.ids import EntityId
from forgekit.merge.conflicting_edits import (
    HEADING,
    PREAMBLE,
    FieldConflict,
    entries,
    entry_of,
    fields_in_conflict,
    label_of,
    line_of,
    listed,
    name_of,
    put,
    quoted,
    split_entries,
)
from forgekit.merge.revisions import ANSWERS
from forgekit.model.entities import (
    COMPRESSION,
    FIELDS,
    Archive,
    Candidate,
    CandidateStatus,
    Conflict,
    ConflictStatus,
    Convention,
    ConventionOrigin,
    ConventionStatus,
    Conversation,
    Decision,
    DecisionStatus,
    Entity,
    Note,
    Thread,
    ThreadStatus,
    Topic,
    TranscriptPart,
    group_fields,
)
from forgekit.model.fields import Field, Merge
from forgekit.model.kinds import Kind
from forgekit.model.rules import UNSETTLED_KEY, parts, section
from forgekit.text import codec, edit, frontmatter
from forgekit.text.secrets import redact
from forgekit.times import UNKNOWN

E = TypeVar("E", bound=Entity)


@frozen(kw_only=True)
class Merged(Generic[E]):
    """A merged entity (None: deleted), valid even where conflicts are left.

    Attributes:
        conflicts: what a person has to choose.
        overridden: what a rule on times or states decided.
    """

    entity: E | None
    conflicts: tuple[FieldConflict, ...] = ()
    overridden: tuple[FieldConflict, ...] = ()


class Sides(NamedTuple):
    """One value in the base and on both sides."""

    base: Any
    ours: Any
    theirs: Any


ABSENT = object()
"""The value of a key that is not in a map."""


class Ledger:
    """The conflicts and decisions of one merge.

    Args:
        symmetric: whether the winner of a conflict follows from the values alone; else ours wins.
        settled: names of the conflicting edits that both sides took out: where they left different values,
            each chose, though one of them chose what was there.
    """

    def __init__(self, *, symmetric: bool, settled: Collection[str] = ()) -> None:
        self.symmetric = symmetric
        self.settled = settled
        self.conflicts: list[FieldConflict] = []
        self.overridden: list[FieldConflict] = []

    def preferred(self, sides: Sides) -> Any:
        """Return the winner where no rule names one."""
        return max(sides.ours, sides.theirs, key=_weight) if self.symmetric else sides.ours

    def note(self, where: list[FieldConflict], name: str, sides: Sides, winner: Any) -> Any:
        """Record a field's winner and loser, and return the winner."""
        loser = sides.theirs if winner is sides.ours else sides.ours
        base, kept, loser = (None if each is ABSENT else each for each in (sides.base, winner, loser))
        where.append(FieldConflict(field=name, base=base, winner=kept, loser=loser))
        return winner


Rule = Callable[[str, Sides, Ledger], Any]
"""Merges a named value that both sides changed."""


def _weight(value: Any) -> tuple[bool, str]:
    """Order values of one field: something over nothing, then by text."""
    if value is None or value is ABSENT:
        return False, ""
    if isinstance(value, Enum):
        value = value.value
    return True, value if isinstance(value, str) else repr(value)


def settle(sides: Sides, otherwise: Callable[[], Any]) -> Any:
    """Return the value where at most one side changed it, else what `otherwise` returns."""
    if sides.theirs == sides.ours:
        # Equal maps may differ in order, equal numbers in sign: the same one from either side.
        varied = isinstance(sides.ours, (dict, list, float))
        return max(sides.ours, sides.theirs, key=repr) if varied else sides.ours
    if sides.theirs == sides.base:
        return sides.ours
    return sides.theirs if sides.ours == sides.base else otherwise()


def united(sides: Sides) -> set[Any]:
    """Return what either side added and neither removed."""
    base, ours, theirs = (set(side or ()) for side in sides)
    return (ours & theirs) | (ours - base) | (theirs - base)


def _ordered(kept: Iterable[Any], sides: Sides) -> list[Any]:
    """Return keys in an order that does not depend on which side is ours, nor change when merged again."""
    keys = set(kept)
    whole = [list(dict.fromkeys(side or ())) for side in sides[1:] if set(side or ()) == keys]
    if whole:
        return min(whole)
    shared = keys.intersection(*(side or () for side in sides))
    orders = Sides._make(list(dict.fromkeys(key for key in side or () if key in shared)) for side in sides)
    return [*settle(orders, lambda: min(orders.ours, orders.theirs)), *sorted(keys - shared)]


def _choose(name: str, sides: Sides, ledger: Ledger) -> Any:
    return ledger.note(ledger.conflicts, name, sides, ledger.preferred(sides))


def _most(order: Callable[[Any], Any]) -> Rule:
    """Return the rule by which the value that comes last in an order wins."""

    def rule(name: str, sides: Sides, ledger: Ledger) -> Any:
        return ledger.note(ledger.overridden, name, sides, max(sides.ours, sides.theirs, key=order))

    return rule


def _pairs(name: str, sides: Sides, ledger: Ledger) -> Any:
    """Merge (local id, id) pairs; without a local id the id is the key, as in the file."""
    maps = ({local or entity: (local, entity) for local, entity in side or ()} for side in sides)
    return tuple(keyed(f"{name}.", Sides._make(maps), ledger).values())


def _entries(name: str, sides: Sides, ledger: Ledger) -> Any:
    """Merge compressions by tag, and each field by field."""

    def entry(where: str, entries: Sides, ledger: Ledger) -> Any:
        base = None if entries.base is ABSENT else entries.base
        values = merge_fields(COMPRESSION, entries._replace(base=base), ledger, f"{where}.")
        return dataclasses.replace(entries.ours, **values)

    maps = ({entry.compression_tag: entry for entry in side or ()} for side in sides)
    return tuple(keyed(f"{name}.", Sides._make(maps), ledger, entry).values())


_RULES: Mapping[Merge, Rule] = {
    Merge.CHOOSE: _choose,
    Merge.EARLIER: _most(lambda moment: (moment != UNKNOWN, -moment)),
    Merge.LATER: _most(lambda moment: moment),
    Merge.GREATER: _most(lambda number: -1 if number is None else number),
    Merge.SET: lambda _name, sides, _ledger: tuple(sorted(united(sides))),
    Merge.LIST: lambda _name, sides, _ledger: tuple(_ordered(united(sides), sides)),
    Merge.PAIRS: _pairs,
    Merge.ENTRIES: _entries,
}


def keyed(where: str, maps: Sides, ledger: Ledger, rule: Rule = _choose) -> dict[str, Any]:
    """Merge maps key by key; a key that one side removed and the other changed stays, as a conflict."""

    def merged(key: str) -> Any:
        sides = Sides._make(side.get(key, ABSENT) for side in maps)
        if label_of(where + key) in ledger.settled:
            sides = sides._replace(base=ABSENT)

        def both() -> Any:
            if ABSENT in (sides.ours, sides.theirs):
                winner = sides.theirs if sides.ours is ABSENT else sides.ours
                return ledger.note(ledger.conflicts, where + key, sides, winner)
            return rule(where + key, sides, ledger)

        return settle(sides, both)

    found = {key: merged(key) for key in sorted({key for side in maps for key in side})}
    kept = {key: item for key, item in found.items() if item is not ABSENT}
    order = settle(Sides._make(list(side) for side in maps), lambda: _ordered(kept, maps))
    return {key: kept[key] for key in dict.fromkeys((*order, *kept)) if key in kept}


def merge_fields(
    fields: tuple[Field, ...], entities: Sides, ledger: Ledger, where: str = ""
) -> dict[str, Any]:
    """Merge the fields that belong to no group; `where` is the prefix of their names in conflicts."""

    def merged(field: Field) -> Any:
        sides = _values(field.name, entities, ledger)
        return settle(sides, lambda: _RULES[field.rule](where + field.name, sides, ledger))

    return {field.name: merged(field) for field in fields if not field.together}


def merge_groups(kind: Kind, entities: Sides, ledger: Ledger) -> dict[str, Any]:
    """Merge the groups of fields whose values come from one side together."""
    values: dict[str, Any] = {}
    for group in dict.fromkeys(field.together for field in FIELDS[kind] if field.together):
        names = group_fields(kind, group)
        values |= _merge_group(names, CHOICES.get((kind, group)), entities, ledger)
    return values


def _merge_group(
    names: tuple[str, ...], choose: Choice | None, entities: Sides, ledger: Ledger
) -> dict[str, Any]:
    each = {name: _values(name, entities, ledger) for name in names}
    sides = Sides._make(zip(*each.values(), strict=True))

    def chosen() -> Any:
        side, clash = choose(entities.ours, entities.theirs) if choose else (None, True)
        if side is None:
            winner = ledger.preferred(sides)
        else:
            winner = sides.ours if side is entities.ours else sides.theirs
        for (name, found), kept in zip(each.items(), winner, strict=True):
            loser = found.theirs if winner is sides.ours else found.ours
            if loser != kept and (clash or loser != found.base):
                ledger.note(ledger.conflicts if clash else ledger.overridden, name, found, kept)
        return winner

    return dict(zip(names, settle(sides, chosen), strict=True))


def _values(name: str, entities: Sides, ledger: Ledger) -> Sides:
    """Return one field of each; where there is no base, or both sides chose, it is unset there."""
    ours, theirs = getattr(entities.ours, name), getattr(entities.theirs, name)
    unset = () if () in (ours, theirs) else None
    without = entities.base is None or name in ledger.settled
    return Sides(unset if without else getattr(entities.base, name), ours, theirs)


Choice = Callable[[Any, Any], tuple[Any, bool]]
"""Returns the entity whose group wins (None: no rule decides) and whether that is a conflict."""

_THREAD_ORDER = (ThreadStatus.RESOLVED, ThreadStatus.SUPERSEDED, ThreadStatus.ABANDONED, ThreadStatus.OPEN)
_DECISION_ORDER = (
    DecisionStatus.SUPERSEDED,
    DecisionStatus.REVISED,
    DecisionStatus.INVALIDATED,
    DecisionStatus.ACTIVE,
)


def thread_state(ours: Thread, theirs: Thread) -> tuple[Thread, bool]:
    """Choose the state with the later `updated_at`.

    So an end wins over OPEN unless the thread was reopened after it: an archive that merely repeats OPEN
    changes no state and is never later. Ties: resolved, superseded, abandoned, open; then the smaller
    `resolved_in`, none coming last.
    """

    def rank(thread: Thread) -> tuple[Any, ...]:
        place = thread.resolved_in is None, thread.resolved_in or ""
        return -thread.updated_at, _THREAD_ORDER.index(thread.status), *place

    return min(ours, theirs, key=rank), False


def _decision_state(ours: Decision, theirs: Decision) -> tuple[Decision, bool]:
    """Choose an end over active; two ends are a conflict.

    Until it is resolved: superseded, revised, invalidated; then the smaller `superseded_by`, then the
    smaller `revised_in`, none coming last.
    """

    def rank(decision: Decision) -> tuple[Any, ...]:
        links = decision.superseded_by, decision.revised_in
        return _DECISION_ORDER.index(decision.status), *((link is None, link or "") for link in links)

    return min(ours, theirs, key=rank), ours.status.ended and theirs.status.ended


def _answer_over(unanswered: Enum) -> Choice:
    """Choose any answer over none, and one by which an entity was registered over one by which none was.

    Two such answers, or two changes without one, are a conflict.
    """

    def weight(one: Conflict | Candidate) -> tuple[bool, bool]:
        return one.status is not unanswered, isinstance(one, Candidate) and one.became is not None

    def choose(ours: Conflict | Candidate, theirs: Conflict | Candidate) -> tuple[Any, bool]:
        if weight(ours) == weight(theirs):
            return None, True
        return max(ours, theirs, key=weight), False

    return choose


def _convention_state(ours: Convention, theirs: Convention) -> tuple[Convention, bool]:
    """Choose what a person answered, the later answer first, then any answer, then the surer source.

    A person chooses between two different answers of people.
    """

    def rank(one: Convention) -> tuple[Any, ...]:
        answered = one.status is not ConventionStatus.PROPOSED
        sure = -list(ConventionOrigin).index(one.origin), one.confidence
        return one.answered_at or 0, answered, sure, one.status.value, one.superseded_by or ""

    disagree = ours.status is not theirs.status and None not in {ours.answered_at, theirs.answered_at}
    return max(ours, theirs, key=rank), disagree


def longer_text(ours: TranscriptPart, theirs: TranscriptPart) -> tuple[TranscriptPart, bool]:
    """Choose the text that covers more turns, then the longer one, then the greater one."""
    return max(ours, theirs, key=lambda part: (part.turn_range[::-1], len(part.body), part.body)), False


def same_archive(one: Archive, other: Archive) -> bool:
    """Say whether two texts differ in line ends, blank lines around them or redactions at most."""
    return one.content_sha256 == other.content_sha256 or bare_text(one) == bare_text(other)


def bare_text(archive: Archive) -> str:
    """Return an archive's text without what does not tell it from another."""
    return redact(archive.body).text.replace("\r\n", "\n").strip("\ufeff \t\r\n\v\f")


def _archive_text(ours: Archive, theirs: Archive) -> tuple[Archive | None, bool]:
    """Choose the shorter form of one text; a person chooses between two texts."""
    if not same_archive(ours, theirs):
        return None, True
    return min(ours, theirs, key=lambda each: (len(each.body), each.body, each.content_sha256)), False


def _one_of_two_makers(
    ours: Note | Conversation | Topic, theirs: Note | Conversation | Topic
) -> tuple[Any, bool]:
    """Choose either: what was made of another text than the merged one is made again."""
    group = "digest" if ours.kind is Kind.TOPIC else "essence"
    names = group_fields(ours.kind, group)
    return max(ours, theirs, key=lambda e: [str(getattr(e, name)) for name in names]), False


CHOICES: Mapping[tuple[Kind, str], Choice] = {
    (Kind.THREAD, "state"): thread_state,
    (Kind.DECISION, "state"): _decision_state,
    (Kind.CONFLICT, "state"): _answer_over(ConflictStatus.OPEN),
    (Kind.CANDIDATE, "state"): _answer_over(CandidateStatus.WAITING),
    (Kind.NOTE, "essence"): _one_of_two_makers,
    (Kind.CONVERSATION, "essence"): _one_of_two_makers,
    (Kind.TOPIC, "digest"): _one_of_two_makers,
    (Kind.CONVENTION, "state"): _convention_state,
    (Kind.ARCHIVE, "text"): _archive_text,
    (Kind.TRANSCRIPT, "text"): longer_text,
}
"""Any other group that both sides changed is a conflict."""


RESOLUTION = "## Resolution"
"""The section of a thread about how it ended."""


def merge(base: E | None, ours: E | None, theirs: E | None) -> Merged[E]:
    """Merge changes made elsewhere into an entity that people edit: in a conflict ours wins.

    Args:
        base: the state both come from; None where both sides made the entity.
        ours, theirs: None where that side deleted it.

    Raises ValueError when they are not states of one entity.
    """
    return _merged(Sides(base, ours, theirs), Ledger(symmetric=False))


def reconcile(base: E | None, ours: E | None, theirs: E | None) -> Merged[E]:
    """Merge the states of two clones: the same from either side, with losing values kept in the entity.

    Arguments and errors as of `merge`.
    """
    sides = Sides(base, ours, theirs)
    return _merged(sides, Ledger(symmetric=True, settled=_settled(sides)))


def _settled(sides: Sides) -> frozenset[str]:
    """Return the names of the conflicting edits that both sides took out."""
    if None in sides or not fields_in_conflict(sides.base):
        return frozenset()
    if sides.ours.kind.quoted:
        before, *after = map(listed, sides)
    else:
        before, *after = (split_entries(side.body)[1] for side in sides)
    return frozenset(map(name_of, before.difference(*after)))


def _merged(sides: Sides, ledger: Ledger) -> Merged[Any]:
    base, ours, theirs = sides
    if len({(entity.kind, entity.id) for entity in sides if entity is not None}) > 1:
        raise ValueError("only states of one entity can be merged")
    if ours == theirs:
        # Equal states may differ in the order of unknown keys: the same one from either side.
        return Merged(entity=max(ours, theirs, key=repr))
    if base in (ours, theirs):
        return Merged(entity=theirs if ours == base else ours)
    if ours is None or theirs is None:
        changed = theirs if ours is None else ours
        conflict = FieldConflict(field="", base=base, winner=changed, loser=None)
        return Merged(entity=changed, conflicts=(conflict,))
    kind = ours.kind
    values = merge_fields(FIELDS[kind], sides, ledger) | merge_groups(kind, sides, ledger)
    if isinstance(ours, Decision):
        _note_validation(sides, ledger)
    if isinstance(ours, Conflict):
        _note_unseen_answers(sides, values["status"], ledger)
    values["extra"] = _extra(kind, sides, ledger)
    if not kind.quoted:
        values["body"] = _body(kind, sides, ledger)
    return Merged(
        entity=dataclasses.replace(ours, **values),
        conflicts=tuple(ledger.conflicts),
        overridden=tuple(ledger.overridden),
    )


def _note_validation(sides: Sides, ledger: Ledger) -> None:
    """Record where one side confirmed a decision that the other ended."""
    base, *both = sides
    ended = [side for side in both if side.status.ended]
    held = [side for side in both if not side.status.ended]
    if base and ended and held and not base.status.ended and held[0].last_validated > base.last_validated:
        lost = FieldConflict(field="status", base=base.status, winner=ended[0].status, loser=held[0].status)
        ledger.overridden.append(lost)


def _note_unseen_answers(sides: Sides, status: ConflictStatus, ledger: Ledger) -> None:
    """Record where one side answered a verdict, and the other opened it again for answers unknown to it."""
    base, *both = (set(section(side.body, ANSWERS).splitlines()) if side else set() for side in sides)
    for side, other in ((0, 1), (1, 0)):
        is_open = sides[1 + side].status is ConflictStatus.OPEN
        if is_open and status is not ConflictStatus.OPEN and both[side] - both[other] - base:
            loser = ConflictStatus.OPEN
            ledger.conflicts.append(FieldConflict(field="status", base=loser, winner=status, loser=loser))


def _extra(kind: Kind, entities: Sides, ledger: Ledger) -> dict[str, Any]:
    """Merge unknown keys; a kind whose body is not ours to write in has its conflicting edits there."""
    maps = Sides._make({} if entity is None else dict(entity.extra) for entity in entities)
    for extra in maps:
        extra.pop(UNSETTLED_KEY, None)
    merged = keyed("", maps, ledger)
    if kind.quoted:
        noted = united(Sides._make(listed(entity) for entity in entities))
        if ledger.symmetric:
            noted |= {line_of(kind, found) for found in ledger.conflicts if found.field != "body"}
        if noted:
            merged[UNSETTLED_KEY] = sorted(noted)
    return merged


def _body(kind: Kind, entities: Sides, ledger: Ledger) -> str:
    """Merge bodies section by section; a thread's resolution comes from the side whose state won."""
    bodies = Sides._make("" if entity is None else entity.body for entity in entities)
    maps = Sides._make(_sections(body) for body in bodies)
    noted = united(Sides._make(entries(side.pop(HEADING, "")) for side in maps))
    winner = _winner(entities)
    if winner is not None:
        won, lost = (maps.ours, maps.theirs) if winner is entities.ours else (maps.theirs, maps.ours)
        base, kept, other = maps.base.get(RESOLUTION), won.get(RESOLUTION), lost.pop(RESOLUTION, None)
        if other not in {None, base, kept}:
            ledger.conflicts.append(FieldConflict(field=RESOLUTION, base=base, winner=kept, loser=other))
        if kept is not None:
            lost[RESOLUTION] = kept
    sections = keyed("", maps, ledger)
    new = {entry_of(kind, found) for found in ledger.conflicts} if ledger.symmetric else set()
    if winner is None and new <= noted:
        return str(settle(bodies, lambda: _joined(sections, noted)))
    return _joined(sections, noted | new)


def _winner(entities: Sides) -> Thread | None:
    """Return the thread whose state a rule chose over the other's, where one of them has ended."""
    ours, theirs = entities.ours, entities.theirs
    if not isinstance(ours, Thread) or not (ours.status.ended or theirs.status.ended):
        return None
    names = group_fields(Kind.THREAD, "state")
    state = Sides._make([getattr(entity, name, None) for name in names] for entity in entities)
    return thread_state(ours, theirs)[0] if settle(state, lambda: None) is None else None


def _sections(body: str) -> dict[str, str]:
    """Return the text of each section, heading included; those of one name count as one."""
    out: dict[str, str] = {}
    for name, text in parts(body):
        key = PREAMBLE if name is None else f"## {name}"
        out[key] = f"{out[key]}\n\n{text}".strip("\n") if key in out else text.strip("\n")
    return {key: text for key, text in out.items() if text}


def _joined(sections: dict[str, str], chosen: set[str]) -> str:
    preamble = sections.pop(PREAMBLE, "")
    return put("\n\n".join(text for text in (preamble, *sections.values()) if text), chosen)


UNREADABLE = "unreadable file"


@frozen(kw_only=True)
class MergedFile:
    """A merged file (None: deleted), as `Merged`."""

    data: bytes | None
    conflicts: tuple[FieldConflict, ...] = ()
    overridden: tuple[FieldConflict, ...] = ()


@frozen()
class _Read:
    """A file that could be read."""

    text: str
    entity: Entity
    comments: frozenset[str]


def merge_file(
    kind: Kind, owner: EntityId, base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> MergedFile:
    """Merge the states of one entity's file, whose path has the owner's id; as `reconcile`.

    Raises FormatError when neither side can be read, or the result would be too large to be.
    """
    if theirs in (ours, base):
        return MergedFile(data=ours)
    if ours == base:
        return MergedFile(data=theirs)
    if ours is None or theirs is None:
        changed = theirs if ours is None else ours
        conflict = FieldConflict(field="", base=None, winner="changed", loser="deleted")
        return MergedFile(data=changed, conflicts=(conflict,))
    first, second = _read_file(kind, owner, ours), _read_file(kind, owner, theirs)
    if isinstance(first, FormatError) or isinstance(second, FormatError):
        return _beside(first, second, ours, theirs)
    known = None if base is None else _read_file(kind, owner, base)
    start = known if isinstance(known, _Read) else None
    merged = reconcile(None if start is None else start.entity, first.entity, second.entity)
    assert merged.entity is not None  # noqa: S101 - neither side deleted it
    sides = Sides(start.comments if start else (), first.comments, second.comments)
    data = _written(merged.entity, (first, second), united(sides))
    return MergedFile(data=data, conflicts=merged.conflicts, overridden=merged.overridden)


def _read_file(kind: Kind, owner: EntityId, data: bytes) -> _Read | FormatError:
    try:
        text = frontmatter.decode(data)
        entity = codec.loads(kind, text)
        if entity.id != owner:
            return FormatError("is not the id in the file's name", field=kind.id_field)
        return _Read(text, entity, frozenset(edit.comments(text)))
    except FormatError as e:
        return e


def _beside(
    first: _Read | FormatError, second: _Read | FormatError, ours: bytes, theirs: bytes
) -> MergedFile:
    """Keep the side that can be read, with the text of the other among its conflicting edits."""
    good, raw = (first, theirs) if isinstance(first, _Read) else (second, ours)
    if not isinstance(good, _Read) or good.entity.kind.quoted:
        raise first if isinstance(first, FormatError) else cast(FormatError, second)
    text = frontmatter.decode(raw).replace("\r\n", "\n").replace("\r", "\n")
    rest, kept = split_entries(good.entity.body)
    body = put(rest, {*kept, quoted(UNREADABLE, text)})
    entity: Entity = dataclasses.replace(cast(Any, good.entity), body=body)
    conflict = FieldConflict(field=UNREADABLE, base=None, winner=good.text, loser=text)
    return MergedFile(data=_written(entity, (good,), set(good.comments)), conflicts=(conflict,))


def _written(entity: Entity, sides: tuple[_Read, ...], wanted: set[str]) -> bytes:
    """Return the file of a merged entity: a side's own where it is equal, else written anew."""
    same = [side.text for side in sides if side.entity == entity and side.comments == wanted]
    if same:
        text = max(same)
    elif not wanted:
        text = codec.dumps(entity)
    else:
        text = _with_comments(entity, sides, wanted)
    data = text.encode()
    frontmatter.decode(data)  # what is too large to be read is not written
    return data


def _with_comments(entity: Entity, sides: tuple[_Read, ...], wanted: set[str]) -> str:
    """Return the side's text that holds most of the comments, edited; those it lacks go at the end."""
    most = max(sides, key=lambda side: (len(side.comments & wanted), side.text))
    try:
        text = edit.update(most.text, entity)
    except RuleError:  # a form that cannot be edited in place
        text = codec.dumps(entity)
    return edit.with_comments(text, sorted(wanted.difference(edit.comments(text))))
