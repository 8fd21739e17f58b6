"""The checks of a registry: pure functions that find what is wrong and how to fix it, listed in `CHECKS`.

A check takes a registry and a `CheckInput`; it looks at `input.subjects(registry)` and yields problems with
path and field. Lines are added by `locate`, from the texts of the files. `fixes` plans what needs no person.
The name of a file is checked when it is read.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field, fields, replace
from functools import cache
from itertools import islice
from typing import Any

from forgekit import ids
from forgekit.errors import FormatError
from forgekit.frozen import frozen
from forgekit.ids import EntityId, body_sha256, match_key, pair_id, project_id, timestamp
from forgekit.merge import conflicting_edits
from forgekit.model.entities import (
    Archive,
    Conflict,
    ConflictStatus,
    Convention,
    Decision,
    DecisionStatus,
    Entity,
    Lineage,
    Project,
    Thread,
    ThreadStatus,
    entity_path,
    known_fields,
    references,
)
from forgekit.model.graph import Graph, cycles, lineage_graph
from forgekit.model.kinds import Kind, path_of, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.model.rules import EARLIER, UNSETTLED, UNSETTLED_KEY, added_sections, near_miss, parts, section
from forgekit.text import codec, frontmatter
from forgekit.text.secrets import find
from forgekit.times import Instant

_SHOWN = 5
_KEYS_LOOKED_AT = 100
# Bidirectional overrides and isolates; zero-width space and word joiner; tag characters; the variation
# selectors that carry hidden bytes; controls, which a terminal obeys. Joiners and marks that scripts and
# emoji need are left alone.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u202a-\u202e\u2060-\u2069\ufeff"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)


@frozen(kw_only=True, slots=False)
class CheckInput:
    """What a check may know beside the registry.

    Attributes:
        texts: the files whose wording is to be checked, by path; may hold a part of them.
        only: the paths to look at, or None for all. References out of them are followed too.
        allowed: fingerprints of what looks like a secret and is allowed.
        committed: for a decision edited in place its last version whose text gives its id, where known.
        before: threads as the last commit has them, where their files differ from it.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    only: frozenset[str] | None = None
    allowed: frozenset[str] = frozenset()
    committed: Mapping[EntityId, Decision] = field(default_factory=dict)
    before: Mapping[EntityId, Thread] = field(default_factory=dict)

    def subjects(self, registry: Registry) -> Iterable[Entity]:
        """Return the entities to look at."""
        if self.only is None:
            return registry
        names = sorted(path.rpartition("/")[2].removesuffix(".md") for path in self.only)
        named = (registry.get(EntityId(name)) for name in names)
        return [entity for entity in named if entity is not None and self.wants(entity_path(entity))]

    def wants(self, path: str) -> bool:
        """Say whether findings about a path are asked for."""
        return self.only is None or path in self.only


def finding(entity: Entity, code: str, message: str, field: str = "", fix: str = "", **more: Any) -> Problem:
    """Make a problem about an entity; arguments are attributes of Problem."""
    return Problem(code=code, message=message, path=entity_path(entity), field=field, fix=fix, **more)


def text_gives_id(decision: Decision) -> bool:
    """Say whether a decision's text and origin give its id at the time that the id holds."""
    origin = decision.originated_in or EntityId("")
    at = timestamp(decision.id)
    return ids.decision_id(decision.project_uuid, decision.decision, origin, at) == decision.id


