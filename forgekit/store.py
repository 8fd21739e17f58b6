"""The store: the only writer of `registry/` and `archives/`.

A write is: take the writers' lock, decide, build the commit from the tip's own tree, publish it. It is
acknowledged only when the branch holds it. What is staged or edited by hand stays as it was; a write that
needs a file with uncommitted work is refused with the file's name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.errors import DirtyFileError, FormatError, SecretError, StoreError, WriteError
from forgekit.frozen import frozen
from forgekit.model.entities import Entity, entity_path, references
from forgekit.model.kinds import path_of
from forgekit.model.registry import Registry
from forgekit.text import codec
from forgekit.text.edit import update
from forgekit.text.frontmatter import decode
from forgekit.text.secrets import find
from forgekit.worktree import files
from forgekit.worktree.roots import cache_dir

_KEY = re.compile(r"([A-Za-z_][\w-]{0,60}):")
_HEADING = re.compile(r"## (.{1,60})")


if TYPE_CHECKING:
    from forgekit.git.publish import Publication
    from forgekit.git.repository import Head, Repository

WRITER_SECONDS = 30.0


@frozen(kw_only=True)
class Change:
    """What a use case decided to write, as one commit.

    Attributes:
        writes: entities as they are to be.
        deletes: paths of entity files.
        files: path -> bytes of other files, such as `forgekit.toml`; None for one to delete.
        over: path -> the uncommitted bytes that this change was made from, and so may replace.
        commit: an existing commit that holds just these files beside the tip's, and is to become the tip.
        result: whatever the use case wants back.
    """

    writes: tuple[Entity, ...] = ()
    deletes: tuple[str, ...] = ()
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    over: Mapping[str, bytes] = field(default_factory=dict)
    commit: str | None = None
    subject: str
    trailers: tuple[tuple[str, str], ...] = ()
    result: object = None


@frozen(kw_only=True)
class Outcome:
    """What a write did.

    Attributes:
        commit: None when nothing was to be changed, or nothing was to be committed.
        written: paths of new and changed files.
        created: those of them that were no files before.
        diff: unified; on a dry run only.
        change: as it was last decided.
    """

    commit: str | None
    written: tuple[str, ...]
    deleted: tuple[str, ...]
    diff: str
    change: Change
    created: frozenset[str] = frozenset()


@frozen(kw_only=True)
class _Edit:
    """One file to change: blobs of tip and work tree, the bytes there, the bytes to be; None for no file."""

    path: str
    old: str | None
    before: str | None
    present: bytes | None
    new: bytes | None
    clean: bool


class Store:
    """Reads and writes one registry's files.

    Args:
        allowed: returns the fingerprints of secrets that may be written.
    """

    def __init__(self, root: Path, allowed: Callable[[], Collection[str]] = frozenset) -> None:
        self.root = root.resolve()
        self._allowed = allowed

    @cached_property
    def repository(self) -> Repository:
        """The git repository around the registry; opened when first asked for.

        Raises RepositoryError.
        """
        from forgekit.git.repository import Repository

        return Repository(self.root)

    def load_at(self, revision: str) -> Registry:
        """Read everything as a revision or date holds it; raises NotFoundError."""
        repository = self.repository
        blobs = repository.blobs(repository.resolve(revision))
        named = {path: blob for path, blob in blobs.items() if files.entity_of_path(path) is not None}
        return files.registry_of({p: partial(repository.read_blob, blob) for p, blob in named.items()})

    def commit(
        self, decide: Callable[[], Change], *, dry_run: bool = False, no_commit: bool = False
    ) -> Outcome:
        """Write what `decide` decides, as one commit.

        Args:
            decide: reads the registry and returns what to write; runs again when another commit came first.
            dry_run: return the diff, write nothing.
            no_commit: write the files, leave committing to the person.

        Raises DirtyFileError, LockedError, WriteError, RepositoryError, FormatError, RuleError, SecretError;
        then nothing was written. Raises UnsureError when the change may have been applied.
        """
        if dry_run:
            from forgekit.git.repository import diff

            change = decide()
            edits = self._unstaged_edits(change, no_commit=no_commit)
            shown = "".join(diff(edit.present, edit.new, edit.path) for edit in edits)
            return _outcome(change, edits, diff=shown)
        from forgekit.git.commits import failures
        from forgekit.git.publish import recover

        with self._writing(), failures(self.root):
            recover(self.repository)
            if no_commit:
                change = decide()
                edits = self._unstaged_edits(change, no_commit=True)
                self._place(edits)
                return _outcome(change, edits)
            until, pause = time.monotonic() + WRITER_SECONDS, 0.001
            while time.monotonic() < until:
                outcome = self._attempt(decide)
                if outcome is not None:
                    return outcome
                time.sleep(pause)
                pause = min(2 * pause, 0.02)
            ref = self.repository.head().ref
            raise StoreError(f"other commits moved {ref} for {WRITER_SECONDS:.0f} s; run this again")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock that serialises the writers of all work trees; a dead process holds none."""
        from forgekit.git.commits import failures

        path = cache_dir(self.root) / "write.lock"
        with failures(path):
            path.parent.mkdir(exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            with failures(path):
                _wait_for_turn(handle, path)
            yield
        finally:
            os.close(handle)

    def _edits(self, change: Change, head: Head, *, no_commit: bool = False) -> list[_Edit]:
        """Return the edits of a change; raise DirtyFileError for a file that is not as the tip has it."""
        wanted: dict[str, Entity | bytes | None] = {entity_path(entity): entity for entity in change.writes}
        for path in change.deletes:
            if files.entity_of_path(path) is None:
                raise FormatError("is not where any entity is filed", path=path)
            wanted[path] = None
        for path, data in change.files.items():
            files.require_plain(path)
            wanted[path] = data
        found = (self._edit(path, to_be, head, no_commit=no_commit) for path, to_be in wanted.items())
        edits = [edit for edit in found if edit is not None]
        dirty = [
            edit.path
            for edit in edits
            if not edit.clean and (edit.present is None or change.over.get(edit.path) != edit.present)
        ]
        if edits and not no_commit:
            dirty += self._unregistered(change.writes, head)
        if dirty:
            raise DirtyFileError(sorted(dirty))
        if change.commit is None:
            self._refuse_secrets(edits)
        return sorted(edits, key=lambda edit: edit.path)

    def _unregistered(self, entities: Sequence[Entity], head: Head) -> list[str]:
        """Return the files that entities name and no commit holds: a clone would miss them."""
        named = {
            path_of(kind, target)
            for entity in entities
            for _, target, kinds in references(entity)
            for kind in kinds
        }
        beside = sorted(named - {entity_path(entity) for entity in entities})
        there = [path for path in beside if (self.root / path).is_file()]
        return [path for path in there if self.repository.blob_id(head.commit, path) is None]

    def _refuse_secrets(self, edits: Iterable[_Edit]) -> None:
        """Raise SecretError for the first secret that a file would gain."""
        for edit in edits:
            text = (edit.new or b"").decode("utf-8", "replace")
            if not find(text):
                continue
            committed = self.repository.read_blob(edit.old).decode("utf-8", "replace") if edit.old else ""
            known = {finding.fingerprint for finding in find(committed)}
            for found in find(text, {*self._allowed(), *known}):
                field = _field_at(text, found.line)
                raise SecretError(
                    path=edit.path, line=found.line, field=field, rule=found.rule, name=found.fingerprint
                )

    def _unstaged_edits(self, change: Change, *, no_commit: bool) -> list[_Edit]:
        """Return the edits; raise DirtyFileError for what is staged as well."""
        edits = self._edits(change, self.repository.head(), no_commit=no_commit)
        self._staged(edits)
        return edits

    def _staged(self, edits: list[_Edit]) -> dict[str, str | None]:
        """Return the blob that the index holds of each file; refuse one that is staged alone."""
        known = self.repository.index()
        staged = {edit.path: known.get(edit.path) for edit in edits}
        dirty = [edit.path for edit in edits if staged[edit.path] not in {edit.old, edit.before}]
        if dirty:
            raise DirtyFileError(dirty)
        return staged

    def _edit(self, path: str, wanted: Entity | bytes | None, head: Head, *, no_commit: bool) -> _Edit | None:
        """Return the edit of a file, or None where nothing changes."""
        old = self.repository.blob_id(head.commit, path)
        base = present = files.read_bytes(self.root, path)
        before = _blob(present)
        clean = old == before
        if not clean and old is not None and present is not None:
            committed = self.repository.read_blob(old)
            if b"\r\n" not in committed:  # line ends converted on checkout: what git holds is what is edited
                base = present.replace(b"\r\n", b"\n")
                # git can be configured to ignore changes of a file, so its status is not enough.
                clean = base == committed and self.repository.unchanged(path)
        new = wanted if wanted is None or isinstance(wanted, bytes) else _rendered(wanted, base)
        if new == base and (clean or no_commit):
            return None
        return _Edit(path=path, old=old, before=before, present=present, new=new, clean=clean)

    def _attempt(self, decide: Callable[[], Change]) -> Outcome | None:
        """Decide and commit; None when HEAD moved away, or files keep changing."""
        from forgekit.git.publish import publish

        decided: list[tuple[Change, list[_Edit]]] = []

        def propose(head: Head) -> Publication | None:
            self.repository.require_writable()
            change = decide()
            edits = self._edits(change, head)
            decided.append((change, edits))
            if not edits and change.commit in {None, head.commit}:
                return None
            return self._publication(change, edits, head)

        first = propose(self.repository.head())
        final = None if first is None else publish(self.repository, first, propose)
        if first is not None and final is None:
            return None
        change, edits = decided[-1]
        return _outcome(change, edits, commit=final.commit if final is not None else None)

    def _publication(self, change: Change, edits: list[_Edit], head: Head) -> Publication:
        from forgekit.git.commits import build_commit, store_blobs
        from forgekit.git.publish import Publication, Step

        contents = {edit.path: edit.new for edit in edits}
        commit = change.commit or build_commit(
            self.repository, head.commit, contents, change.subject, change.trailers
        )
        replaced = [e.present for e in edits if e.before != e.old and e.present is not None]
        store_blobs(self.repository, replaced)
        staged = self._staged(edits) if replaced else {e.path: e.old for e in edits}
        return Publication(
            prefix=self.repository.prefix,
            ref=head.ref,
            parent=head.commit,
            commit=commit,
            subject=change.subject,
            steps=tuple(
                Step(path=e.path, old=e.old, before=e.before, staged=staged[e.path], new=_blob(e.new))
                for e in edits
            ),
        )

    def _place(self, edits: list[_Edit]) -> None:
        """Write the files alone: all of them, or none."""
        mark = str(os.getpid())
        try:
            for edit in edits:
                if edit.new is not None:
                    files.stage(self.root, edit.path, edit.new, mark)
            for edit in edits:
                if edit.new is not None:
                    files.place(self.root, edit.path, mark)
                else:
                    files.remove(self.root, edit.path)
        except BaseException:
            for edit in edits:
                with contextlib.suppress(WriteError, FormatError):
                    files.discard(self.root, edit.path, mark)
                    if files.read_bytes(self.root, edit.path) != edit.present:
                        files.replace(self.root, edit.path, edit.present, mark)
            raise
        files.settle(self.root, [edit.path for edit in edits])


def _field_at(text: str, line: int) -> str:
    """Return the front-matter key or the section of the body that a line belongs to, or ""."""
    above = text.split("\n")[:line]
    if not above or above[0].strip() != "---":
        return ""
    in_body = "---" in (each.strip() for each in above[1:])
    pattern = _HEADING if in_body else _KEY
    found = (pattern.match(each) for each in reversed(above))
    return next((match[1].lower() for match in found if match), "body" if in_body else "")


def _wait_for_turn(handle: int, path: Path) -> None:
    """Lock the open file; give up when one holder keeps it for too long, not when many take turns.

    A process that has waited long polls more often, and so comes before one that has just written.
    """
    from forgekit.git.publish import lock_error

    turn, until, begun = 0, 0.0, time.monotonic()
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            current = os.fstat(handle).st_mtime_ns
            if current != turn:
                turn, until = current, time.monotonic() + WRITER_SECONDS
            elif time.monotonic() > until:
                raise lock_error(path, os.pread(handle, 20, 0).decode("ascii", "replace").split()) from None
            time.sleep(max(0.0003, 0.005 / (1 + time.monotonic() - begun) ** 2))
        else:
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            return


def _blob(data: bytes | None) -> str | None:
    from forgekit.git.repository import blob_of

    return None if data is None else blob_of(data)


def _rendered(entity: Entity, base: bytes | None) -> bytes:
    """Return the bytes of an entity's file: edited where there is one, so that hand-written parts stay."""
    path = entity_path(entity)
    try:
        text = codec.dumps(entity) if base is None else update(decode(base), entity)
        data = text.encode()
        decode(data)  # what is too large to be read is not written
    except FormatError as e:
        raise e.at(path) from None
    return data


def _outcome(change: Change, edits: list[_Edit], *, commit: str | None = None, diff: str = "") -> Outcome:
    return Outcome(
        commit=commit,
        written=tuple(edit.path for edit in edits if edit.new is not None),
        deleted=tuple(edit.path for edit in edits if edit.new is None),
        diff=diff,
        change=change,
        created=frozenset(edit.path for edit in edits if edit.old is None and edit.before is None),
    )
