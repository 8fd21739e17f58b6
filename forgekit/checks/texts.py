"""Wording: keys that are slips, text that hides something, files not in their one canonical form."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from itertools import islice

from forgekit.checks.base import CheckInput, finding
from forgekit.errors import FormatError
from forgekit.merge import conflicting_edits
from forgekit.model.entities import Archive, Entity, entity_path, known_fields
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.model.rules import near_miss
from forgekit.text import codec, frontmatter
from forgekit.text.secrets import find


def no_secrets(_: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find secrets in the files whose text is given."""
    for path, text in given.texts.items():
        if given.wants(path):
            yield from secrets_in(path, text, given.allowed)


def secrets_in(path: str, text: str, allowed: Collection[str]) -> Iterator[Problem]:
    """Find the secrets in one file; messages never repeat a secret."""
    for found in find(text, allowed):
        yield Problem(
            code="secret",
            message=f"this looks like a secret: {found.rule} {found.fingerprint}",
            path=path,
            line=found.line,
            fix=f'take it out; or put "{found.fingerprint}" into `allowed_secrets` of forgekit.toml',
        )


def unresolved_edits(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find entities in which a merge kept what it could not choose between."""
    for entity in given.subjects(registry):
        names = conflicting_edits.fields_in_conflict(entity)
        if not names:
            continue
        archive = entity.kind.quoted
        place = f"the key {conflicting_edits.KEY}" if archive else f"the section {conflicting_edits.NAME!r}"
        yield finding(
            entity,
            "conflicting-edits",
            f"two clones changed {', '.join(names)} in different ways",
            field=conflicting_edits.KEY if archive else "",
            fix=f"{place} holds what yielded: put the right text in its place, then delete {place}",
        )


# Bidirectional overrides and isolates; zero-width space and word joiner; tag characters; the variation
# selectors that carry hidden bytes; controls, which a terminal obeys. Joiners and marks that scripts and
# emoji need are left alone.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u202a-\u202e\u2060-\u2069\ufeff"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
_KEYS_LOOKED_AT = 100


def probable_slips(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find unknown keys that look like known ones."""
    for entity in given.subjects(registry):
        for key in islice(entity.extra, _KEYS_LOOKED_AT):
            meant = near_miss(key, known_fields(entity.kind))
            if meant is not None:
                yield finding(
                    entity,
                    "probable-slip",
                    f"is not a key of a {entity.kind.value}; did you mean `{meant}`?",
                    field=key,
                    severity=Severity.WARNING,
                )


def hidden_characters(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find characters that a reader cannot see and a model can."""
    for entity in given.subjects(registry):
        for name, text in _texts(entity):
            found = _HIDDEN.search(text)
            if found:
                character = found.group()
                label = unicodedata.name(character, "a control" if character < "\u00a0" else "no name")
                yield replace(
                    finding(
                        entity,
                        "hidden-character",
                        f"holds the invisible character U+{ord(character):04X} ({label})",
                        field=name,
                        fix="remove it unless it is meant",
                        severity=Severity.WARNING,
                    ),
                    line=_line_of(character, given.texts.get(entity_path(entity), "")),
                )


def _line_of(character: str, text: str) -> int | None:
    """Return the line of a file's text that first holds a character; None where it is escaped."""
    at = text.find(character)
    return None if at < 0 else text.count("\n", 0, at) + 1


def archives_unchanged(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find archives whose text is not the one that was filed."""
    for entity in given.subjects(registry):
        if isinstance(entity, Archive) and body_sha256(entity) != entity.content_sha256:
            yield finding(
                entity,
                "archive-changed",
                "the text is not the one that was filed; archives are write-once",
                field="content_sha256",
                fix="bring it back with `git restore`, or file the new text as an archive of its own",
            )


def body_sha256(archive: Archive) -> str:
    """Return the hash of an archive's text."""
    return hashlib.sha256(archive.body.encode("utf-8", "surrogatepass")).hexdigest()


def canonical_texts(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find files that say the right thing in another form, among those whose text is given."""
    if not given.texts:
        return
    for entity in given.subjects(registry):
        text = given.texts.get(entity_path(entity))
        if text is not None and not is_canonical(entity, text):
            fixable = is_rewritable(entity, text)
            yield finding(
                entity,
                "not-canonical",
                "is not in canonical form (order of keys, quotes, blank lines)",
                fix="`forgekit check --fix` rewrites it" if fixable else "",
                severity=Severity.INFO,
                fixable=fixable,
            )


def is_canonical(entity: Entity, text: str) -> bool:
    """Say whether a file's text is the canonical one; git may convert line ends on checkout."""
    return codec.dumps(entity) in {text, text.replace("\r\n", "\n")}


def is_rewritable(entity: Entity, text: str) -> bool:
    """Say whether writing the canonical text loses nothing: comments would go, and archives stay."""
    if isinstance(entity, Archive):
        return False
    try:
        head, _ = frontmatter.split(text)
    except FormatError:
        return False
    return not re.search(r"(?:^|\s)#", head)


def _texts(entity: Entity) -> Iterator[tuple[str, str]]:
    for spec in fields(entity):
        value = getattr(entity, spec.name)
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str):
                yield spec.name, text
