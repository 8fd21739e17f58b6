"""One change to the registry: load, decide, write, one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from forgekit.errors import ChangedError, NotFoundError, RuleError, TransitionError, UsageError
from forgekit.forge import COMMITTED, Forge, WriteOptions
from forgekit.frozen import frozen
from forgekit.ids import EntityId, conversation_id, is_id, normalise, project_id, timestamp
from forgekit.model.entities import Compression, Conflict, Conversation, Decision, Entity, entity_path
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import STATEMENT_LIMIT, one_line
from forgekit.times import LAST, Instant

if TYPE_CHECKING:
    from forgekit.store import Change, Outcome

E = TypeVar("E", bound=Entity)
Word = TypeVar("Word", bound=Enum)


@frozen(kw_only=True)
class Written:
    """What a use case wrote."""

    entity: Entity
    outcome: Outcome

    def view(self, forge: Forge) -> dict[str, object]:
        """Return the entity as the Python interface shows it."""
        from forgekit.insight.views import Derived

        return Derived(forge.registry()).view(self.entity)


SUBJECT_LIMIT = 100
_VERBS = {"new": "add"}


def commit_subject(operation: str, text: str = "") -> str:
    """Return a commit's first line: an operation and a text, in one printable line of `SUBJECT_LIMIT`.

    Args:
        operation: such as `decision: revise dec_b34bfcd74276`.
        text: of the entity; control and format characters are dropped, and what is too long is cut at a word.
    """
    printable = "".join(c if c.isprintable() else " " for c in f"{operation} {text}")
    line = normalise(printable)
    if len(line) <= SUBJECT_LIMIT:
        return line
    cut = line[:SUBJECT_LIMIT]
    words, _, rest = cut.rpartition(" ")
    keep = words if len(rest) < SUBJECT_LIMIT // 2 else cut[:-1]
    return keep.rstrip(" ,;:.") + "…"


def subject_of(operation: str, entities: Sequence[Entity], several: str) -> str:
    """Return a commit's first line: it names the only entity that a commit is about, or counts several."""
    if len(entities) != 1:
        return f"{operation} {len(entities)} {several}"
    return commit_subject(f"{operation} {short_id(entities[0].kind, entities[0].id)}", entities[0].title)


def write(
    forge: Forge,
    decide: Callable[[Registry], Sequence[Entity]],
    operation: str,
    options: WriteOptions = COMMITTED,
    texts: Callable[[Sequence[Entity]], Mapping[str, bytes]] | None = None,
    over: bool = False,
) -> Written:
    """Write what `decide` makes of the registry.

    Args:
        decide: returns the entities to write, the one that the command is about first; it runs again
            when another commit came first.
        operation: noun and verb, such as `decision revise`.
        options: dry run, without a commit, or only if nobody else was faster.
        texts: returns path -> bytes for files of these entities whose form is fixed.
        over: whether uncommitted files may be changed, as they were read.

    Raises ChangedError when `options.seen` has moved on.
    """
    from forgekit.store import Change

    def change() -> Change:
        registry = forge.registry()
        if options.seen is not None and registry.get(options.seen.id) != options.seen:
            raise ChangedError(entity_path(options.seen))
        entities = tuple(decide(registry))
        noun, _, verb = operation.partition(" ")
        first = entities[0]
        return Change(
            writes=entities,
            files=texts(entities) if texts is not None else {},
            over=_as_read(forge, registry, entities) if over else {},
            subject=commit_subject(
                f"{noun}: {_VERBS.get(verb, verb)} {short_id(first.kind, first.id)}", first.title
            ),
            trailers=(
                ("Forgekit-Op", operation),
                *(("Forgekit-Entity", entity.id) for entity in entities),
                *superseding(entities),
            ),
            result=entities,
        )

    outcome = forge.commit(change, options)
    return Written(entity=outcome.change.writes[0], outcome=outcome)


def _as_read(forge: Forge, registry: Registry, entities: Iterable[Entity]) -> dict[str, bytes]:
    """Return the bytes of the files of entities that hold what the registry does."""
    from forgekit.worktree import files

    there = ((entity, files.read_bytes(forge.root, entity_path(entity))) for entity in entities)
    return {
        entity_path(entity): data
        for entity, data in there
        if data is not None and files.parse(entity_path(entity), data)[0] == registry.get(entity.id)
    }


def superseding(entities: Sequence[Entity]) -> tuple[tuple[str, str], ...]:
    """Return the trailers that say which decision gave way to which in a conflict."""
    written = {entity.id for entity in entities}
    settled = [e for e in entities if isinstance(e, Conflict) and e.kept is not None]
    sides = [(c.decision_b if c.kept == c.decision_a else c.decision_a, c.kept) for c in settled]
    return tuple(("Forgekit-Superseded", f"{lost} by {kept}") for lost, kept in sides if lost in written)


@frozen(kw_only=True)
class Origin:
    """Where and when something is recorded.

    Attributes:
        conversation: None where none was named.
        at: event time: the one given, else the time in the conversation's id, else now.
        beside: the project and the conversation, where they have to be registered along.
    """

    project: str
    conversation: EntityId | None
    at: Instant
    beside: tuple[Entity, ...]


