"""What git remembers of an entity: its commits, its earlier versions, and where it came from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from forgekit.errors import NotFoundError, RepositoryError
from forgekit.forge import Forge
from forgekit.frozen import frozen
from forgekit.git.program import Commit, Program
from forgekit.ids import EntityId, is_id
from forgekit.model.entities import Conflict, ConflictStatus, Decision, DecisionStatus
from forgekit.model.kinds import Kind, path_of, short_id
from forgekit.times import Instant
from forgekit.worktree.roots import TOPS

if TYPE_CHECKING:
    from forgekit.model.entities import Entity
    from forgekit.model.registry import Registry


@frozen(kw_only=True)
class Provenance:
    """Where an entity came from.

    Attributes:
        archives: (tag, conversation, archive) of each archive that states it, oldest first.
        commit: the last one by then that touched its file, or None where there is none yet.
    """

    archives: tuple[tuple[str, EntityId, EntityId], ...]
    commit: Commit | None


def provenance(forge: Forge, registry: Registry, entity: Entity, revision: str | None) -> Provenance:
    """Return where an entity came from.

    Args:
        registry: as it was at the revision.
        revision: a revision or date; None for now.
    """
    stated = [a for a in registry.archives if any(known == entity.id for _, known in a.records)]
    stated.sort(key=lambda a: (a.compressed_at, a.id))
    tip = "HEAD" if revision is None else forge.store.repository.resolve(revision)
    commits = Program(forge.root).log(path_of(entity.kind, entity.id), limit=1, revision=tip)
    return Provenance(
        archives=tuple((a.compression_tag, a.conversation_id, a.id) for a in stated),
        commit=commits[0] if commits else None,
    )


def entity_history(
    forge: Forge, name: str, *, kind: str | None = None, limit: int | None = None
) -> list[Commit]:
    """Return the commits that touched an entity, newest first; one that was deleted answers to its ids.

    Raises NotFoundError, AmbiguousError.
    """
    git = Program(forge.root)
    kinds = (Kind(kind),) if kind else ()
    # The path of a whole id is known: no index is asked, and the file may be gone.
    paths = [path_of(each, EntityId(name)) for each in kinds or Kind] if is_id(name) else []
    paths.sort(key=lambda path: not (git.root / path).is_file())
    found = next(filter(None, (git.log(path, limit=limit) for path in paths)), [])
    if not found:
        try:
            entity = forge.entity(name, *kinds)
            path = path_of(entity.kind, entity.id)
        except NotFoundError:
            _, path = deletion(forge, name, kinds)
            if not path:
                raise
        found = git.log(path, limit=limit)
    git.keep_graph()
    return found


def deletion(forge: Forge, name: str, kinds: tuple[Kind, ...]) -> tuple[str, str]:
    """Return the newest commit that deleted the file of an entity, and its path; ("", "") where none did.

    Args:
        name: its uuid or short id.
        kinds: of these only; all where empty.
    """
    prefix, _, digits = name.rpartition("_")
    folders = [k.folder for k in kinds or Kind if is_id(name) or (k.prefix == prefix and len(digits) == 12)]
    options = ("--diff-filter=D", "--no-renames", "--relative", "--name-only", "-z", "--format=%x01%H")
    git = Program(forge.root)
    listed = git.attempt("log", *options, "HEAD", "--", *folders).stdout if folders else b""
    commit = ""
    for part in listed.decode("utf-8", "surrogateescape").split("\0"):
        text = part.lstrip("\n")
        if text.startswith("\1"):
            commit = text[1:]
        elif text.endswith(f"{digits}.md"):
            return commit, text
    return "", ""


def endings(forge: Forge, decisions: Iterable[Decision]) -> dict[EntityId, Instant]:
    """Return when a person, or the answer to a conflict, put decisions out of force, as the commits say.

    What archives say of it has no commit of its own, and what was revised is dated by its revision.
    """
    ended = {d.id for d in decisions if d.status in (DecisionStatus.SUPERSEDED, DecisionStatus.INVALIDATED)}
    found: dict[EntityId, Instant] = {}
    paths = [path_of(Kind.DECISION, key) for key in sorted(ended)]
    for commit in Program(forge.root).log(*paths) if paths else ():  # newest first
        ending = ("Forgekit-Op", "decision invalidate"), ("Forgekit-Op", "decision supersede")
        by_command = not set(commit.trailers).isdisjoint(ending)
        for key, value in commit.trailers:
            if key == "Forgekit-Superseded" or (by_command and key == "Forgekit-Entity"):
                found.setdefault(EntityId(value.partition(" ")[0]), commit.time)
    return {key: at for key, at in found.items() if key in ended}


def out_of_force(forge: Forge, registry: Registry) -> dict[EntityId, Instant]:
    """Return since when decisions are out of force, as commits or the dates of their successors say."""
    ended = [d for d in registry.decisions if d.status.ended]
    after = {d.id: registry.get(d.superseded_by) for d in ended}
    dated = {key: new.created_at for key, new in after.items() if isinstance(new, Decision)}
    return dated | endings(forge, ended)


def settlings(forge: Forge, conflicts: Iterable[Conflict]) -> dict[EntityId, Instant]:
    """Return when those of some conflicts that are settled were last written, as the commits say."""
    ids = [c.id for c in conflicts if c.status is not ConflictStatus.OPEN]
    commits = Program(forge.root).log(*(path_of(Kind.CONFLICT, key) for key in ids)) if ids else []
    written = {value: commit.time for commit in reversed(commits) for _, value in commit.trailers}
    return {key: written[key] for key in ids if key in written}


def log(forge: Forge, *, limit: int | None = None, since: Instant | None = None) -> list[Commit]:
    """Return the commits that touched the registry's files, newest first."""
    return Program(forge.root).log(*TOPS, limit=limit, since=since)


def past_entity(forge: Forge, past: Registry, name: str, kinds: tuple[Kind, ...], revision: str) -> Entity:
    """Return what a name means in the registry of an earlier time.

    Args:
        forge: today's registry, which knows the names of today.
        past: the registry of that time.
        name: any name of today; or a uuid, a short id or a title of that time.
        kinds: of these only; all where empty.
        revision: how the person named that time, for the message.

    Raises NotFoundError, AmbiguousError.
    """
    try:
        key = forge.resolve(name, *kinds)
    except NotFoundError:
        known = [
            e
            for e in past
            if name in (e.id, short_id(e.kind, e.id), e.title) and (not kinds or e.kind in kinds)
        ]
        if len(known) != 1:
            raise
        return known[0]
    found = past.get(key)
    if found is None:
        today = forge.catalogue.entity(key)
        path = path_of(today.kind, key) if today is not None else ""
        unread = next((p for p in past.problems if p.path == path), None)
        why = f"its file could not be read at {revision}: {unread}" if unread else ""
        raise NotFoundError("entity", name, why or f"it is not in the registry of {revision}")
    return found


def uncommitted(forge: Forge) -> list[str]:
    """Return the paths of the registry's files with uncommitted changes; none outside git.

    libgit2, of which loading alone takes longer than git's answer, is asked only where there are filters,
    which git would run, or names that no registry has, which may be pipes.
    """
    try:
        found = None if forge.catalogue.problems() else Program(forge.root).status()
        if found is not None:
            return found
        from forgekit.git.repository import Repository

        return Repository(forge.root).changed_paths()
    except RepositoryError:
        return []
