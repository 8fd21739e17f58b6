"""What people registered, as archives tell of it: who said it again, when, and how it ended.

The rest of such a decision or thread is as it stands, on either side of the merge. Nothing that the file has
from an earlier filing is told again: the archives may say less by now.
"""

from __future__ import annotations

from dataclasses import replace

from forgekit.model.body import with_section
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.model.thread import Thread, ThreadStatus
from forgekit.policy.told import DecisionNotes, ThreadNotes


def decided(standing: Decision, told: Decision | None, notes: DecisionNotes | None) -> Decision:
    """Return a person's decision as archives tell of it."""
    said = [*notes.carried, *(a for a, r in notes.told if not (r.status and r.status.ended))] if notes else []
    return replace(
        standing,
        status=told.status if told else DecisionStatus.ACTIVE,
        superseded_by=told.superseded_by if told else None,
        revised_in=told.revised_in if told else None,
        conversation_ids=told.conversation_ids if told else (),
        last_validated=max([standing.created_at, *(archive.compressed_at for archive in said)]),
    )


def asked(standing: Thread, told: Thread | None, notes: ThreadNotes | None) -> Thread:
    """Return a person's thread as archives tell of it: open since it was made, but for what they say."""
    turned = notes is not None and any(r.reopened or (r.status and r.status.ended) for _, r in notes.told)
    last = told if turned else None
    return replace(
        standing,
        status=last.status if last else ThreadStatus.OPEN,
        updated_at=last.updated_at if last else standing.created_at,
        resolved_in=last.resolved_in if last else None,
        conversation_ids=told.conversation_ids if told else (),
        body=with_section(standing.body, "Resolution", last.resolution if last else ""),
    )
