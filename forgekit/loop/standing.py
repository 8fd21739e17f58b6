"""Answers to what stands: the open threads, and the decisions in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from forgekit.loop.found import Found, Store, told_decision, told_thread
from forgekit.policy.question import Command
from forgekit.policy.staleness import blocked_from_carrying
from forgekit.threads import active


def _open(store: Store) -> Found:
    threads = [t for t in active(store.registry) if store.project in (None, t.project_name)]
    return Found(
        lines=[f"- {told_thread(t)} ({t.priority.value})" for t in threads],
        sources=["`forgekit thread list --status open`"],
        scopes=[t.project_name for t in threads],
        ids=[t.id for t in threads],
    )


def _in_force(store: Store) -> Found:
    every = (d for d in store.registry.decisions if store.project in (None, d.project_name))
    decisions = sorted((d for d in every if not d.status.ended), key=lambda d: (-d.last_validated, d.id))
    opposed = blocked_from_carrying(store.registry)
    marks = {True: " [IN AN OPEN CONFLICT]", False: ""}
    return Found(
        lines=[f"- {told_decision(d)}{marks[d.id in opposed]}" for d in decisions],
        sources=["`forgekit decision list --status active`"],
        scopes=[d.project_name for d in decisions],
        ids=[d.id for d in decisions],
    )


STANDING: Mapping[Command, Callable[[Store], Found]] = {Command.OPEN: _open, Command.STANDING: _in_force}