def derivations(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find ids that do not follow from what they name.

    Titles of threads may be edited, and conversations may bear an id given by their archive.
    """
    for entity in given.subjects(registry):
        expected, basis = _expected(entity)
        if expected != entity.id:
            message = f"the id should be {expected}, from {basis}"
            fix = "undo the change to what the id is made from"
            if isinstance(entity, Project):
                fix = "undo the change: a project keeps its name, from which the ids of its records follow"
            yield finding(entity, "id-derivation", message, entity.kind.id_field, fix)


def _expected(entity: Entity) -> tuple[EntityId, str]:
    """Return the id that an entity should have, and what it is made from."""
    match entity:
        case Project():
            return project_id(entity.project_name), "project_name"
        case Lineage():
            ends = entity.source_conversation_id, entity.target_conversation_id
            return pair_id(*ends), "source_conversation_id and target_conversation_id"
        case Conflict():
            return pair_id(*entity.sides), "decision_a and decision_b"
        case Convention():
            return ids.convention_id(entity.project_uuid, entity.convention), "project_uuid and convention"
        case Archive():
            turns = "{}-{}".format(*entity.turn_range) if entity.turn_range else "all"
            made = ids.archive_id(entity.project_uuid, entity.conversation_id, turns, entity.compressed_at)
            return made, "project_uuid, conversation_id, turn_range and compressed_at"
        case _:
            return entity.id, ""


def edited_in_place(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find decisions whose text, or what else gives their id, was changed without becoming a revision."""
    for entity in given.subjects(registry):
        if not isinstance(entity, Decision) or text_gives_id(entity):
            continue
        old = given.committed.get(entity.id)
        message = "the text was changed under the same id; a new text is a new decision"
        name, fix = "decision", "undo the edit"
        fixable = old is not None and _revised_id(registry, entity, old, Instant(0)) is not None
        if fixable:
            fix = "`forgekit check --fix` turns the edit into a revision"
        elif old is None:
            message = "the text, originated_in or project_uuid was changed, and the id is made from them"
        elif _same_text(entity, old):
            name = "originated_in" if entity.originated_in != old.originated_in else "project_uuid"
            message = "was changed, and the id is made from it"
        yield finding(entity, "edited-in-place", message, name, fix, fixable=fixable)


def _revised_id(registry: Registry, edited: Decision, old: Decision, now: Instant) -> EntityId | None:
    """Return the id that an edited text has as a decision of its own, or None where the edit is to be undone.

    Args:
        edited: whose text does not give its id.
        old: the same decision, when its text gave the id.
    """
    if old.status.ended or _same_text(edited, old):
        return None
    active = registry.with_status(Decision, DecisionStatus.ACTIVE.value, old.project_uuid)
    if any(_same_text(each, edited) for each in active if each.id != old.id):
        return None
    new = ids.decision_id(old.project_uuid, edited.decision, EntityId(""), now)
    return None if new in registry.entities else new


def _same_text(one: Decision, other: Decision) -> bool:
    return ids.normalise(one.decision) == ids.normalise(other.decision)


def projects_agree(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find entities whose project name and project id belong to two projects."""
    for entity in given.subjects(registry):
        if isinstance(entity, (Conflict, Project)):
            continue
        project = registry.get(entity.project_uuid)
        if isinstance(project, Project) and project.id == project_id(project.project_name):
            agrees = entity.project_name == project.project_name
            named = f"the project {project.project_name!r}"
        else:
            agrees = entity.project_uuid == project_id(entity.project_name)
            named = "another project"
        if not agrees:
            message = f"is {entity.project_name!r}, but project_uuid belongs to {named}"
            yield finding(entity, "project-mismatch", message, "project_name", "make the two agree")


def references_exist(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find ids that nothing answers to, or the wrong kind; a file that cannot be read is no broken one."""
    unread = {p.path for p in registry.problems if p.severity is Severity.ERROR}
    for entity in given.subjects(registry):
        for name, target, kinds in dict.fromkeys(references(entity)):
            found = registry.get(target)
            wanted = " or ".join(kind.value for kind in kinds)
            if found is None and unread.isdisjoint(path_of(kind, target) for kind in Kind):
                message, fix = f"no {wanted} has the id {target}", "restore its file, or take the id out"
                yield finding(entity, "broken-reference", message, name, fix)
            elif found is not None and found.kind not in kinds:
                message = f"{_name(registry, target)} is a {found.kind.value}, and a {wanted} belongs here"
                yield finding(entity, "broken-reference", message, name)


def _name(registry: Registry, entity: EntityId) -> str:
    """Return the short id of an entity that may be missing."""
    found = registry.get(entity)
    return short_id(found.kind, entity) if found else entity


# Fields by which an entity can lead back to itself, and how a message begins.
_CHAINS = (
    (Decision, "dependencies", "decisions depend on"),
    (Decision, "superseded_by", "decisions replace"),
    (Thread, "blocked_by", "threads wait for"),
    (Convention, "superseded_by", "conventions replace"),
)


def no_cycles(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find decisions, threads and conversations that lead back to themselves."""
    subjects = list(given.subjects(registry))
    for kind, name, what in _CHAINS:
        group_of = _in_cycles(registry, [e for e in subjects if isinstance(e, kind)], name)
        for entity in subjects:
            if entity.id in group_of:
                yield _cycle(registry, entity, group_of[entity.id], name, what)
    edges = [e for e in subjects if isinstance(e, Lineage)]
    group_of = {node: group for group in cycles(lineage_graph(registry)) for node in group} if edges else {}
    for edge in edges:
        group = group_of.get(edge.source_conversation_id, ())
        if edge.target_conversation_id in group:
            yield _cycle(registry, edge, group, "target_conversation_id", "conversations continue")


def _in_cycles(
    registry: Registry, subjects: Iterable[Entity], name: str
) -> dict[EntityId, tuple[EntityId, ...]]:
    """Return the cycle of each entity that the subjects lead to through a field and that lies on one."""
    edges = []
    todo = list(subjects)
    seen = {entity.id for entity in todo}
    while todo:
        entity = todo.pop()
        value = getattr(entity, name, None) or ()
        for target in value if isinstance(value, tuple) else (value,):
            edges.append((entity.id, target))
            found = registry.get(target)
            if found is not None and target not in seen:
                seen.add(target)
                todo.append(found)
    return {node: group for group in cycles(Graph.of(edges)) for node in group}


def _cycle(registry: Registry, entity: Entity, group: tuple[EntityId, ...], name: str, what: str) -> Problem:
    names = ", ".join(_name(registry, node) for node in group[:_SHOWN])
    more = f" and {len(group) - _SHOWN} more" if len(group) > _SHOWN else ""
    fix = "take one of these references out"
    fix += " and make that decision `active`" if name == "superseded_by" else ""
    return finding(entity, "cycle", f"{what} each other in a circle: {names}{more}", name, fix)


def status_fields(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find states that do not say what a reader will ask next, and a validation before the decision."""
    for entity in given.subjects(registry):
        if isinstance(entity, Conflict):
            yield from _conflict(registry, entity)
        elif isinstance(entity, Decision) and entity.status.replaced and entity.superseded_by is None:
            message = f"is {entity.status.value}, and superseded_by does not say by what"
            fix = "add superseded_by, or make it invalidated"
            yield finding(entity, "status-fields", message, "status", fix, severity=Severity.WARNING)
        if isinstance(entity, Decision) and entity.last_validated < entity.created_at:
            message, fix = "lies before created_at", "correct one of the two"
            yield finding(entity, "status-fields", message, "last_validated", fix, severity=Severity.WARNING)


def threads_ended(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find threads whose state was changed without its time, or without a word on how they were resolved."""
    for thread in given.subjects(registry) if given.before else ():
        old = given.before.get(thread.id)
        if old is None or not isinstance(thread, Thread) or thread.status is old.status:
            continue
        if _is_undated(thread, old):
            message = f"is {thread.status.value} now, and updated_at is still the time of the last change"
            fix = "`forgekit check --fix` sets it; older changes win a merge until then"
            yield finding(
                thread, "undated-change", message, "updated_at", fix, severity=Severity.WARNING, fixable=True
            )
        if thread.status is ThreadStatus.RESOLVED and not thread.resolution:
            message, fix = "is resolved, and nothing says how", "add a section `## Resolution`"
            yield finding(thread, "no-resolution", message, "status", fix, severity=Severity.WARNING)


def _is_undated(thread: Thread, old: Thread) -> bool:
    """Say whether a thread's state was changed, and the time of that not."""
    return thread.status is not old.status and thread.updated_at == old.updated_at


def _conflict(registry: Registry, conflict: Conflict) -> Iterator[Problem]:
    if conflict.status is ConflictStatus.RESOLVED and conflict.kept is None:
        message, fix = "is resolved, and `kept` is missing", "add kept with the id of the side that was kept"
        yield finding(conflict, "status-fields", message, "status", fix, severity=Severity.WARNING)
    if conflict.kept is not None and conflict.kept not in conflict.sides:
        message = f"{short_id(Kind.DECISION, conflict.kept)} is neither side of this conflict"
        yield finding(conflict, "status-fields", message, "kept")
    if conflict.status is ConflictStatus.OPEN:
        sides = map(registry.get, conflict.sides)
        ended = [side for side in sides if isinstance(side, Decision) and side.status.ended]
        if ended:
            names = " and ".join(f"{short_id(s.kind, s.id)} ({s.status.value})" for s in ended)
            message = f"is open, and no longer in force: {names}"
            yield finding(conflict, "moot-conflict", message, "status", severity=Severity.INFO)


def unresolved_edits(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find entities in which a merge kept what it could not choose between."""
    for entity in given.subjects(registry):
        if names := conflicting_edits.fields_in_conflict(entity):
            key = UNSETTLED_KEY if entity.kind.quoted else ""
            place = f"the key {key}" if key else f"the section {UNSETTLED!r}"
            message = f"two clones changed {', '.join(names)} in different ways"
            fix = f"{place} holds what yielded: put the right text in its place, then delete {place}"
            yield finding(entity, "conflicting-edits", message, key, fix)


def archives_unchanged(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find archives whose text is not the one that was filed."""
    for entity in given.subjects(registry):
        if isinstance(entity, Archive) and body_sha256(entity.body) != entity.content_sha256:
            message = "the text is not the one that was filed; archives are write-once"
            fix = "bring it back with `git restore`, or file the new text as an archive of its own"
            yield finding(entity, "archive-changed", message, "content_sha256", fix)


def probable_slips(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find unknown keys that look like known ones."""
    for entity in given.subjects(registry):
        for key in islice(entity.extra, _KEYS_LOOKED_AT):
            if meant := near_miss(key, known_fields(entity.kind)):
                message = f"is not a key of a {entity.kind.value}; did you mean `{meant}`?"
                yield finding(entity, "probable-slip", message, key, severity=Severity.WARNING)


def repeated_sections(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find sections that a reader does not show, since another one of the file has their heading."""
    for entity in given.subjects(registry):
        if entity.kind.quoted or entity.kind is Kind.NOTE or entity.body.count("## ") < 2:
            continue
        file, seen = given.texts.get(entity_path(entity), ""), set()
        for name, text in parts(entity.body):
            if name in seen:
                message = f"has a second section `## {name}`; only the first one is read"
                line = file.count("\n", 0, file.rindex(text)) + 1 if text in file else None
                fix = "make one section of the two"
                yield finding(
                    entity, "repeated-section", message, fix=fix, severity=Severity.WARNING, line=line
                )
            seen.add(name)


_OTHER_LEVEL = re.compile(r"^#(?:#{2,5})?[ \t].*\S", re.MULTILINE)
_ENDINGS = tuple(status.value.capitalize() for status in DecisionStatus)


def unread_headings(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find decisions without a rationale and ended threads without a resolution that have other headings."""
    for entity in given.subjects(registry):
        if isinstance(entity, Decision):
            wanted, text = "Rationale", entity.rationale
        elif isinstance(entity, Thread) and entity.status.ended:
            wanted, text = "Resolution", entity.resolution
        else:
            continue
        if text or "#" not in entity.body:
            continue
        added = added_sections(entity.body, *_ENDINGS, EARLIER, UNSETTLED)
        others = [*_OTHER_LEVEL.findall(section(entity.body, None)), *(f"## {name}" for name in added)]
        if others:
            message = f"has no section `## {wanted}`, and `{others[0]}` is not read as one"
            fix = f"write the heading as `## {wanted}` if it is meant so"
            yield finding(entity, "unread-heading", message, fix=fix, severity=Severity.INFO)


def hidden_characters(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find characters that a reader cannot see and a model can; one that is escaped is on no line."""
    for entity in given.subjects(registry):
        for name, text in _texts(entity):
            if found := _HIDDEN.search(text):
                character, file = found.group(), given.texts.get(entity_path(entity), "")
                label = unicodedata.name(character, "a control" if character < "\u00a0" else "no name")
                yield finding(
                    entity,
                    "hidden-character",
                    f"holds the invisible character U+{ord(character):04X} ({label})",
                    name,
                    "remove it unless it is meant",
                    severity=Severity.WARNING,
                    line=file.count("\n", 0, file.index(character)) + 1 if character in file else None,
                )


def _texts(entity: Entity) -> Iterator[tuple[str, str]]:
    for spec in fields(entity):
        value = getattr(entity, spec.name)
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str):
                yield spec.name, text


def no_secrets(_: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find secrets in the files whose text is given."""
    for path, text in given.texts.items():
        if given.wants(path):
            yield from secrets_in(path, text, given.allowed)


def secrets_in(path: str, text: str, allowed: Collection[str]) -> Iterator[Problem]:
    """Find the secrets in one file; messages never repeat a secret."""
    for found in find(text, allowed):
        message = f"this looks like a secret: {found.rule} {found.fingerprint}"
        fix = f'take it out; or put "{found.fingerprint}" into `allowed_secrets` of forgekit.toml'
        yield Problem(code="secret", message=message, path=path, line=found.line, fix=fix)


def twins(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find projects whose names differ in case, Unicode form or final stop only."""
    names: dict[str, list[Project]] = defaultdict(list)
    for project in registry.projects:
        names[match_key(project.project_name)].append(project)
    for group in names.values():
        for project in group if len(group) > 1 else ():
            if given.wants(entity_path(project)):
                others = ", ".join(repr(p.project_name) for p in group if p is not project)
                message = f"reads like the other project {others}"
                yield finding(project, "twin-project", message, "project_name", severity=Severity.WARNING)


def recorded_twice(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find active decisions of one source with one text, which two clones recorded; among all only."""
    texts: dict[object, list[Decision]] = defaultdict(list)
    for one in registry.with_status(Decision, "active") if given.only is None else ():
        texts[one.project_uuid, one.originated_in, match_key(one.decision)].append(one)
    for group in texts.values():
        first, *others = sorted(group, key=lambda one: (one.created_at, one.id))
        known = short_id(Kind.DECISION, first.id)
        for one in others:
            message = f"says the same as {known}, and both are in force"
            fix = f"`forgekit decision supersede {short_id(Kind.DECISION, one.id)} --by {known}` keeps one"
            yield finding(one, "recorded-twice", message, "decision", fix, severity=Severity.WARNING)


def canonical_texts(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find files that say the right thing in another form, among those whose text is given."""
    for entity in given.subjects(registry) if given.texts else ():
        text = given.texts.get(entity_path(entity))
        if text is not None and not _is_canonical(entity, text):
            message = "is not in canonical form (order of keys, quotes, blank lines)"
            fixable = _is_rewritable(entity, text)
            fix = "`forgekit check --fix` rewrites it" if fixable else ""
            yield finding(entity, "not-canonical", message, fix=fix, severity=Severity.INFO, fixable=fixable)


def _is_canonical(entity: Entity, text: str) -> bool:
    """Say whether a file's text is the canonical one; git may convert line ends on checkout."""
    return codec.dumps(entity) in {text, text.replace("\r\n", "\n")}


def _is_rewritable(entity: Entity, text: str) -> bool:
    """Say whether writing the canonical text loses nothing: comments would go, and archives stay."""
    if isinstance(entity, Archive):
        return False
    try:
        head, _ = frontmatter.split(text)
    except FormatError:
        return False
    return not re.search(r"(?:^|\s)#", head)


CHECKS: tuple[Callable[[Registry, CheckInput], Iterator[Problem]], ...] = (
    derivations,
    edited_in_place,
    projects_agree,
    references_exist,
    no_cycles,
    status_fields,
    threads_ended,
    unresolved_edits,
    archives_unchanged,
    probable_slips,
    repeated_sections,
    unread_headings,
    hidden_characters,
    no_secrets,
    twins,
    recorded_twice,
    canonical_texts,
)


def check(registry: Registry, given: CheckInput | None = None) -> list[Problem]:
    """Run every check; the problems found while the registry was read come first.

    Returns problems by path; within a path in the order of the checks.
    """
    given = given or CheckInput()
    found = [p for p in registry.problems if given.wants(p.path)]
    for run in CHECKS:
        found.extend(run(registry, given))
    return sorted(found, key=lambda p: p.path)


def locate(problems: Iterable[Problem], text_of: Callable[[str], str | None]) -> list[Problem]:
    """Add the line of its field to each problem; `text_of` returns the text of the file at a path."""

    @cache
    def lines_of(path: str) -> Mapping[str, int]:
        try:
            head, _ = frontmatter.split(text_of(path) or "")
            return frontmatter.load_fields(head.replace("\r\n", "\n"))[1]
        except FormatError:
            return {}

    return [
        replace(p, line=lines_of(p.path).get(p.field)) if p.line is None and p.field else p for p in problems
    ]


@frozen(kw_only=True)
class Fix:
    """One change to make.

    Attributes:
        message: what is done, as a clause.
        writes: entities to write, each in canonical form.
    """

    code: str
    path: str
    message: str
    writes: tuple[Entity, ...] = ()


def fixes(registry: Registry, given: CheckInput, now: Instant) -> list[Fix]:
    """Plan the fixes that need no person; other problems stay.

    Args:
        given: the texts to be brought into canonical form, what was committed, and what to look at.
    """
    out = []
    for entity in given.subjects(registry):
        path, text = entity_path(entity), given.texts.get(entity_path(entity))
        pair = None
        if isinstance(entity, Decision) and not text_gives_id(entity):
            pair = _revision(registry, entity, given.committed.get(entity.id), now)
        if pair is not None:
            new = short_id(entity.kind, pair[1].id)
            message = f"the old text is back as revised, and the new one is {new}"
            out.append(Fix(code="edited-in-place", path=path, message=message, writes=pair))
        elif isinstance(entity, Thread) and (old := given.before.get(entity.id)) and _is_undated(entity, old):
            dated = replace(entity, updated_at=max(now, entity.updated_at))
            out.append(Fix(code="undated-change", path=path, message="updated_at is set", writes=(dated,)))
        elif text is not None and not _is_canonical(entity, text) and _is_rewritable(entity, text):
            message = "brought into canonical form"
            out.append(Fix(code="not-canonical", path=path, message=message, writes=(entity,)))
    return out


def _revision(
    registry: Registry, edited: Decision, old: Decision | None, now: Instant
) -> tuple[Decision, Decision] | None:
    """Return the old decision restored and ended, and the edit as a decision of its own, of no conversation.

    None where that cannot be, and where a person has two texts to choose from.
    """
    new_id = _revised_id(registry, edited, old, now) if old else None
    body, unsettled = conflicting_edits.split_entries(edited.body)
    if old is None or new_id is None or unsettled:
        return None
    new = replace(
        edited,
        decision_id=new_id,
        project_name=old.project_name,
        project_uuid=old.project_uuid,
        local_id=None,
        originated_in=None,
        conversation_ids=(),
        created_at=now,
        last_validated=now,
        body=body,
    )
    return replace(old, status=DecisionStatus.REVISED, superseded_by=new_id), new
