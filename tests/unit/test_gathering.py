"""What ingested conversations add to what archives say."""

from __future__ import annotations

import pytest

from forgekit.ids import EntityId, conversation_id, project_id
from forgekit.model.conversation import Conversation
from forgekit.model.project import UNSORTED
from forgekit.model.records import ArchiveText
from forgekit.policy.filing import Envelope, identify
from forgekit.policy.fold import fold
from forgekit.policy.gathering import Ingested, gather
from forgekit.times import Instant, parse_instant

AT = parse_instant("2026-03-01")


def talk(project: str, **more: str) -> Conversation:
    return Conversation(
        conversation_id=conversation_id(project_id(project), "the talk", AT),
        title="The talk",
        project_name=project,
        project_uuid=project_id(project),
        created_at=AT,
        source="markdown",
        archived_as=("WEEK_ONE",),
        **more,  # type: ignore[arg-type] # by name
    )


def joined(spoken: Conversation, *projects: str) -> dict[str, str | None]:
    """Return by project what the conversation of an archive of one tag bears."""
    pairs = []
    for day, project in enumerate(projects):
        when = Instant(AT + day * 86_400_000)
        text = ArchiveText(title=project, created=when, tag="WEEK_ONE", session_id="s-1")
        pairs.append((identify(project, text, Envelope(), project), text))
    said = gather(fold(pairs), Ingested.of([spoken], ()))
    stand_ins = {archive.conversation_id for archive, _ in pairs}
    found = (said.entities[EntityId(key)] for key in sorted(stand_ins))
    return {one.project_name: one.external_id for one in found if isinstance(one, Conversation)}


@pytest.mark.parametrize(
    ("spoken", "projects", "bear"),
    [
        ("Alpha", ("Alpha", "Beta"), {"Alpha"}),
        ("Alpha", ("Beta",), set()),
        (UNSORTED, ("Beta",), {"Beta"}),
        (UNSORTED, ("Alpha", "Beta"), set()),
    ],
)
def test_a_tag_tells_a_conversation_of_its_own_project_only(
    spoken: str, projects: tuple[str, ...], bear: set[str]
) -> None:
    found = joined(talk(spoken), *projects)
    assert found == {project: talk(spoken).id if project in bear else None for project in projects}


def test_an_id_of_the_platform_tells_a_conversation_of_any_project() -> None:
    assert joined(talk("Alpha", external_id="s-1"), "Beta") == {"Beta": "s-1"}
