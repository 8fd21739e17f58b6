"""Threads: questions that work has to come back to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from forgekit.change import (
    COMMITTED,
    WriteOptions,
    Written,
    origin_of,
    require_same,
    typed,
    unclaimed,
    without_circle,
    word_of,
    write,
)
from forgekit.errors import TransitionError, UsageError
from forgekit.forge import Forge, opened
from forgekit.ids import EntityId, project_id, thread_id
from forgekit.insight.views import Derived
from forgekit.model.entities import Entity, Priority, Thread, ThreadStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import with_section
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
        forge: the registry.
        title: one line.
        project: a project's name, else the conversation's; a new one is registered along.
        local_id: what the conversation calls it, such as `T001`.
        conversation: the one that shows it, by any name; an unknown uuid is registered along.
        content: a description, Markdown.
        priority: how much it matters, else medium.
        blocked_by: other threads, by any name.
        tags: words.
        at: event time in ms since 1970, else the conversation's, else now.
        options: dry run, or without a commit.

    Raises TransitionError where that one has ended; RuleError where it differs, where the thread that
    had this title has another one now, and for a title that is too long.
    """
    level = _level(priority)
    line, words = typed(title, _MORE), tuple(dict.fromkeys(tags))
    values: dict[str, Any] = {
        "local_id": local_id,
        "blocked_by": forge.resolve_all(blocked_by, Kind.THREAD),
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


def end(
    forge: Forge,
    name: str,
    status: ThreadStatus | str,
    *,
    resolution: str = "",
    conversation: str | None = None,
    at: Instant | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """End an open thread: resolved, superseded or abandoned.

    Raises TransitionError when it has ended already, unless all that is given is so already, and for a time
    before its last change.
    """
    return _update(forge, name, ThreadStatus(status), resolution, conversation, at, options=options)


def resolve(forge: Forge, name: str, *, resolution: str = "", **more: Any) -> Written:
    """Resolve an open thread, for a person, who must say how; the rest as of `end`.

    Raises UsageError where there is no resolution.
    """
    if not resolution.strip():
        raise UsageError("how was the thread resolved? give --resolution TEXT")
    return end(forge, name, ThreadStatus.RESOLVED, resolution=resolution, **more)


def reopen(
    forge: Forge,
    name: str,
    *,
    conversation: str | None = None,
    at: Instant | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Open a thread again: the one way back from an end.

    Raises TransitionError when it is open already, unless all that is given is so already, and for a time
    before its last change.
    """
    return _update(forge, name, ThreadStatus.OPEN, "", conversation, at, options=options)


def edit(
    forge: Forge,
    name: str,
    *,
    title: str | None = None,
    priority: Priority | str | None = None,
    content: str | None = None,
    blocked_by: Iterable[str] | None = None,
    tags: Iterable[str] | None = None,
    conversation: str | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Change the fields of a thread; its id and its state stay.

    Raises RuleError for a title that is too long, and where threads would wait for each other.
    """
    values: dict[str, Any] = {}
    if title is not None:
        values["title"] = typed(title, _MORE)
    if priority is not None:
        values["priority"] = _level(priority)
    if blocked_by is not None:
        values["blocked_by"] = forge.resolve_all(blocked_by, Kind.THREAD)
    if tags is not None:
        values["tags"] = tuple(dict.fromkeys(tags))
    return _update(forge, name, None, "", conversation, None, content=content, options=options, **values)


def _update(
    forge: Forge,
    name: str,
    status: ThreadStatus | None,
    resolution: str,
    conversation: str | None,
    at: Instant | None,
    *,
    content: str | None = None,
    options: WriteOptions = COMMITTED,
    **values: Any,
) -> Written:
    """Change fields of a thread, its description, and its state where a status is given."""
    key = forge.resolve(name, Kind.THREAD)
    source = forge.resolve(conversation, Kind.CONVERSATION) if conversation else None

    def decide(registry: Registry) -> list[Thread]:
        thread = registry.expect(Thread, key)
        if status is not None:
            thread = _in_state(thread, status, resolution, source, at, forge.now())
        elif source is not None:
            thread = replace(thread, conversation_ids=_with(thread.conversation_ids, source))
        body = thread.body if content is None else with_section(thread.body, None, content)
        thread = replace(thread, body=body, **values)
        return [without_circle(thread, registry.threads) if values.get("blocked_by") else thread]

    return write(forge, decide, f"thread {_VERBS[status] if status else 'edit'}", options)


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
    return replace(
        thread,
        status=status,
        resolved_in=source if status.ended else None,
        conversation_ids=_with(thread.conversation_ids, source),
        updated_at=at if at is not None else max(now, thread.updated_at),
        body=with_section(thread.body, "Resolution", resolution),
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


def _level(priority: Priority | str | None) -> Priority | None:
    """Return a priority.

    Raises UsageError for another word.
    """
    return priority if isinstance(priority, Priority) else word_of(Priority, "priority", priority)


def active(registry: Registry, project: EntityId | None = None) -> list[Thread]:
    """Return the open threads, most important first, then newest."""
    chosen = [
        thread
        for thread in registry.threads
        if not thread.status.ended and (project is None or thread.project_uuid == project)
    ]
    return sorted(chosen, key=lambda t: (t.priority.rank, -t.created_at, t.id))


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
    return Derived(forge.registry()).view(written.entity)


def thread_update(
    thread_id: str,
    status: str | None = None,
    resolution: str | None = None,
    conversation_id: str | None = None,
    *,
    title: str | None = None,
    priority: str | None = None,
    content: str | None = None,
    forge: Forge | None = None,
) -> dict[str, object]:
    """Change a thread's state, or its fields, and return it.

    Args:
        thread_id: any name of the thread.
        status: `resolved`, `superseded`, `abandoned`, or `open` to reopen it.
        resolution: how it ended, with a status that ends it.
        conversation_id: where this happened.
        title: a new title; the id stays.
        priority: `high`, `medium` or `low`.
        content: a new description.
        forge: the registry, else that of the working directory.

    Raises UsageError for another status or priority, and for a resolution of what does not end;
    TransitionError as of `end` and `reopen`, then nothing was changed.
    """
    state = word_of(ThreadStatus, "status", status)
    values: dict[str, Any] = {} if priority is None else {"priority": _level(priority)}
    if resolution and not (state and state.ended):
        raise UsageError("a resolution needs an end; give status resolved, superseded or abandoned")
    if title is not None:
        values["title"] = typed(title, _MORE)
    forge = opened(forge)
    written = _update(
        forge, thread_id, state, resolution or "", conversation_id, None, content=content, **values
    )
    return Derived(forge.registry()).view(written.entity)


def thread_active(project_name: str | None = None, *, forge: Forge | None = None) -> list[dict[str, object]]:
    """Return all open threads, most important first.

    Raises NotFoundError for a project that is not known.
    """
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
