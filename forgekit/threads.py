"""Threads: questions that work has to come back to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from forgekit.change import (
    Written,
    moment_of,
    origin_of,
    require_same,
    typed,
    unclaimed,
    without_circle,
    word_of,
    write,
)
from forgekit.errors import NotFoundError, TransitionError, UsageError
from forgekit.forge import COMMITTED, Forge, WriteOptions, opened
from forgekit.ids import EntityId, project_id, thread_id
from forgekit.model.entities import Entity, Priority, Thread, ThreadStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import with_earlier_resolution, with_section
from forgekit.times import Instant, format_instant

_MORE = "--content"
_VERBS = {
    ThreadStatus.OPEN: "reopen",
    ThreadStatus.RESOLVED: "resolve",
    ThreadStatus.SUPERSEDED: "supersede",
    ThreadStatus.ABANDONED: "abandon",
}


def create(
    forge: Forge,
    title: str,
    *,
    project: str | None = None,
    local_id: str | None = None,
    conversation: str | None = None,
    content: str = "",
    priority: Priority | str | None = None,
    blocked_by: Iterable[str] = (),
    tags: Iterable[str] = (),
    at: Instant | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Register a thread; one of the same title in the project and conversation is returned as it is.

    Args:
        project: a project's name, else the conversation's; a new one is registered along.
        local_id: what the conversation calls it, such as `T001`.
        conversation: the one that shows it, by any name; an unknown uuid is registered along.
        priority: how much it matters, else medium.
        blocked_by: other threads, by any name; words of several that name none are what it waits for.
        at: event time in ms since 1970, else the conversation's, else now.

    Raises TransitionError where the existing thread has ended; RuleError where it differs, where the thread
    that had this title has another one now, and for a title that is too long.
    """
    level = word_of(Priority, "priority", priority)
    line, words = typed(title, _MORE), tuple(dict.fromkeys(tags))
    values: dict[str, Any] = {
        "local_id": local_id,
        "blocked_by": _blockers(forge, blocked_by),
        "tags": words,
    }

    def decide(registry: Registry) -> list[Entity]:
        origin = origin_of(forge, registry, project, conversation, at)
        source, owner = origin.conversation, project_id(origin.project)
        thread = Thread(
            thread_id=thread_id(owner, line, source or EntityId(""), origin.at),
            title=line,
            priority=level or Priority.MEDIUM,
            project_name=origin.project,
            project_uuid=owner,
            first_seen_in=source,
            conversation_ids=(source,) if source else (),
            created_at=origin.at,
            updated_at=origin.at,
            body=with_section("", None, content),
            **values,
        )
        titled = (e for e in forge.titled(Kind.THREAD, line, owner) if isinstance(e, Thread))
        same = sorted((t for t in titled if t.first_seen_in == source), key=lambda t: t.status.ended)
        if same:
            given: dict[str, Any] = {"priority": level, "content": thread.content, "created_at": at}
            return [require_same(_open(same[0]), **values, **given)]
        return [unclaimed(thread, registry), *origin.beside]

    return write(forge, decide, "thread new", options)


