"""The object behind every use case: one registry, with its store, catalogue, settings and clock.

`Forge.open` wires these. A use case is: load, decide (pure), write, one commit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from forgekit.errors import AmbiguousError, FormatError, NotFoundError, RuleError, UsageError
from forgekit.frozen import frozen, replace
from forgekit.ids import EntityId, match_key, normalise, project_id
from forgekit.model.kinds import Kind, path_of, short_id
from forgekit.times import Instant, parse_instant
from forgekit.worktree.roots import cache_dir, find_root, load_settings, require_schema

if TYPE_CHECKING:
    from forgekit.conflict.judge import Judge
    from forgekit.extraction.statements import StatementReader
    from forgekit.index.catalogue import Catalogue
    from forgekit.index.vectors import Vectors
    from forgekit.model.entities import Entity, Project
    from forgekit.model.registry import Registry
    from forgekit.model.settings import Settings
    from forgekit.models.encoder import Encoder, Missing
    from forgekit.store import Change, Outcome, Store


P = ParamSpec("P")

T = TypeVar("T")


def clock(env: Mapping[str, str] = os.environ) -> Instant:
    """Return the time, or `FORGEKIT_NOW`, for output that can be repeated; raise UsageError for no date."""
    fixed = env.get("FORGEKIT_NOW")
    try:
        return parse_instant(fixed) if fixed else Instant(time.time_ns() // 1_000_000)
    except ValueError as e:
        raise UsageError(f"FORGEKIT_NOW: {e}") from None


@frozen(kw_only=True)
class WriteOptions:
    """How to write.

    Attributes:
        dry_run: show the diff, write nothing.
        no_commit: write the files, leave committing to the person.
        seen: the entity that the caller read and based this change on; it must not have moved on since.
    """

    dry_run: bool = False
    no_commit: bool = False
    seen: Entity | None = None


COMMITTED = WriteOptions()


@frozen(kw_only=True, slots=False)
class Forge:
    """One registry, opened."""

    root: Path
    now: Callable[[], Instant] = clock
    allow: frozenset[str] = frozenset()
    """Fingerprints of secrets that may be written, beside those of the settings."""
    agent: str = ""
    """Who writes, where it is no person; named in the trailer of each commit."""
    on_new_project: Callable[[str, str | None], None] | None = None
    """Called for each project that a write makes, with its name and that of a similar known one."""

    @classmethod
    def open(
        cls,
        root: Path | str | None = None,
        env: Mapping[str, str] = os.environ,
        allow: Iterable[str] = (),
    ) -> Forge:
        """Open the registry at a folder, or the one that the working directory belongs to.

        Raises NoRegistryError, FormatError for a registry of another schema.
        """
        start = Path(root) if root is not None else Path.cwd()
        where = find_root(start, {} if root is not None else env)
        require_schema(where)
        return cls(root=where, now=lambda: clock(env), allow=frozenset(allow))

    @cached_property
    def settings(self) -> Settings:
        """What the registry's owners chose; raises FormatError for settings that cannot be read."""
        return load_settings(self.root)

    @cached_property
    def store(self) -> Store:
        """The only writer of this registry's files."""
        from forgekit.store import Store

        return Store(self.root, lambda: self.allowed)

    @property
    def allowed(self) -> frozenset[str]:
        """Fingerprints of secrets that may be written; settings that cannot be read allow none."""
        try:
            return self.allow.union(self.settings.allowed_secrets)
        except FormatError:
            return self.allow

    @cached_property
    def catalogue(self) -> Catalogue:
        """The index of the work tree's files."""
        from forgekit.index.catalogue import Catalogue

        return Catalogue(self.root, cache_dir(self.root), lambda: self.settings.labels)

    @cached_property
    def judge(self) -> Judge | Missing:
        """The judge of whether two decisions contradict each other, or why there is none."""
        from forgekit.models.choice import find_judge

        return find_judge(self.settings, cache_dir(self.root))

    @cached_property
    def statement_reader(self) -> StatementReader | Missing:
        """What reads decisions out of conversations, or why there is nothing that does."""
        from forgekit.models.choice import find_reader

        return find_reader(self.settings, cache_dir(self.root))

    def commit(self, decide: Callable[[], Change], options: WriteOptions = COMMITTED) -> Outcome:
        """Write what `decide` decides, as one commit; arguments and errors as of `Store.commit`."""
        outcome = self.store.commit(
            (lambda: _by_agent(decide(), self.agent)) if self.agent else decide,
            dry_run=options.dry_run,
            no_commit=options.no_commit,
        )
        if outcome.commit is not None:
            self.store.repository.pack()
        if self.on_new_project is not None:
            self._report_projects(outcome, self.on_new_project)
        return outcome

    def _report_projects(self, outcome: Outcome, report: Callable[[str, str | None], None]) -> None:
        from forgekit.model.rules import near_miss

        writes = [entity for entity in outcome.change.writes if entity.kind is Kind.PROJECT]
        made = [p.title for p in writes if path_of(p.kind, p.id) in outcome.created]
        if made:
            known = {project.project_name for project in self.registry().projects}.difference(made)
            for name in made:
                report(name, near_miss(name, known))

    @cached_property
    def encoder(self) -> Encoder | Missing:
        """What turns texts into vectors, or why there is nothing that does."""
        from forgekit.models.encoder import find_encoder

        return find_encoder(self.settings, cache_dir(self.root))

    @cached_property
    def vectors(self) -> Vectors | None:
        """The vectors of the work tree's entities; None where there is no encoder."""
        from forgekit.index.vectors import Vectors
        from forgekit.models.encoder import Missing

        if isinstance(self.encoder, Missing):
            return None
        return Vectors(cache_dir(self.root), self.encoder, self.catalogue.tree)

    @property
    def unread(self) -> str:
        """Say how many files could not be read at the last look, or ""."""
        bad = len({problem.path for problem in self.catalogue.problems()})
        files = "1 file" if bad == 1 else f"{bad:,} files"
        return f"{files} could not be read; `forgekit check` names them" if bad else ""

    def _not_found(self, what: str, name: str, hint: str) -> NotFoundError:
        """Return the error for a name that nothing answers to; a file that could not be read may hold it."""
        return NotFoundError(what, name, "; ".join(filter(None, (hint, self.unread))))

    def registry(self) -> Registry:
        """Return the registry of the work tree, uncommitted edits included; entities are read on demand."""
        from forgekit.index.lazy_registry import PartialRegistry

        self.catalogue.refresh()
        return PartialRegistry.over(self.catalogue)

    def titled(self, kind: Kind, title: str, project: EntityId) -> list[Entity]:
        """Return the entities of a project that have a title, as `match_key` compares them."""
        named = self.catalogue.find(title, (kind,))
        found = (self.catalogue.entity(candidate.id) for candidate in named)
        return [
            entity
            for entity in found
            if entity is not None
            and getattr(entity, "project_uuid", None) == project
            and match_key(entity.title) == match_key(title)
        ]

    def unsettled(self) -> list[Entity]:
        """Return the entities in which a merge kept what it could not choose between."""
        likely = self.catalogue.conflicting()
        if not likely:
            return []
        from forgekit.merge.conflicting_edits import fields_in_conflict

        registry = self.registry()
        return [entity for key in likely if (entity := registry.get(key)) and fields_in_conflict(entity)]

    def registry_at(self, revision: str) -> Registry:
        """Return the registry of a revision or date."""
        return self.store.load_at(revision)

    def resolve_all(self, names: Iterable[str], kind: Kind) -> tuple[EntityId, ...]:
        """Return the ids that a person means, in order and each once; errors as of `resolve`."""
        return tuple(sorted({self.resolve(name, kind) for name in names}))

    def resolve(self, name: str, *kinds: Kind) -> EntityId:
        """Return the id that a person means: uuid, short id, prefix, suffix, `TAG:D003`, title.

        Raises NotFoundError or AmbiguousError.
        """
        self.catalogue.refresh()
        try:
            return self.catalogue.resolve(name, kinds or None)
        except AmbiguousError:
            archived = self._archived_conversation(name, kinds)
            if archived is None:
                raise
            return archived
        except NotFoundError as e:
            # The tag of an archive names its conversation as well.
            archives = self.catalogue.find(name, (Kind.ARCHIVE,)) if kinds == (Kind.CONVERSATION,) else []
            found = {getattr(self.catalogue.entity(a.id), "conversation_id", None) for a in archives}
            if len(found) != 1 or None in found:
                raise self._not_found(e.what, e.name, e.hint) from None
            return EntityId(str(found.pop()))

    def _archived_conversation(self, name: str, kinds: tuple[Kind, ...]) -> EntityId | None:
        """Return the ingested conversation that shares its external id with an archive's conversation."""
        found = (self.catalogue.entity(match.id) for match in self.catalogue.find(name, kinds or None))
        conversations = [e for e in found if e is not None and e.kind is Kind.CONVERSATION]
        externals = {getattr(e, "external_id", None) or e.id for e in conversations}
        key = match_key(name)
        ingested = [
            e.id
            for e in conversations
            if getattr(e, "source", None) and key in {match_key(getattr(e, "external_id", None) or ""), e.id}
        ]
        return ingested[0] if len(ingested) == 1 and len(externals) == 1 else None

    def entity(self, name: str, *kinds: Kind) -> Entity:
        """Return the entity that a person means; errors as of `resolve`."""
        found = self.catalogue.entity(self.resolve(name, *kinds))
        if found is None:
            raise NotFoundError("entity", name)
        return found

    def new_project(self, name: str, registry: Registry) -> list[Project]:
        """Return the project to register along with its first entity; nothing where it is known.

        Raises RuleError where the file of another project was given this name.
        """
        from forgekit.model.entities import Project, entity_path

        project = Project(project_uuid=project_id(name), project_name=name)
        if project.id in registry.entities:
            return []
        if renamed := [other for other in registry.projects if other.project_name == name]:
            path = entity_path(renamed[0])
            raise RuleError(f"{path} was renamed to {name!r}; a project keeps its name, so undo that change")
        return [project]

    def project(self, name: str | None, registry: Registry, *, required: bool = True) -> str | None:
        """Return the project that a command works on: the one named, the default one, the only one.

        A name that differs from a known project's only in case is that project's.

        Raises UsageError where there is a choice and nobody made it, AmbiguousError.
        """
        wanted = name if name is not None else self.settings.project
        if wanted is not None:
            found = _project_named(wanted, registry)
            return found.project_name if found is not None else normalise(wanted)
        names = [project.project_name for project in registry.projects]
        if len(names) == 1:
            return names[0]
        if not required:
            return None
        known = f" (known: {', '.join(names)})" if names else ""
        raise UsageError(f"which project? say --project NAME{known}")

    def known_project(self, name: str, registry: Registry) -> Project:
        """Return a project that the registry knows, by its name or id.

        Raises NotFoundError, AmbiguousError where several names differ from this one only in case.
        """
        found = _project_named(name, registry)
        if found is None:
            names = ", ".join(sorted(p.project_name for p in registry.projects)) or "none yet"
            raise self._not_found("project", name, f"known projects: {names}")
        return found


def _by_agent(change: Change, agent: str) -> Change:
    return replace(change, trailers=(*change.trailers, ("Forgekit-Agent", agent)))


def _project_named(name: str, registry: Registry) -> Project | None:
    line = normalise(name)
    names = [(normalise(p.project_name), p) for p in registry.projects]
    exact = [p for known, p in names if line in (known, p.id, short_id(p.kind, p.id))]
    found = exact or [p for known, p in names if known.casefold() == line.casefold()]
    if len(found) > 1:
        raise AmbiguousError(name, [(short_id(p.kind, p.id), p.project_name) for p in found])
    return found[0] if found else None


def reading(function: Callable[Concatenate[Forge, P], T]) -> Callable[Concatenate[Forge, P], T]:
    """Make a function of a registry, which changes no file, look at the files once."""

    @wraps(function)
    def once(forge: Forge, /, *args: P.args, **options: P.kwargs) -> T:
        with forge.catalogue.held():
            return function(forge, *args, **options)

    return once


def opened(forge: Forge | None) -> Forge:
    """Return the registry given, else that of the working directory."""
    return forge if forge is not None else Forge.open()
