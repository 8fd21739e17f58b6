"""Notes: what people write down, typed or ingested from folders of Markdown."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from forgekit.change import Written, typed, unclaimed, write
from forgekit.errors import FormatError, NotFoundError, UsageError
from forgekit.forge import COMMITTED, Forge, WriteOptions
from forgekit.frozen import field, frozen, replace
from forgekit.git.program import Program
from forgekit.ids import normalise, note_id, project_id, text_hash
from forgekit.merge.merge import merge
from forgekit.model.entities import Entity, Note, entity_path
from forgekit.model.fields import Null
from forgekit.model.kinds import UNSORTED, Kind, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.model.rules import STATEMENT_LIMIT, clean, escaped, one_line, unescaped
from forgekit.store import Change, Outcome
from forgekit.text import frontmatter
from forgekit.text.blocks import brief
from forgekit.text.secrets import redact
from forgekit.times import UNKNOWN, Instant, parse_instant
from forgekit.worktree.files import parse

TEXT_LIMIT = 1_000_000
"""Bytes of the longest note that is kept."""
FILES_LIMIT = 100_000
"""Files of a folder that are looked at."""
_HEADING = re.compile(r"# +(.{1,2000})")
_COLOUR = r"(?=[a-f]*\d)(?:[\da-f]{6}|[\da-f]{8})(?![\w/-])"
_TAG = re.compile(rf"(?:^|(?<=\s))#(?!(?i:{_COLOUR}))([^\W\d][\w/-]{{0,60}})")
_WHEN = ("created", "created_at", "date")
_CHANGED = ("updated", "updated_at", "modified")
_TAGGED = ("tags", "tag", "keywords")
_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_DOTTED = re.compile(r"^(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>\d{4})\b")
_SECONDS = re.compile(r"(\d{10})(\d{3})?")
"""A time since 1970, in seconds or in milliseconds."""
_CODE = re.compile(
    r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*+\n(?:.*?\n)??(?: {0,3}\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL
)
"""A fenced stretch of code."""
_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
"""What a terminal obeys and nobody reads."""
_INGESTED = ("Forgekit-Op", "ingest notes")
_FRONT_MATTER = "front_matter"
"""The key of a note's file that holds the other keys of its source's front matter."""


@frozen(kw_only=True)
class NotesReport:
    """What became of the files of a folder.

    Attributes:
        states: how many notes are `new`, `changed`, `moved` to another file, `unchanged`.
        gone: the notes whose file was removed; they stay.
        problems: files that were left out.
        unread: keys of front matter that could not be read, in files that are new or changed.
        secret: files in which a secret is that its note has not.
    """

    outcome: Outcome
    states: Mapping[str, int]
    gone: tuple[Note, ...] = ()
    redacted: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    unread: tuple[Problem, ...] = ()
    secret: tuple[str, ...] = ()


def add(
    forge: Forge,
    text: str,
    *,
    title: str | None = None,
    project: str | None = None,
    tags: Iterable[str] = (),
    at: Instant | None = None,
    source: str | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Keep a note; one of the same source gets the new text.

    Args:
        text: Markdown; front matter is read as of an ingested file.
        title: one line, else that of the front matter, the first heading, or the first words.
        project: its name, else the default or only one.
        tags: words, beside the `#tags` of the text.
        at: when it was written, in ms since 1970, else the time in the front matter, else now.
        source: names what the note is made of again and again.

    Raises UsageError for a note without words, RuleError for a title that is too long, SecretError for a
    secret.
    """
    head, below = _head(text, str)
    body = _worded(below)
    found = brief(head.title or title_of(body), STATEMENT_LIMIT)
    line = typed(title, "the text") if title is not None else found
    tags = (*tags, *head.tags)

    def decide(registry: Registry) -> list[Entity]:
        existing = next((n for n in registry.notes if n.source == source), None) if source else None
        if existing is not None:
            return [_with_text(existing, line, body, tags, forge.now())]
        name = forge.project(project, registry) or ""
        moment = at if at is not None else head.at if head.at is not None else forge.now()
        note = _note(name, line, body, tags, moment, source or f"{line}\n{body}")
        changed = moment if head.updated is None else head.updated
        note = replace(note, source=source, updated_at=changed, extra=head.extra)
        same = registry.get(note.id)
        if isinstance(same, Note) and same.body == body:
            return [same]
        return [unclaimed(note, registry), *forge.new_project(name, registry)]

    return write(forge, decide, "note add", options)


