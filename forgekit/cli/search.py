"""`forgekit search`: what stands in the registry, and what was said in kept texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forgekit import console
from forgekit.cli.base import example, json_option, limit_option, open_forge, project_option, words_of
from forgekit.cli.entities import STATUSES, talk_of_unreadable
from forgekit.cli.showing import partial
from forgekit.errors import UsageError
from forgekit.model.kinds import Kind, short_id
from forgekit.times import Instant, format_instant

if TYPE_CHECKING:
    from forgekit.forge import Forge
    from forgekit.search import Scored

_MODES = ("lexical", "semantic", "hybrid")
_SCOPES = ("threads", "decisions", "lineage", "conversations", "archives", "messages", "all")

_STATUSES = tuple(
    dict.fromkeys(
        status
        for kind in (Kind.THREAD, Kind.DECISION, Kind.CONFLICT)
        for status in STATUSES[kind]
        if status != "moot"  # no file says so
    )
)


@click.command(
    help="Search by words and by meaning: decisions, threads, conversations and archives, best first.\n\n"
    + example(
        "forgekit search how do clients page through results",
        'forgekit search "queue" --scope decisions --status active --json',
    )
)
@click.argument("query", nargs=-1, required=True)
@click.option("--scope", type=click.Choice(_SCOPES), default="all", show_default=True)
@project_option
@click.option(
    "--status", type=click.Choice(_STATUSES), metavar="STATUS", help="Such as active, open or resolved."
)
@click.option("--as-of", metavar="REV|DATE", help="The registry of a revision or date, by words.")
@click.option("--mode", type=click.Choice(_MODES), help="By words, by meaning, or both, as far as can be.")
@click.option("--explain", is_flag=True, help="Say what put each hit in its place.")
@limit_option
@json_option
def search(
    query: tuple[str, ...],
    scope: str,
    project: str | None,
    status: str | None,
    as_of: str | None,
    mode: str | None,
    limit: int,
    *,
    explain: bool,
    as_json: bool,
) -> int:
    """Search the registry."""
    from forgekit.index.catalogue import SCOPES
    from forgekit.search import Mode
    from forgekit.search import search as found_by

    words = words_of(query)
    forge = open_forge()
    if scope == "messages":
        if status or as_of or mode in {"semantic", "hybrid"}:
            raise UsageError(
                "messages are searched by words, as they stand; leave --status, --as-of and --mode out"
            )
        return _search_messages(forge, words, project, limit, as_json=as_json)
    kinds = None if scope == "all" else sorted(SCOPES[scope], key=lambda kind: kind.value)
    with console.progress("searching"):
        found = found_by(
            forge,
            words,
            kinds=kinds,
            status=status,
            project=project,
            limit=limit,
            revision=as_of,
            mode=Mode(mode) if mode else None,
        )
    if as_of is None:
        talk_of_unreadable(forge)
    if found.notice:
        console.info(found.notice)
    if as_json:
        hits = [_hit(scored) for scored in found.hits]
        console.as_json({"query": words, "mode": found.mode.value, "notice": found.notice, "hits": hits})
        return 0
    for scored in found.hits:
        hit = scored.hit
        about = ", ".join(part for part in (hit.status, hit.project) if part)
        console.data(f"{hit.short}  {console.one_line(hit.title)}" + (f"  ({about})" if about else ""))
        if hit.snippet and hit.snippet != hit.title:
            console.data(f"    {console.one_line(hit.snippet)}")
        if explain:
            console.data(f"    = {_parts(scored)}")
    if not found.hits:
        console.info(f"nothing found for {words[:80]!r}")
    return 0


def _search_messages(forge: Forge, words: str, project: str | None, limit: int, *, as_json: bool) -> int:
    """Search the kept texts of conversations, turn by turn."""
    registry = partial(forge)
    owner = forge.known_project(project, registry).id if project is not None else None
    found = forge.catalogue.messages(words, project=owner, limit=limit)
    talk_of_unreadable(forge)
    if as_json:
        hits = [
            {
                "kind": "message",
                "conversation_id": hit.conversation,
                "short_id": short_id(Kind.CONVERSATION, hit.conversation),
                "turn": hit.number,
                "speaker": hit.speaker,
                "created_at": None if hit.time is None else format_instant(Instant(hit.time)),
                "title": hit.title,
                "project_name": hit.project,
                "snippet": hit.snippet,
                "score": hit.score,
            }
            for hit in found
        ]
        console.as_json({"query": words, "mode": "lexical", "notice": "", "hits": hits})
        return 0
    for hit in found:
        name = short_id(Kind.CONVERSATION, hit.conversation)
        console.data(
            f"{name} turn {hit.number}, {hit.speaker}  {console.one_line(hit.title)}  "
            f"({console.one_line(hit.project)})"
        )
        console.data(f"    {console.one_line(hit.snippet)}")
    if not found:
        kept = (
            ""
            if forge.catalogue.entities(Kind.TRANSCRIPT)
            else "; no text is kept: `forgekit ingest --with-text`"
        )
        console.info(f"nothing found for {words[:80]!r}{kept}")
    return 0


def _parts(scored: Scored) -> str:
    if scored.named:
        return "named by the query"
    share = "" if scored.share is None else f"share {scored.share:.3f}, "
    words = "no word found it" if scored.lexical_rank is None else f"words: {share}rank {scored.lexical_rank}"
    meaning = "" if scored.cosine is None else f"meaning: cosine {scored.cosine:.3f}"
    if scored.semantic_rank is not None:
        meaning += f", rank {scored.semantic_rank}"
    return "; ".join(part for part in (words, meaning, f"score {scored.score:.6f}") if part)


def _hit(scored: Scored) -> dict[str, object]:
    hit = scored.hit
    return {
        "kind": hit.kind.value,
        "id": hit.id,
        "short_id": hit.short,
        "title": hit.title,
        "status": hit.status,
        "project_name": hit.project,
        "snippet": hit.snippet,
        "score": round(scored.score, 6),
        "named": scored.named,
        "lexical_rank": scored.lexical_rank,
        "share": scored.share,
        "semantic_rank": scored.semantic_rank,
        "cosine": scored.cosine,
        "path": hit.path,
    }
