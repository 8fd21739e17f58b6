"""The conventions in force, written between marks into the memory files of coding agents."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from forgekit.errors import FormatError
from forgekit.forge import Forge
from forgekit.frozen import field, frozen
from forgekit.ids import EntityId
from forgekit.index.finding_cache import kept_contradicted
from forgekit.insight.conventions import (
    RULE_FILE,
    Life,
    Stage,
    compared,
    contradicted,
    injected,
    lives,
    within,
)
from forgekit.model.entities import Convention, ConventionForm, Conversation
from forgekit.model.kinds import Kind, short_id
from forgekit.text.blocks import quote
from forgekit.text.markers import edited, put
from forgekit.worktree import files, local_state
from forgekit.worktree.roots import cache_dir, top_of

RULES = ".claude/rules"
_OWN_RULES = re.compile(r"forgekit-[a-z0-9-]{1,80}\.md")
_AVOID = "Anti-patterns:\n\n"
_EARLIER = "Stated earlier, and contradicted by one above:\n\n"
_FRAME = f"## Conventions\n\n\n{_AVOID}"
_WAIT_MS = 5_000
"""How long to judge pairs that are not cached."""
_HEAD = '---\npaths: ["{}/**"]\n---\n'


@frozen(kw_only=True)
class Injection:
    """What is injected.

    Attributes:
        edits: files that change; lines that somebody wrote between the marks are `lost`.
        kept: the conventions in them.
        left_out: active ones that the cap or the budget leaves out.
        ended: those that the files held and that are in force no more.
        checked: nothing was to be written.
    """

    edits: Sequence[files.FileEdit]
    kept: Sequence[Life]
    left_out: Sequence[Life] = field(default=())
    ended: Sequence[Life] = field(default=())
    checked: bool = False


def inject(
    forge: Forge,
    target: str = "CLAUDE.md",
    *,
    project: str | None = None,
    check: bool = False,
) -> Injection:
    """Write the conventions in force into an agent's files of the project that the working folder belongs to.

    Args:
        project: a project's name, else the default or only one.

    Raises FormatError for a file that cannot be read or whose marks are broken; then no file is changed.
    """
    from forgekit.findings import judged_texts  # no hook needs it

    registry = forge.registry()
    name = forge.project(project, registry)
    owner = forge.known_project(name or "", registry).id
    judged_texts(forge, compared(c for c in registry.conventions if c.project_uuid == owner), {}, _WAIT_MS)
    return inject_for(forge, owner, target, check=check, folder=Path.cwd())


def inject_for(forge: Forge, owner: EntityId, target: str, *, check: bool, folder: Path) -> Injection:
    """Do as `inject`, for a project's id; no library is loaded and no other entity is read."""
    every = forge.catalogue.entities(Kind.CONVENTION, project=owner)
    conversations = forge.catalogue.entities(Kind.CONVERSATION, project=owner) if every else []
    found = lives(
        (each for each in every if isinstance(each, Convention)),
        (each for each in conversations if isinstance(each, Conversation)),
    )
    chosen, beyond = injected(found.values())
    earlier = contradicted(chosen, kept_contradicted(cache_dir(forge.root), found))
    own = (life for life in chosen if not _is_in(target, life.convention))
    kept, cut = within(own, _line, f"{_FRAME}{_EARLIER}" if earlier else _FRAME)
    top = top_of(folder)
    scoped: dict[str, list[Life]] = defaultdict(list)
    for life in kept:
        scoped[_prefix(life.convention.evidence)].append(life)
    wanted = {target: ("", _block(scoped.pop("", []), earlier))}
    rules = sorted((top / RULES).glob("forgekit-*.md"))
    wanted |= {f"{RULES}/{path.name}": ("", "") for path in rules if _OWN_RULES.fullmatch(path.name)}
    for prefix, some in sorted(scoped.items()):
        slug = re.sub(r"[^a-z0-9]+", "-", prefix.lower()).strip("-")[:80]
        wanted[f"{RULES}/forgekit-{slug}.md"] = (_HEAD.format(prefix), _block(some, earlier))
    ours = {*map(_line, found.values()), *f"{_FRAME}{_EARLIER}".splitlines()}
    edits = [edit for path, (head, block) in wanted.items() if (edit := _edit(top, path, head, block, ours))]
    held = "".join(edit.before or "" for edit in edits)
    ended = [
        life
        for key, life in found.items()
        if life.stage is not Stage.ACTIVE and f"{short_id(Kind.CONVENTION, key)})" in held
    ]
    if not check:
        _write(top, edits)
        if state := forge.catalogue.state():
            written = (top / path for path in wanted)
            local_state.record_injection(forge.root, top / target, owner, state, written)
    return Injection(edits=edits, kept=kept, left_out=[*cut, *beyond], ended=ended, checked=check)


