"""Make a registry of N invented entities in a new git repository: same seed, same bytes.

    python benchmarks/generate.py FOLDER 10000 [--seed 7] [--texts decisions.jsonl.gz]

Two entities of three are decisions, the rest threads and the conversations that hold both, spread over three
projects and two years. Their words come from short lists, or from the sentences of a file of real documents,
which keeps a realistic vocabulary and realistic neighbours.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from forgekit.ids import EntityId, conversation_id, decision_id, project_id, thread_id
from forgekit.model.entities import (
    Conversation,
    Decision,
    DecisionStatus,
    Entity,
    Priority,
    Project,
    Thread,
    ThreadStatus,
    entity_path,
)
from forgekit.text.codec import dumps
from forgekit.times import DAY_MS, Instant

START = Instant(1_704_067_200_000)  # 2024-01-01
SPAN_DAYS = 730
RECORDS_PER_CONVERSATION = 12
PROJECTS = ("The Nexus", "Harbour Ledger", "Field Notes")


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


_VERBS = _phrases(
    """
    use, keep, drop, split, cache, sign, queue, shard, retry, index, encrypt, pin
    """
)
THINGS = _phrases(
    """
    UUID v7 ids, PostgreSQL rows, Redis sessions, gRPC calls, REST endpoints, audit events, feature
    flags, job queues, search indexes, access tokens, schema migrations, webhook deliveries, image
    thumbnails, invoice numbers, rate limits, backup snapshots, container images, error budgets,
    metric labels, message topics
    """
)
PLACES = _phrases(
    """
    the billing service, the public API, the mobile client, the ingest pipeline, the staging
    cluster, the audit log, the reporting database, the login flow, the export job, the partner
    gateway, the edge cache, the admin console
    """
)
_REASONS = _phrases(
    """
    It sorts by time and needs no coordination., The old way lost writes under load., Two teams
    asked for it., It halves the p99 latency in the load test., The licence allows it., We can undo
    it within a day., Operations already run it elsewhere., The vendor ends support next year., It
    keeps secrets out of the logs., It makes the failure visible at once., Nobody could explain the
    alternative., It costs less than the disk it saves.
    """
)


class Wording(Protocol):
    """Gives the words of the records."""

    def decision(self, rng: random.Random, key: str) -> str:
        """Return the text of a decision."""

    def thread(self, rng: random.Random, key: str) -> str:
        """Return the title of a thread."""

    def reason(self, rng: random.Random) -> str:
        """Return one reason or remark."""


class Invented:
    """Words from short lists: about 100 distinct ones."""

    def decision(self, rng: random.Random, key: str) -> str:
        """Return the text of a decision."""
        verb, thing, place = rng.choice(_VERBS), rng.choice(THINGS), rng.choice(PLACES)
        return f"{verb.capitalize()} {thing} for {place} (case {key})"

    def thread(self, rng: random.Random, key: str) -> str:
        """Return the title of a thread."""
        return f"How do we {rng.choice(_VERBS)} {rng.choice(THINGS)} ({key})?"

    def reason(self, rng: random.Random) -> str:
        """Return one reason or remark."""
        return rng.choice(_REASONS)


class Sentences:
    """Words from the sentences of real documents, each used once before any is used again.

    Args:
        path: gzipped JSON lines, each with the `text` of a document.
    """

    def __init__(self, path: Path) -> None:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            documents = [json.loads(line)["text"] for line in lines]
        sentences = (" ".join(one.split()) for text in documents for one in re.split(r"(?<=[.!?])\s", text))
        self._sentences = sorted({one for one in sentences if 40 <= len(one) <= 240 and one[0].isupper()})
        self._left: list[str] = []

    def decision(self, rng: random.Random, key: str) -> str:
        """Return the text of a decision."""
        return f"{self._next(rng)} ({key})"

    def thread(self, rng: random.Random, key: str) -> str:
        """Return the title of a thread."""
        return f"{self._next(rng)[:100].rstrip('.')} ({key})?"

    def reason(self, rng: random.Random) -> str:
        """Return one reason or remark."""
        return rng.choice(self._sentences)

    def _next(self, rng: random.Random) -> str:
        if not self._left:
            self._left = rng.sample(self._sentences, len(self._sentences))
        return self._left.pop()


def entities(count: int, seed: int, wording: Wording) -> Iterator[Entity]:
    """Yield `count` entities that refer to each other only backwards."""
    rng = random.Random(seed)
    projects = [Project(project_uuid=project_id(name), project_name=name) for name in PROJECTS]
    yield from projects[:count]
    left = count - len(projects)
    number = 0
    while left > 0:
        number += 1
        project = rng.choice(projects)
        at = Instant(START + rng.randrange(SPAN_DAYS * DAY_MS // 1000) * 1000)
        title = f"Session {number}: {rng.choice(THINGS)} in {rng.choice(PLACES)}"
        conversation = Conversation(
            conversation_id=conversation_id(project.id, title, at),
            title=title,
            project_name=project.project_name,
            project_uuid=project.id,
            created_at=at,
        )
        yield conversation
        left -= 1
        earlier: list[EntityId] = []
        for position in range(1, min(RECORDS_PER_CONVERSATION, left) + 1):
            make = _thread if position % 4 == 0 else _decision
            record = make(rng, wording, project, conversation, f"{number}.{position}", earlier)
            earlier.append(record.id)
            yield record
            left -= 1


def write(root: Path, count: int, seed: int = 7, texts: Path | None = None) -> None:
    """Write a registry of `count` entities into a new folder and commit it.

    Args:
        root: a folder that is empty or missing.
        count: how many entities.
        seed: same seed, same bytes.
        texts: a file of documents for the words (see Sentences).

    Raises FileExistsError when the folder holds anything.
    """
    root.mkdir(parents=True, exist_ok=True)
    if any(root.iterdir()):
        raise FileExistsError(f"{root} is not empty")
    (root / "forgekit.toml").write_text("", encoding="utf-8")
    made: set[Path] = set()
    for entity in entities(count, seed, Sentences(texts) if texts else Invented()):
        path = root / entity_path(entity)
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        path.write_text(dumps(entity), encoding="utf-8")
    _git(root, "init", "--quiet", "--initial-branch=main")
    _git(root, "config", "gc.auto", "0")  # git would pack the files in the background of what is measured
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message", f"benchmark: {count} entities")


def _decision(
    rng: random.Random,
    wording: Wording,
    project: Project,
    conversation: Conversation,
    key: str,
    earlier: list[EntityId],
) -> Decision:
    text = wording.decision(rng, key)
    wanted = rng.choices(tuple(DecisionStatus), weights=(80, 0, 12, 8))[0]
    replaced = wanted is DecisionStatus.SUPERSEDED and bool(earlier)
    known = [i for i in earlier if rng.random() < 0.15]
    reasons = "\n".join(wording.reason(rng) for _ in range(rng.randint(2, 5)))
    return Decision(
        decision_id=decision_id(project.id, text, conversation.id),
        decision=text,
        status=wanted,
        epistemic_tier=round(rng.uniform(0.1, 0.99), 2),
        project_name=project.project_name,
        project_uuid=project.id,
        local_id=f"D{int(key.rpartition('.')[2]):03d}",
        originated_in=conversation.id,
        superseded_by=rng.choice(earlier) if replaced else None,
        conversation_ids=(conversation.id,),
        dependencies=tuple(known),
        alternatives_rejected=tuple(rng.sample(THINGS, rng.randint(0, 3))),
        created_at=conversation.created_at,
        last_validated=conversation.created_at,
        tags=tuple(rng.sample(("api", "storage", "security", "cost", "operations"), rng.randint(0, 3))),
        body=f"## Rationale\n\n{reasons}\n\n## Context\n\nRaised while we looked at {rng.choice(PLACES)}.",
    )


def _thread(
    rng: random.Random,
    wording: Wording,
    project: Project,
    conversation: Conversation,
    key: str,
    _: list[EntityId],
) -> Thread:
    title = wording.thread(rng, key)
    ended = rng.random() < 0.5
    return Thread(
        thread_id=thread_id(project.id, title, conversation.id),
        title=title,
        status=ThreadStatus.RESOLVED if ended else ThreadStatus.OPEN,
        priority=rng.choice(tuple(Priority)),
        project_name=project.project_name,
        project_uuid=project.id,
        local_id=f"T{int(key.rpartition('.')[2]):03d}",
        first_seen_in=conversation.id,
        resolved_in=conversation.id if ended else None,
        conversation_ids=(conversation.id,),
        created_at=conversation.created_at,
        updated_at=conversation.created_at,
        body=f"{wording.reason(rng)} Who decides for {rng.choice(PLACES)}?"
        + (f"\n\n## Resolution\n\n{wording.reason(rng)}" if ended else ""),
    )


def _git(root: Path, *arguments: str) -> None:
    # Nothing of the developer's own settings, and fixed dates: the commit is the same each time.
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        **{f"GIT_{who}_DATE": "2026-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")},
    }
    subprocess.run(["git", "-C", str(root), *arguments], check=True, env=env)


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--texts", type=Path, help="take the words from these documents (JSON lines, gzipped)"
    )
    options = parser.parse_args()
    write(options.folder, options.count, options.seed, options.texts)


if __name__ == "__main__":
    main()