def origin_of(
    forge: Forge, registry: Registry, project: str | None, conversation: str | None, at: Instant | None
) -> Origin:
    """Return where and when something is recorded.

    Args:
        project: a project's name, else the conversation's, else the default or only one.
        conversation: any name of one, or the uuid of one that is not registered yet.

    Raises NotFoundError for a conversation that is not known and no uuid, UsageError as of `Forge.project`
    and `moment_of`.
    """
    known, external = None, ""
    if conversation:
        try:
            known = registry.get(forge.resolve(conversation, Kind.CONVERSATION))
        except NotFoundError:
            external = conversation.strip().lower()
            if not is_id(external):
                raise
    if project is None and isinstance(known, Conversation):
        name = known.project_name
    else:
        name = forge.project(project, registry) or ""
    source = known.id if known is not None else EntityId(external) if external else None
    given = moment_of("at", at)
    moment = given if given is not None else Instant(timestamp(source or EntityId("")) or forge.now())
    beside: list[Entity] = list(forge.new_project(name, registry))
    if external:
        own = timestamp(EntityId(external))
        source = EntityId(external) if own else conversation_id(project_id(name), external, moment)
        beside.append(
            Conversation(
                conversation_id=source,
                title=f"Conversation {external[-12:]}",
                project_name=name,
                project_uuid=project_id(name),
                created_at=Instant(own or moment),
                external_id=None if own else external,
            )
        )
    return Origin(project=name, conversation=source, at=moment, beside=tuple(beside))


def typed(text: str, more: str) -> str:
    """Return a typed text as the one line that a decision or a title is.

    Args:
        more: names the option that takes a longer text.

    Raises RuleError where it is too long, and where there is no word in it.
    """
    line = normalise(one_line(text))
    if line and not any(map(str.isalnum, line)):
        raise RuleError(f"there is no word in {line[:40]!r}; say it in words")
    if len(line) > STATEMENT_LIMIT:
        raise RuleError(
            f"the text has {len(line):,} characters, and {STATEMENT_LIMIT:,} is the most; "
            f"shorten it and put the rest into {more}"
        )
    return line


def word_of(words: type[Word], name: str, value: Word | str | None) -> Word | None:
    """Return the member of an enumeration that the argument `name` is or means; None for None.

    Raises UsageError for an unknown word.
    """
    if value is None or isinstance(value, words):
        return value
    known = {word.value: word for word in words}
    if value not in known:
        raise UsageError(f"{name}: {value!r} is none of {', '.join(known)}")
    return known[value]


def moment_of(name: str, value: object) -> Instant | None:
    """Return the time that the argument `name` is, None for None; raise UsageError for a text."""
    if value is None:
        return None
    if isinstance(value, int) and 0 <= value <= LAST:
        return Instant(value)
    raise UsageError(
        f"{name}: {value!r} is no time in milliseconds since 1970; "
        "`forgekit.times.parse_instant` reads a text such as 2026-03-04T16:20:00Z"
    )


def unclaimed(entity: E, registry: Registry) -> E:
    """Return a new entity; raise RuleError where another has its id, made from words that it had once."""
    taken = registry.get(entity.id)
    if taken is not None:
        raise RuleError(
            f"{short_id(taken.kind, taken.id)} already has this id (its title is now {taken.title!r}); "
            "use it, or pass another title or another --conversation"
        )
    return entity


def require_same(existing: E, part: Compression | None = None, **given: object) -> E:
    """Return the entity that is registered already, so that creating it again changes nothing.

    Args:
        part: the entry of it that is meant, where it has several.
        given: values by attribute; None, "" and () where none was given.

    Raises RuleError where a given value differs from the existing one.
    """

    def differs(name: str, value: object) -> bool:
        known = getattr(part or existing, name)
        return set(value) != set(known) if isinstance(value, tuple) else value != known

    other = [name for name, value in given.items() if value not in {None, "", ()} and differs(name, value)]
    if other:
        short = short_id(existing.kind, existing.id)
        raise RuleError(
            f"{short} exists with other values ({', '.join(other)}); "
            f"change it by `forgekit {existing.kind.value} edit {short}`"
        )
    return existing


def require_active(registry: Registry, decision: Decision, then: str = "") -> Decision:
    """Require an active decision; raise TransitionError, with its successor and `then`, for another."""
    if not decision.status.ended:
        return decision
    from forgekit.insight.project_state import ended_note, last_successor

    successor = last_successor(registry, decision)
    hint = ""
    if successor:
        hint = f"; in its place: {ended_note(successor) or short_id(Kind.DECISION, successor.id)}"
    raise TransitionError(f"{short_id(Kind.DECISION, decision.id)} is {decision.status.value}{hint}{then}")


def without_circle(entity: E, others: Iterable[Entity]) -> E:
    """Return an entity to be written; raise RuleError where its references, among others, form a cycle."""
    from forgekit.checks import CheckInput, no_cycles

    given = CheckInput(only=frozenset({entity_path(entity)}))
    for problem in no_cycles(Registry.of([*others, entity]), given):
        raise RuleError(f"{problem.field}: {problem.message}; {problem.fix}")
    return entity