def _line(life: Life) -> str:
    """Return a convention as one list item that nothing in its text can leave."""
    scope = ", ".join(f"`{quote(each).replace('`', '')}`" for each in life.convention.scope)
    name = short_id(Kind.CONVENTION, life.convention.id)
    return f"- {quote(life.convention.convention)} ({f'{scope}; ' if scope else ''}{name})"


def _block(kept: Sequence[Life], earlier: Collection[EntityId]) -> str:
    """Return the lines between the marks; "" without conventions."""
    lines: dict[str, list[str]] = {"": [], _AVOID: [], _EARLIER: []}
    for life in kept:
        own = _AVOID if life.convention.form is ConventionForm.ANTI_PATTERN else ""
        lines[_EARLIER if life.convention.id in earlier else own].append(f"{_line(life)}\n")
    parts = ["".join([head, *some]) for head, some in lines.items() if some]
    return "## Conventions\n\n" + "\n".join(parts) if parts else ""


def _is_in(target: str, convention: Convention) -> bool:
    """Say whether a convention was read out of a file, which has no need of a second copy."""
    return any(line.rpartition(":")[0] == target for line in convention.evidence)


def _prefix(evidence: Iterable[str]) -> str:
    """Return the folder of two levels that holds most files of evidence, "" where it holds too few."""
    paths = {line.rpartition(":")[0] for line in evidence if ":" in line}
    below: dict[str, int] = defaultdict(int)
    for path in paths:
        parts = path.split("/")
        if len(parts) > 2 and re.fullmatch(r"[\w.-]+/[\w.-]+", "/".join(parts[:2])):
            below["/".join(parts[:2])] += 1
    best = max(below, key=lambda prefix: (below[prefix], prefix), default="")
    return best if best and below[best] >= RULE_FILE else ""


def _edit(top: Path, path: str, head: str, block: str, ours: set[str]) -> files.FileEdit | None:
    """Return the change of a file, None for none; a file of rules without rules is deleted.

    `ours` are the lines that may be between the marks.
    """
    if (top / path).is_symlink():
        raise FormatError("is a link; give the file itself as --target", path=path)
    data = files.read_bytes(top, path)
    before = None if data is None else data.decode("utf-8", "surrogateescape")
    text = head if before is None else before
    try:
        after: str | None = put(text, block)
        theirs = edited(text)
    except FormatError as e:
        raise e.at(path) from None
    empty = path.startswith(RULES) and re.fullmatch(r"(?s)---\npaths: [^\n]*\n---\n", after or "")
    if not block and (empty or before is None):
        after = None
    if after == before:
        return None
    lost = tuple(line.strip() for line in theirs if line.strip() and line.rstrip("\r\n") not in ours)
    return files.FileEdit(top / path, before, after, lost)


def _write(top: Path, edits: Iterable[files.FileEdit]) -> None:
    mark = str(os.getpid())
    for edit in edits:
        data = None if edit.after is None else edit.after.encode("utf-8", "surrogateescape")
        files.replace(top, edit.path.relative_to(top).as_posix(), data, mark)
