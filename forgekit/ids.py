"""Identifiers: names that two machines derive alike from a text and its time.

Every id is a UUIDv8 (RFC 9562, section 5.8): 48 bits of milliseconds, then the first bits of
SHA-256(namespace bytes || ms as 8 bytes, big-endian). Content is folded into the namespace with
UUIDv5 before that, so two texts of one millisecond differ. A project's id is a plain UUIDv5.

Text is normalised before it is hashed: NFC, no white space at the ends, runs of it one blank.
Nothing here reads a clock.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import NewType

EntityId = NewType("EntityId", str)
"""A UUID in its canonical form: 36 characters, lower case, RFC 9562 variant."""

BASE = EntityId("ee850594-5970-5ffe-9688-023710c187ec")
"""The UUIDv5 of `forgeos.local` as a DNS name."""
MS_LIMIT = 1 << 48

_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_BLANKS = re.compile(r"\s+")


def normalise(text: str) -> str:
    """Return the text as it is hashed and compared: NFC, stripped, single blanks."""
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", text)).strip()


def match_key(text: str) -> str:
    """Return the key under which two spellings of one statement meet: case and final stop do not count."""
    return normalise(text).casefold().rstrip(".;:,! ")


def parse_id(text: str) -> EntityId:
    """Accept a canonical UUID and nothing else.

    Raises ValueError.
    """
    if _CANONICAL.fullmatch(text) is None:
        raise ValueError(f"{text[:60]!r} is not a valid id")
    return EntityId(text)


def is_id(text: str) -> bool:
    """Say whether the text is a canonical UUID."""
    return _CANONICAL.fullmatch(text) is not None


def v5(namespace: str, name: str) -> EntityId:
    """Derive the UUIDv5 of a name inside a namespace; importing `uuid` would take a hook 3 ms."""
    data = bytes.fromhex(namespace.replace("-", "")) + name.encode()
    return _uuid(hashlib.sha1(data, usedforsecurity=False).digest(), 5)


def v8(namespace: str, ms: int) -> EntityId:
    """Derive the UUIDv8 of a namespace and a time.

    Args:
        namespace: a UUID that already holds the content, folded in by UUIDv5.
        ms: milliseconds since 1970, 0 .. 2**48 - 1.

    Raises ValueError when ms is out of range.
    """
    if not 0 <= ms < MS_LIMIT:
        raise ValueError(f"{ms} ms lies outside 0 .. 2**48 - 1")
    stamp = ms.to_bytes(8, "big")
    space = bytes.fromhex(namespace.replace("-", ""))
    return _uuid(stamp[2:] + hashlib.sha256(space + stamp).digest(), 8)


def _uuid(data: bytes, version: int) -> EntityId:
    raw = bytearray(data[:16])
    raw[6] = raw[6] & 0x0F | version << 4
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return EntityId(f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")


def v8_named(namespace: str, name: str, ms: int) -> EntityId:
    """Derive the UUIDv8 of a name inside a namespace."""
    return v8(v5(namespace, name), ms)


def timestamp(entity: str, created_ms: int | None = None) -> int:
    """Return the milliseconds embedded in a v7 or v8 id, else the given time, else 0."""
    if is_id(entity) and entity[14] in "78":
        return int(entity[:8] + entity[9:13], 16)
    return created_ms or 0


def project_id(name: str) -> EntityId:
    """Derive a project's id from its name."""
    return v5(BASE, "project:" + normalise(name))


def conversation_id(project: EntityId, name: str, created_ms: int) -> EntityId:
    """Derive a conversation's id from its name (or session id) and its start in ms."""
    return v8_named(project, normalise(name), created_ms)


def thread_id(
    project: EntityId, title: str, conversation: EntityId, created_ms: int | None = None
) -> EntityId:
    """Derive a thread's id from its first title and the conversation that first showed it."""
    return v8_named(project, normalise(title) + conversation, timestamp(conversation, created_ms))


def text_hash(text: str) -> str:
    """Return the 16 hex digits by which a decision's text enters its id."""
    return hashlib.sha256(normalise(text).encode()).hexdigest()[:16]


def body_sha256(body: str) -> str:
    """Return the hash of an archive's text, byte for byte."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def decision_id(
    project: EntityId, text: str, conversation: EntityId, created_ms: int | None = None
) -> EntityId:
    """Derive a decision's id from its text and the conversation that made it."""
    return v8_named(project, text_hash(text) + conversation, timestamp(conversation, created_ms))


def candidate_id(
    conversation: EntityId, started_ms: int, proposes: str, text: str, local_id: str = ""
) -> EntityId:
    """Derive a candidate's id from its conversation, what it proposes, its text and its local id."""
    return v8_named(
        conversation, f"{proposes}:{local_id}:{text_hash(text)}", timestamp(conversation, started_ms)
    )


def note_id(project: EntityId, name: str, created_ms: int) -> EntityId:
    """Derive a note's id from its first title or source, with its text, and the time it was written."""
    return v8_named(project, "note:" + text_hash(name), created_ms)


def topic_id(project: EntityId, first_note: EntityId) -> EntityId:
    """Derive a topic's id from the earliest note that it began with."""
    return v8_named(project, "topic:" + first_note, timestamp(first_note))


def convention_id(project: EntityId, text: str) -> EntityId:
    """Derive a convention's id from its text: whoever states it, and when, it is the same."""
    return v5(project, "convention:" + text_hash(match_key(text)))


def archive_id(project: EntityId, conversation: EntityId, turns: str, compressed_ms: int) -> EntityId:
    """Derive an archive's id.

    Args:
        turns: `1-35`, or `all` where no range is known.
    """
    return v8_named(project, f"{conversation}:{turns}", compressed_ms)


def pair_id(a: EntityId, b: EntityId) -> EntityId:
    """Derive the id of an unordered pair: a lineage edge or a conflict, the same from either side."""
    return v8_named(BASE, min(a, b) + max(a, b), max(timestamp(a), timestamp(b)))
