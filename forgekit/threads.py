"""Threads: questions that work has to come back to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from forgekit.errors import NotFoundError, TransitionError
from forgekit.forge import Forge, opened
from forgekit.ids import EntityId, project_id, thread_id
from forgekit.model.body import with_section
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import statement
from forgekit.model.thread import Priority, Thread, ThreadStatus
from forgekit.policy.derived import Derived
from forgekit.search import search
from forgekit.times import Instant
from forgekit.writing import COMMITTED, How, Written, write

_PRIORITIES = list(Priority)


def in_registry(registry: Registry, entity: EntityId) -> Thread:
    """Return a thread of the registry.

    Raises NotFoundError.
    """
    thread = registry.get(entity)
    if not isinstance(thread, Thread):
        raise NotFoundError("thread", entity)
    return thread


def create(
    forge: Forge,
    title: str,
    *,
    project: str | None = None,
    local_id: str | None = None,
    conversation: str | None = None,
    content: str = "",
    priority: Priority = Priority.MEDIUM,
    blocked_by: Iterable[str] = (),
    tags: Iterable[str] = (),
    at: Instant | None = None,
    how: How = COMMITTED,
) -> Written:
    """Register a thread; one of the same title in the project and conversation is returned as it is.

    Args:
        forge: the registry.
        title: one line.
        project: a project's name; a new one is registered along with the thread.
        local_id: what the conversation calls it, such as `T001`.
        conversation: the one that shows it, by any name.
        content: a description, Markdown.
        priority: how much it matters.
        blocked_by: other threads, by any name.
        tags: words.
        at: event time in ms since 1970, else that of the conversation, else now.
        how: dry run, or without a commit.
    """
    source = forge.resolve(conversation, Kind.CONVERSATION) if conversation else None
    blockers = tuple(sorted(forge.resolve(name, Kind.THREAD) for name in blocked_by))
    line = statement(title)

    def decide(registry: Registry) -> list[Entity]:
        name = forge.project(project, registry) or ""
        owner = project_id(name)
        moment = at if at is not None else forge.now()
        for standing in forge.titled(Kind.THREAD, line, owner):
            if isinstance(standing, Thread) and standing.first_seen_in == source:
                return [standing]
        thread = Thread(
            thread_id=thread_id(owner, line, source or EntityId(""), moment),
            title=line,
            priority=priority,
            project_name=name,
            project_uuid=owner,
            local_id=local_id,
            blocked_by=blockers,
            first_seen_in=source,
            conversation_ids=(source,) if source else (),
            created_at=moment,
            updated_at=moment,
            tags=tuple(tags),
            body=with_section("", None, content),
        )
        return [thread, *forge.new_project(name, registry)]

    return write(forge, decide, "thread new", how)


def end(
    forge: Forge,
    name: str,
    status: ThreadStatus,
    *,
    resolution: str = "",
    conversation: str | None = None,
    at: Instant | None = None,
    how: How = COMMITTED,
) -> Written:
    """End an open thread: resolved, superseded or abandoned.

    Raises TransitionError when it has ended already in another way.
    """
    key = forge.resolve(name, Kind.THREAD)
    source = forge.resolve(conversation, Kind.CONVERSATION) if conversation else None
    verbs = {
        ThreadStatus.RESOLVED: "resolve",
        ThreadStatus.SUPERSEDED: "supersede",
        ThreadStatus.ABANDONED: "abandon",
    }

    def decide(registry: Registry) -> list[Thread]:
        thread = in_registry(registry, key)
        if thread.status.ended:
            if thread.status is status and resolution in {"", thread.resolution}:
                return [thread]
            short = short_id(Kind.THREAD, key)
            raise TransitionError(
                f"{short} is already {thread.status.value}; `forgekit thread reopen {short}` first"
            )
        return [
            replace(
                thread,
                status=status,
                resolved_in=source,
                conversation_ids=_with(thread.conversation_ids, source),
                updated_at=at if at is not None else forge.now(),
                body=with_section(thread.body, "Resolution", resolution),
            )
        ]

    return write(forge, decide, f"thread {verbs[status]}", how)


def reopen(
    forge: Forge,
    name: str,
    *,
    conversation: str | None = None,
    at: Instant | None = None,
    how: How = COMMITTED,
) -> Written:
    """Open a thread again: the one way back from an end."""
    key = forge.resolve(name, Kind.THREAD)
    source = forge.resolve(conversation, Kind.CONVERSATION) if conversation else None

    def decide(registry: Registry) -> list[Thread]:
        thread = in_registry(registry, key)
        if not thread.status.ended:
            return [thread]
        return [
            replace(
                thread,
                status=ThreadStatus.OPEN,
                resolved_in=None,
                conversation_ids=_with(thread.conversation_ids, source),
                updated_at=at if at is not None else forge.now(),
                body=with_section(thread.body, "Resolution", ""),
            )
        ]

    return write(forge, decide, "thread reopen", how)


def edit(
    forge: Forge,
    name: str,
    *,
    title: str | None = None,
    priority: Priority | None = None,
    content: str | None = None,
    blocked_by: Iterable[str] | None = None,
    tags: Iterable[str] | None = None,
    conversation: str | None = None,
    how: How = COMMITTED,
) -> Written:
    """Change what a thread says of itself; its id stays, its state too."""
    key = forge.resolve(name, Kind.THREAD)
    source = forge.resolve(conversation, Kind.CONVERSATION) if conversation else None
    blockers = (
        None if blocked_by is None else tuple(sorted(forge.resolve(b, Kind.THREAD) for b in blocked_by))
    )

    def decide(registry: Registry) -> list[Thread]:
        thread = in_registry(registry, key)
        return [
            replace(
                thread,
                title=statement(title) if title is not None else thread.title,
                priority=priority or thread.priority,
                blocked_by=blockers if blockers is not None else thread.blocked_by,
                tags=tuple(tags) if tags is not None else thread.tags,
                conversation_ids=_with(thread.conversation_ids, source),
                body=with_section(thread.body, None, content) if content is not None else thread.body,
            )
        ]

    return write(forge, decide, "thread edit", how)


def _with(ids: tuple[EntityId, ...], entity: EntityId | None) -> tuple[EntityId, ...]:
    return tuple(sorted({*ids, entity})) if entity else ids


def active(registry: Registry, project: str | None = None) -> list[Thread]:
    """Return the open threads, most important first, then newest."""
    chosen = [
        thread
        for thread in registry.threads
        if not thread.status.ended and (project is None or thread.project_name == project)
    ]
    return sorted(chosen, key=lambda t: (_PRIORITIES.index(t.priority), -t.created_at, t.id))


def thread_create(
    title: str,
    local_id: str | None = None,
    conversation_id: str | None = None,
    project_name: str | None = None,
    *,
    content: str = "",
    priority: str = "medium",
    blocked_by: Iterable[str] = (),
    tags: Iterable[str] = (),
    forge: Forge | None = None,
) -> dict[str, object]:
    """Register a thread and return it; arguments as of `create`."""
    forge = opened(forge)
    written = create(
        forge,
        title,
        project=project_name,
        local_id=local_id,
        conversation=conversation_id,
        content=content,
        priority=Priority(priority),
        blocked_by=blocked_by,
        tags=tags,
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
    """Change a thread's state, or what it says of itself, and return it.

    Args:
        thread_id: any name of the thread.
        status: `resolved`, `superseded`, `abandoned`, or `open` to reopen it.
        resolution: how it ended.
        conversation_id: where this happened.
        title: a new title; the id stays.
        priority: `high`, `medium` or `low`.
        content: a new description.
        forge: the registry, else that of the working directory.
    """
    forge = opened(forge)
    written = None
    if title is not None or priority is not None or content is not None or status is None:
        level = Priority(priority) if priority else None
        written = edit(
            forge, thread_id, title=title, priority=level, content=content, conversation=conversation_id
        )
    if status == ThreadStatus.OPEN.value:
        written = reopen(forge, thread_id, conversation=conversation_id)
    elif status is not None:
        written = end(
            forge,
            thread_id,
            ThreadStatus(status),
            resolution=resolution or "",
            conversation=conversation_id,
        )
    assert written is not None  # noqa: S101 - one of the branches ran
    return Derived(forge.registry()).view(written.entity)


def thread_active(project_name: str | None = None, *, forge: Forge | None = None) -> list[dict[str, object]]:
    """Return all open threads, most important first."""
    registry = opened(forge).registry()
    derived = Derived(registry)
    return [derived.view(thread) for thread in active(registry, project_name)]


def thread_search(
    query: str,
    status: str | None = "open",
    project_name: str | None = None,
    *,
    limit: int = 10,
    forge: Forge | None = None,
) -> list[dict[str, object]]:
    """Return the threads that a query finds, best first."""
    forge = opened(forge)
    found = search(forge, query, kinds=(Kind.THREAD,), status=status, project=project_name, limit=limit)
    registry = forge.registry()
    derived = Derived(registry)
    return [derived.view(thread) for hit in found.ids if (thread := registry.get(hit)) is not None]