def update(
    forge: Forge,
    name: str,
    status: ThreadStatus | str | None = None,
    *,
    resolution: str | None = None,
    conversation: str | None = None,
    at: Instant | None = None,
    title: str | None = None,
    priority: Priority | str | None = None,
    content: str | None = None,
    blocked_by: Iterable[str] | None = None,
    tags: Iterable[str] | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Change a thread's state, where a status is given, and its fields; the id stays.

    Args:
        status: `resolved`, `superseded`, `abandoned`, or `open` to reopen it: the one way back from an end.
        resolution: how it ended, Markdown, with a status that ends it.
        conversation: where this happened.
        at: when its state changed, in ms since 1970, else now.
        title: in place of the old one; the rest alike.

    Raises TransitionError when it has that state already, unless all that is given is so already, and for a
    time before its last change; UsageError for another status or priority, and for a resolution of what does
    not end; RuleError for a title that is too long, and where threads would wait for each other.
    """
    state, at = word_of(ThreadStatus, "status", status), moment_of("at", at)
    if resolution and not (state and state.ended):
        raise UsageError("a resolution needs an end; give status resolved, superseded or abandoned")
    values: dict[str, Any] = {"priority": word_of(Priority, "priority", priority)}
    values["title"] = None if title is None else typed(title, _MORE)
    values["blocked_by"] = None if blocked_by is None else _blockers(forge, blocked_by)
    values["tags"] = None if tags is None else tuple(dict.fromkeys(tags))
    values = {field: value for field, value in values.items() if value is not None}
    key = forge.resolve(name, Kind.THREAD)
    source = forge.resolve(conversation, Kind.CONVERSATION) if conversation else None

    def decide(registry: Registry) -> list[Thread]:
        thread = registry.expect(Thread, key)
        if state is not None:
            thread = _in_state(thread, state, resolution or "", source, at, forge.now())
        elif source is not None:
            thread = replace(thread, conversation_ids=_with(thread.conversation_ids, source))
        body = thread.body if content is None else with_section(thread.body, None, content)
        thread = replace(thread, body=body, **values)
        return [without_circle(thread, registry.threads) if values.get("blocked_by") else thread]

    return write(forge, decide, f"thread {_VERBS[state] if state else 'edit'}", options)


def resolve(forge: Forge, name: str, *, resolution: str = "", **more: Any) -> Written:
    """Resolve an open thread, for a person, who must say how; the rest as of `update`.

    Raises UsageError where there is no resolution.
    """
    if not resolution.strip():
        raise UsageError("how was the thread resolved? give --resolution TEXT")
    return update(forge, name, ThreadStatus.RESOLVED, resolution=resolution, **more)


def _in_state(
    thread: Thread,
    status: ThreadStatus,
    resolution: str,
    source: EntityId | None,
    at: Instant | None,
    now: Instant,
) -> Thread:
    """Return a thread in a state, unchanged where all that is given is so already.

    Without a time it changes now, but not before its last change, even where that lies ahead.
    """
    where = {thread.resolved_in} if status.ended else set(thread.conversation_ids)
    known = source in {None, *where} and at in {None, thread.updated_at}
    if thread.status is status and known and resolution in {"", thread.resolution}:
        return thread
    short = short_id(Kind.THREAD, thread.id)
    if status.ended:
        _open(thread)
    elif not thread.status.ended:
        raise TransitionError(
            f"{short} is open already, and not since that date or in that conversation; leave both out"
        )
    if at is not None and at < thread.updated_at:
        raise TransitionError(
            f"{short} is {thread.status.value} since {format_instant(thread.updated_at)}, and "
            f"{format_instant(at)} lies before that; say a later --at, or leave it out"
        )
    body = thread.body
    if not status.ended and thread.resolution:  # a reopened thread keeps how it ended before
        body = with_earlier_resolution(body, thread.updated_at, thread.status.value, thread.resolution)
    return replace(
        thread,
        status=status,
        resolved_in=source if status.ended else None,
        conversation_ids=_with(thread.conversation_ids, source),
        updated_at=at if at is not None else max(now, thread.updated_at),
        body=with_section(body, "Resolution", resolution),
    )


def _open(thread: Thread) -> Thread:
    if thread.status.ended:
        short = short_id(Kind.THREAD, thread.id)
        raise TransitionError(
            f"{short} is already {thread.status.value}; `forgekit thread reopen {short}` first"
        )
    return thread


def _with(ids: tuple[EntityId, ...], entity: EntityId | None) -> tuple[EntityId, ...]:
    return tuple(sorted({*ids, entity})) if entity else ids


def _blockers(forge: Forge, names: Iterable[str]) -> tuple[str, ...]:
    """Return ids of threads, and words where several words name none; errors as of `Forge.resolve`."""

    def blocker(name: str) -> str:
        try:
            return forge.resolve(name, Kind.THREAD)
        except NotFoundError:
            if len(name.split()) < 2:
                raise
            return typed(name, "--content")

    return tuple(sorted({blocker(name) for name in names}))


def active(registry: Registry, project: EntityId | None = None, most: int | None = None) -> list[Thread]:
    """Return the open threads, most important first, then newest; at most so many."""
    ordered = sorted(registry.open_threads(project), key=lambda t: (t.priority.rank, -t.created_at, t.id))
    return registry.in_order(Thread, [thread.id for thread in ordered[:most]])


def thread_create(
    title: str,
    local_id: str | None = None,
    conversation_id: str | None = None,
    project_name: str | None = None,
    *,
    forge: Forge | None = None,
    **more: Any,
) -> dict[str, object]:
    """Register a thread and return it.

    Arguments as of `create`; `more` are its `content`, `priority`, `blocked_by`, `tags` and `at`.
    """
    forge = opened(forge)
    written = create(
        forge, title, project=project_name, local_id=local_id, conversation=conversation_id, **more
    )
    return written.view(forge)


def thread_update(
    thread_id: str,
    status: str | None = None,
    resolution: str | None = None,
    conversation_id: str | None = None,
    *,
    forge: Forge | None = None,
    **more: Any,
) -> dict[str, object]:
    """Change a thread's state, or its fields, and return it.

    Arguments and errors as of `update`; `more` are its `title`, `priority`, `content`, `blocked_by`, `tags`
    and `at`. Where an error is raised, nothing was changed.
    """
    forge = opened(forge)
    written = update(forge, thread_id, status, resolution=resolution, conversation=conversation_id, **more)
    return written.view(forge)


def thread_active(project_name: str | None = None, *, forge: Forge | None = None) -> list[dict[str, object]]:
    """Return all open threads, most important first; raises NotFoundError for a project that is not known."""
    from forgekit.insight.views import Derived

    forge = opened(forge)
    registry = forge.registry()
    derived = Derived(registry)
    project = forge.known_project(project_name, registry).id if project_name else None
    return [derived.view(thread) for thread in active(registry, project)]


def thread_search(
    query: str,
    status: str | None = "open",
    project_name: str | None = None,
    *,
    limit: int = 10,
    forge: Forge | None = None,
) -> list[dict[str, object]]:
    """Return the threads that a query finds, best first."""
    from forgekit.search import found_views

    return found_views(opened(forge), query, Kind.THREAD, status, project_name, limit)