def edit(
    forge: Forge,
    name: str,
    *,
    title: str | None = None,
    content: str | None = None,
    tags: Iterable[str] | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Change a note's title, text or tags; its id stays.

    Args:
        tags: in place of the old ones.

    Raises UsageError for a text or a title without words, RuleError for a title that is too long, SecretError
    for a secret.
    """
    key = forge.resolve(name, Kind.NOTE)
    line = None if title is None else typed(title, "--content")
    if line == "":
        raise UsageError("the title holds no word; leave --title out to keep the present one")
    body = None if content is None else _worded(content)

    def decide(registry: Registry) -> list[Note]:
        note = registry.expect(Note, key)
        values: dict[str, Any] = {} if tags is None else {"tags": tuple(dict.fromkeys(tags))}
        if body is not None:
            values |= {"body": body, "updated_at": max(forge.now(), note.updated_at)}
        return [replace(note, title=line or note.title, **values)]

    return write(forge, decide, "note edit", options)


def ingest_folder(
    forge: Forge, folder: Path, *, project: str | None = None, options: WriteOptions = COMMITTED
) -> NotesReport:
    """Keep the Markdown files of a folder as notes, in one commit; a second time changes nothing.

    Args:
        folder: such as a vault; folders that begin with a dot, links and other files are passed over.
        project: whose notes these are, by name; else the one that has notes of this folder, else the
            default or only one, else `Unsorted`.

    Raises NotFoundError where there is no such folder, UsageError for a file and where several projects have
    notes of the folder.
    """
    if folder.is_file():
        raise UsageError(
            f"{folder} is a file; unpack a .zip and name its folder, or keep one note by `forgekit note add`"
        )
    if not folder.is_dir():
        raise NotFoundError("folder", str(folder))
    left_out: list[Problem] = []
    files = _files(folder, left_out)
    here = text_hash(str(folder.resolve()))

    def change() -> Change:
        registry = forge.registry()
        problems, unread, secret = [*left_out], list[Problem](), list[str]()
        states, redacted = Counter[str](), Counter[str]()
        named = [note for note in registry.notes if (note.source or "").startswith(f"{_root(folder)}/")]
        inside, folders = _of_folder(named, files, here)
        name = _owner(forge, registry, project, inside)
        own = [note for note in inside if note.project_name == name]
        own.sort(key=lambda note: (_holds(note, files), here in note.source_folders, note.id))
        known = {_key(note.source): note for note in own}  # the last of one source
        left = {note.source_hash: note for source, note in known.items() if source not in files}
        writes: list[Entity] = []
        for source, file in files.items():
            existing = known.get(source) or left.pop(file.digest, None)
            note, secrets, faults = _from_file(existing, name, file, forge.now())
            if existing is None and isinstance(taken := registry.get(note.id), Note):
                if _holds(taken, files):  # in a folder of this name that is another one
                    states["unchanged"] += 1
                    continue
                note = replace(
                    note, note_id=note_id(note.project_uuid, f"{file.name}\n{here}", note.created_at)
                )
            redacted.update(secrets)
            secret.extend([file.source] if secrets else [])
            unread.extend(
                Problem(code="unread-key", message=fault, path=file.source, severity=Severity.WARNING)
                for fault in faults
            )
            state = "new"
            if existing is not None:
                read = note if note == existing else _with_edits(forge, existing, note, problems)
                note = replace(read, source=existing.source if source in known else file.source)
                state = "moved" if source not in known else "unchanged" if note == existing else "changed"
            states[state] += 1
            if state != "unchanged":
                writes.append(replace(note, source_folders=tuple(sorted(folders.union(note.source_folders)))))
        moved = {note.id for note in writes}
        gone = (note for source, note in known.items() if source not in files and note.id not in moved)
        if states["new"]:
            writes += forge.new_project(name, registry)
        return Change(
            writes=tuple(writes),
            subject=f"note: ingest {states['new']:,} new, {states['changed']:,} changed",
            trailers=(_INGESTED,),
            result={
                "states": states,
                "gone": tuple(gone),
                "redacted": redacted,
                "problems": tuple(problems),
                "unread": tuple(unread),
                "secret": tuple(secret),
            },
        )

    outcome = forge.commit(change, options)
    found: Any = outcome.change.result
    return NotesReport(outcome=outcome, **found)


def _worded(text: str) -> str:
    """Return a typed text as a note keeps it; raise UsageError where there is no word in it."""
    body = escaped(_plain(text))
    if not any(map(str.isalnum, body)):
        raise UsageError("the note holds no word")
    return body


def _plain(text: str) -> str:
    return _TERMINAL.sub("", clean(text)).strip("\n")


def title_of(body: str, otherwise: str = "") -> str:
    """Return a text's first heading, else a given title, else its first words."""
    body = unescaped(body)
    for line in _CODE.sub("", body).split("\n"):
        if match := _HEADING.match(line):
            return brief(one_line(match[1]), STATEMENT_LIMIT)
    first = next((line for line in body.split("\n") if any(map(str.isalnum, line))), "Note")
    return otherwise or brief(one_line(first), 80)


def _owner(forge: Forge, registry: Registry, project: str | None, notes: Iterable[Note]) -> str:
    """Return the name of the project that a folder's notes belong to; arguments as of `ingest_folder`.

    Args:
        notes: that are known of this folder.
    """
    owners = sorted({note.project_name for note in notes})
    if project is None and len(owners) > 1:
        names = ", ".join(map(repr, owners))
        raise UsageError(f"{names} have notes of this folder; say --project which")
    if project is None and owners:
        return owners[0]
    return forge.project(project, registry, required=False) or UNSORTED


def _root(folder: Path) -> str:
    return folder.resolve().name or "notes"


@frozen(kw_only=True)
class _File:
    """A Markdown file of a folder.

    Attributes:
        source: the names of the folder and of the file in it.
    """

    source: str
    text: str
    digest: str

    @property
    def name(self) -> str:
        """What the id of its note is made of."""
        return f"{self.source}\n{self.digest}"


def _key(source: str | None) -> str:
    """Return what a source is known by: computers spell blanks and accents of one name differently."""
    return normalise(source or "")


def _holds(note: Note, files: Mapping[str, _File]) -> bool:
    """Say whether the file of a note holds what it held when it was last read."""
    file = files.get(_key(note.source))
    return file is not None and file.digest == note.source_hash


def _of_folder(
    notes: Iterable[Note], files: Mapping[str, _File], here: str
) -> tuple[list[Note], frozenset[str]]:
    """Return the notes of a folder, and the hashes of the places where it was.

    It is known by its place; after a move or in a copy, by more than half of its files, which hold what they
    held. Notes that name no place are its own if no other folder of its name is known.

    Args:
        notes: of all folders of its name.
        here: the hash of its place.
    """
    groups: dict[tuple[str, ...], list[Note]] = {}
    for note in notes:
        groups.setdefault(note.source_folders, []).append(note)
    alike = {
        group
        for group, own in groups.items()
        if 2 * sum(_holds(note, files) for note in own) > min(len(own), len(files))
    }
    places = {here}.union(*alike)
    while more := {each for group in groups if not places.isdisjoint(group) for each in group} - places:
        places |= more
    if all(places.issuperset(group) for group in groups):
        alike.add(())
    own = [
        note
        for group, some in groups.items()
        if group in alike or not places.isdisjoint(group)
        for note in some
    ]
    return own, frozenset(places)


def _files(folder: Path, problems: list[Problem]) -> dict[str, _File]:
    """Return the Markdown files that can be notes by the key of their source; report the others."""
    found: dict[str, _File] = {}
    for path in _paths(folder):
        source = one_line(f"{_root(folder)}/{path.relative_to(folder).as_posix()}")
        why, text = "", ""
        try:
            if path.stat().st_size > TEXT_LIMIT:
                why = f"is longer than {TEXT_LIMIT:,} bytes"
            else:
                text = path.read_bytes().decode("utf-8-sig")
                why = "" if any(map(str.isalnum, text)) else "holds no word"
        except (OSError, UnicodeDecodeError) as e:
            why = "is no UTF-8" if isinstance(e, UnicodeDecodeError) else str(e.strerror)
        if not why and _key(source) in found:
            why = "has the name of another file but for blanks or accents; rename one of them"
        if why:
            problems.append(Problem(code="no-note", message=why, path=source, severity=Severity.WARNING))
        else:
            found[_key(source)] = _File(source=source, text=text, digest=text_hash(text))
    return found


def _paths(folder: Path) -> Iterator[Path]:
    """Yield the Markdown files of a folder, by name."""
    seen = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            seen += 1
            if seen > FILES_LIMIT:
                raise UsageError(f"{folder} holds more than {FILES_LIMIT:,} files; ingest a part of it")
            if path.suffix.lower() in {".md", ".markdown"} and not path.is_symlink() and path.is_file():
                yield path


def _from_file(
    existing: Note | None, project: str, file: _File, now: Instant
) -> tuple[Note, list[str], tuple[str, ...]]:
    """Return the note of a file, the rules that found secrets in it, and what of its head could not be read.

    Its front matter gives title, tags and dates, and the rest is kept apart. A day in the file's name dates a
    note whose front matter does not. One without either has no date, on any machine.
    """
    if existing is not None and existing.source_hash == file.digest:
        return existing, [], ()
    secrets: list[str] = []

    def scrub(text: str) -> str:
        found = redact(text)
        secrets.extend(finding.rule for finding in found.findings)
        return found.text

    head, text = _head(file.text, scrub)
    body = escaped(scrub(_plain(text)))
    stem = Path(file.source).stem
    line = brief(head.title or title_of(body, stem), STATEMENT_LIMIT)
    if existing is not None:
        kept = {key: value for key, value in existing.extra.items() if key != _FRONT_MATTER}
        changed = head.updated if head.updated and head.updated > existing.updated_at else now
        read = _with_text(existing, line, body, head.tags, changed)
        read = replace(read, source_hash=file.digest, extra={**kept, **head.extra})
        return read, secrets, head.unread
    day = _DAY.search(stem)
    moment = head.at or (_instant(day[0]) if day else None) or UNKNOWN
    note = _note(project, line, body, head.tags, moment, file.name)
    return (
        replace(
            note,
            source=file.source,
            source_hash=file.digest,
            updated_at=head.updated or moment or now,
            extra=head.extra,
        ),
        secrets,
        head.unread,
    )


@frozen(kw_only=True)
class _Head:
    """The front matter of a Markdown file.

    Attributes:
        at, updated: when the text was written and last changed.
        others: its other keys, as text.
        unread: what of it cannot be read, and why.
    """

    title: str = ""
    tags: tuple[str, ...] = ()
    at: Instant | None = None
    updated: Instant | None = None
    others: Mapping[str, object] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    @property
    def extra(self) -> Mapping[str, object]:
        """The unknown keys of the note."""
        return {_FRONT_MATTER: self.others} if self.others else {}


def _head(text: str, scrub: Callable[[str], str]) -> tuple[_Head, str]:
    """Return a text's front matter, each value scrubbed, and the text below it."""
    unread: list[frontmatter.Unread] = []
    try:
        fields, _, below = frontmatter.read(text) if text.startswith("---") else ({}, {}, text)
    except FormatError:
        try:
            fields, unread, below = frontmatter.read_each(text)
        except FormatError:
            return _Head(), text  # a rule, or front matter of another kind: part of the text
    plain = {name.lower(): value for name, value in fields.items() if not isinstance(value, Null)}
    title = plain.get("title")
    given = [value for name in _TAGGED if (value := plain.get(name))]
    lists = (value if isinstance(value, list) else str(value).replace(",", " ").split() for value in given)
    listed = [each for some in lists for each in some]
    times = {name: at for name in (*_WHEN, *_CHANGED) if (at := _moment(plain.get(name)))}
    why = "is no date such as 2026-03-04"
    unread += [
        frontmatter.Unread(name, "", f"{brief(scrub(one_line(str(plain[name]))), 40)!r} {why}")
        for name in (*_WHEN, *_CHANGED)
        if plain.get(name) and name not in times
    ]
    read = {"title", *_TAGGED, *times}
    others = {name: _scrubbed(value, scrub) for name, value in fields.items() if name.lower() not in read}
    others |= {each.key: scrub(one_line(each.text)) for each in unread if each.key not in fields}
    return _Head(
        title=scrub(one_line(title)) if isinstance(title, str) else "",
        tags=tuple(one_line(str(tag)).lstrip("#") for tag in listed),
        at=next((times[name] for name in _WHEN if name in times), None),
        updated=next((times[name] for name in _CHANGED if name in times), None),
        others=others,
        unread=tuple(f"{scrub(one_line(each.key))}: {each.why}" for each in unread),
    ), below


def _moment(value: object) -> Instant | None:
    """Return the time that a key of front matter names, in any form that has one meaning."""
    if not isinstance(value, str):
        return None
    text = one_line(value).strip("[] ")
    if match := _SECONDS.fullmatch(text):
        return Instant(int(match[1] + (match[2] or "000")))
    return _instant(_DOTTED.sub(lambda m: f"{m['y']}-{m['m']:0>2}-{m['d']:0>2}", text))


def _scrubbed(value: object, scrub: Callable[[str], str]) -> object:
    """Return a value of front matter, each text of it scrubbed."""
    if isinstance(value, Mapping):
        return {str(key): _scrubbed(each, scrub) for key, each in value.items()}
    return [_scrubbed(each, scrub) for each in value] if isinstance(value, list) else scrub(str(value))


def _with_edits(forge: Forge, existing: Note, read: Note, problems: list[Problem]) -> Note:
    """Return a note with what its file holds now and what was edited here since it was last read.

    Where both changed the title or the text, the note stays as it is, and a problem names it.
    """
    path, repository = entity_path(existing), forge.store.repository
    commits = Program(forge.root).log(path)
    base = next((commit.id for commit in commits if _INGESTED in commit.trailers), None)
    last = parse(path, repository.read_at(base, path))[0] if base is not None else None
    if not isinstance(last, Note) or (last.title, last.body) == (existing.title, existing.body):
        return read
    given = {name: getattr(read, name) for name in ("title", "body", "tags", "source_hash", "updated_at")}
    merged = merge(last, existing, replace(last, **given))
    if {"title", "body"}.isdisjoint(conflict.field for conflict in merged.conflicts) and merged.entity:
        return merged.entity
    name = short_id(Kind.NOTE, existing.id)
    message = f"{name} was edited here and in its file, and stays as it is; give both the same text"
    where = existing.source or ""
    problems.append(Problem(code="edited-twice", message=message, path=where, severity=Severity.WARNING))
    return existing


def _instant(text: str) -> Instant | None:
    try:
        return parse_instant(text)
    except ValueError:
        return None


def _note(project: str, title: str, body: str, tags: Iterable[str], at: Instant, name: str) -> Note:
    owner = project_id(project)
    return Note(
        note_id=note_id(owner, name, at),
        title=title,
        project_name=project,
        project_uuid=owner,
        created_at=at,
        updated_at=at,
        tags=_tags(tags, body),
        body=body,
    )


def _tags(given: Iterable[str], body: str) -> tuple[str, ...]:
    found = dict.fromkeys((*filter(None, given), *_TAG.findall(_CODE.sub("", body))))
    return tuple(found)[:50]


def _with_text(note: Note, title: str, body: str, tags: Iterable[str], at: Instant) -> Note:
    """Return a note with what its source holds now; the same note where that is no change."""
    values: dict[str, Any] = {"title": title, "body": body, "tags": _tags(tags, body)}
    if all(getattr(note, name) == value for name, value in values.items()):
        return note
    return replace(note, updated_at=max(at, note.updated_at), **values)
