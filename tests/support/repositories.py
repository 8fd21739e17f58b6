"""Helpers of the tests that use a real repository."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from forgekit.ids import conversation_id, decision_id, project_id
from forgekit.index.catalogue import Catalogue
from forgekit.model.entities import Decision, Entity, entity_path
from forgekit.model.registry import Registry
from forgekit.model.transcript import Speaker, Turn
from forgekit.store import Change
from forgekit.text.codec import dumps
from forgekit.times import Instant, parse_instant

PROJECT = project_id("The Nexus")
BORN = parse_instant("2023-11-14T22:13:20Z")
TALK = conversation_id(PROJECT, "Resource ids", BORN)


def git(root: Path, *arguments: str, stdin: str = "") -> str:
    """Run git as a person would; a failure shows what it said."""
    done = subprocess.run(
        ["git", *arguments], cwd=root, input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def new_repository(root: Path, *options: str) -> Path:
    """Make a git repository with a `forgekit.toml` and one commit; by rules, so that processes agree."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet", *options)
    (root / "forgekit.toml").write_text('judge = "rules"\n', encoding="utf-8")
    git(root, "add", "forgekit.toml")
    git(root, "commit", "--quiet", "--message", "start")
    return root


def loaded(root: Path) -> Registry:
    """Return everything in the work tree, as a command without a cache reads it."""
    with tempfile.TemporaryDirectory() as cache:
        catalogue = Catalogue(root, Path(cache))
        try:
            catalogue.refresh()
            return catalogue.registry()
        finally:
            catalogue.close()


def write(root: Path, *entities: Entity) -> None:
    """Put entities where their files belong, without git."""
    for entity in entities:
        path = root / entity_path(entity)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dumps(entity).encode())


def in_turn(texts: Sequence[str], at: Instant) -> tuple[Turn, ...]:
    """Return what the user and the assistant say in turn, a minute apart."""
    return tuple(
        Turn(
            number=number,
            speaker=Speaker.USER if number % 2 else Speaker.ASSISTANT,
            time=Instant(at + number * 60_000),
            text=text,
        )
        for number, text in enumerate(texts, 1)
    )


def files(root: Path) -> dict[str, bytes]:
    """Return what a registry's Markdown files hold, by path."""
    found = [*(root / "registry").rglob("*.md"), *(root / "archives").rglob("*.md")]
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def decision(text: str, rationale: str = "") -> Decision:
    """Make a decision."""
    return Decision(
        decision_id=decision_id(PROJECT, text, TALK),
        decision=text,
        project_name="The Nexus",
        project_uuid=PROJECT,
        originated_in=TALK,
        created_at=BORN,
        last_validated=BORN,
        body=f"## Rationale\n\n{rationale}" if rationale else "",
    )


def path_of_text(text: str) -> str:
    """Return the path of the decision of this text."""
    return entity_path(decision(text))


def recording(*texts: str, rationale: str = "") -> Change:
    """Return the change that records decisions."""
    return Change(
        writes=tuple(decision(text, rationale) for text in texts),
        subject="decision: new",
        trailers=(("Forgekit-Op", "decision new"),),
    )
