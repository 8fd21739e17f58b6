"""Archives on their way in: a pasted text, a file, or a transcript with one archive per compaction."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forgekit.errors import ArchiveError, FormatError, NothingCompactedError, UsageError
from forgekit.ingest.claude_code import CompactSummary, compactions, looks_like_transcript, read_compactions
from forgekit.model.archive import Archive
from forgekit.model.body import clean
from forgekit.model.problem import Problem, Severity
from forgekit.model.records import ArchiveText
from forgekit.policy.filing import Envelope, identify
from forgekit.text.archive import read_archive
from forgekit.text.frontmatter import ARCHIVE_LIMIT, decode
from forgekit.text.redaction import Finding, redact
from forgekit.times import Instant

Arrival = tuple[Archive, ArchiveText]
_HEAD = 65_536
_SHOWN = 20
_NOTHING = Problem(
    code="no-record",
    message="no decision, thread or artifact was found in it; only its text is kept",
    fix="write them as `- D001: ...` and `- T001: ...`",
    severity=Severity.WARNING,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Incoming:
    """One archive, or a transcript, as it was given.

    Attributes:
        data: its bytes, where they are at hand.
        path: else where they are.
        name: what messages call it.
    """

    envelope: Envelope
    data: bytes = b""
    path: Path | None = None
    name: str = "archive"


def arrivals(
    item: Incoming, default_project: Callable[[], str], allowed: Collection[str] = ()
) -> Iterable[Arrival]:
    """Yield what was given as archives: a transcript holds one per compaction.

    Secrets are taken out before anything is read from a text, so that ids come from what will be filed.

    Args:
        item: what was given.
        default_project: asked where neither the person nor the text names a project.
        allowed: fingerprints of secrets that are kept.

    Raises ArchiveError for what is no archive, or not a whole one, NothingCompactedError.
    """
    head = _head(item)
    if not looks_like_transcript(head):
        yield arrival(item, default_project, allowed)
        return
    found = compactions(str(item.path)) if item.path else read_compactions(io.BytesIO(item.data))
    problems: list[Problem] = []
    any_yet = False
    for summary in found:
        if isinstance(summary, Problem):
            problems.append(summary)
            continue
        archive, text = _of_transcript(item, summary, default_project, allowed)
        yield archive, replace(text, problems=(*problems, *text.problems))
        problems, any_yet = [], True
    if not any_yet:
        raise NothingCompactedError(
            f"{item.name} is a transcript in which nothing was compacted; there is nothing to file",
            [str(problem) for problem in problems],
        )


def _head(item: Incoming) -> bytes:
    if item.path is None:
        return item.data[:_HEAD]
    try:
        with item.path.open("rb") as file:
            return file.read(_HEAD)
    except OSError as e:
        raise UsageError(f"cannot read {item.name}: {e.strerror}") from None


def _data(item: Incoming) -> bytes:
    if item.path is None:
        return item.data
    with item.path.open("rb") as file:
        return file.read(ARCHIVE_LIMIT + 1)


def _of_transcript(
    item: Incoming, summary: CompactSummary, default_project: Callable[[], str], allowed: Collection[str]
) -> Arrival:
    envelope = of_compaction(
        item.envelope,
        summary.session_id,
        summary.ordinal,
        summary.compacted_at,
        redact(summary.project_hint, allowed).text,
    )
    name = f"{item.name}:{summary.line}"
    one = replace(item, envelope=envelope, name=name, path=None, data=clean(summary.text).encode())
    return arrival(one, default_project, allowed)


def of_compaction(envelope: Envelope, session: str, number: int, at: Instant, place: str) -> Envelope:
    """Return the envelope of what a program summed up when it made room.

    Args:
        envelope: what is known besides; a title in it stands.
        session: its id.
        number: of the compaction in its session, from 1.
        at: when it was made, in ms since 1970.
        place: name of the working folder, "" where nobody knows.
    """
    short = session[:8]
    return replace(
        envelope,
        at=at,
        tag=f"CLAUDE_CODE_{short}_{number}",
        session_id=session,
        title=envelope.title or f"{place or 'Claude Code'} {short}",
    )


def arrival(item: Incoming, default_project: Callable[[], str], allowed: Collection[str] = ()) -> Arrival:
    """Return one archive with what it says; arguments and errors as of `arrivals`."""
    try:
        raw = decode(_data(item), ARCHIVE_LIMIT)
    except FormatError as e:
        raise e.at(item.name) from None
    if not raw.strip():
        raise ArchiveError(f"{item.name} is empty; paste the whole archive")
    clean = redact(raw, allowed)
    raw, text = clean.text, read_archive(clean.text)
    if text.truncated:
        raise ArchiveError(f"{item.name} seems to be cut off: {text.truncated}; paste the whole archive")
    bare = not (text.decisions or text.threads or text.artifacts or text.carried)
    if bare:
        wrong = [f"line {p}" for p in text.problems if p.severity is Severity.ERROR and p.line]
        if text.ids_seen:
            lines = [f"line {line}: {local}" for local, line in text.ids_seen]
            message = f"{item.name}: ids stand in the text, but no record could be read"
            raise ArchiveError(message, [*lines, *wrong])
        if wrong:
            raise ArchiveError(f"{item.name}: no record could be read", wrong)
        named = text.tag or text.session_id or item.envelope.session_id
        if not named:
            raise ArchiveError(f"{item.name} does not look like an archive: no record, tag or session in it")
    project = item.envelope.project or text.project or default_project()
    nothing = (_NOTHING,) if bare else ()
    told = replace(text, problems=(*_redactions(clean.findings), *text.problems, *nothing))
    return identify(raw, text, item.envelope, project), told


def _redactions(findings: Sequence[Finding]) -> Iterable[Problem]:
    """Say what was taken out: one remark a rule."""
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_rule[finding.rule].append(finding)
    for rule, found in by_rule.items():
        shown = ", ".join(f"{f.fingerprint} (line {f.line})" for f in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        yield Problem(
            code="redacted",
            message=f"{len(found)} {rule} redacted: {shown}{more}",
            fix=f"--allow {found[0].fingerprint} keeps {'it' if len(found) == 1 else 'the first'}",
            severity=Severity.WARNING,
        )
