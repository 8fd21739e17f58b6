"""What ingested conversations add to what archives say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_entities import A, B, archive, conversation, decision, edge, thread

from forgekit.archives.conversations import Ingested, gather
from forgekit.archives.fold import FoldResult, fold
from forgekit.archives.read import ImportOptions, identify
from forgekit.ids import EntityId, conversation_id, project_id
from forgekit.model.archive_record import ArchiveText
from forgekit.model.entities import Archive, Compression, Conversation, Entity, Lineage
from forgekit.model.kinds import UNSORTED
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
        pairs.append((identify(project, text, ImportOptions(), project), text))
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


def spoken(of: Conversation, *continues: str, brought: tuple[str, ...] = ()) -> Conversation:
    return replace(of, source="markdown", continues=continues, brought=brought)


def edges(talks: list[Conversation], *said: Entity) -> list[Lineage]:
    """Return the edges once the talks are added to what archives say."""
    found = gather(FoldResult({entity.id: entity for entity in said}), Ingested.of(talks, ())).entities
    return [one for one in found.values() if isinstance(one, Lineage)]


def compressed(one: Archive) -> Compression:
    return Compression(
        compression_tag=one.compression_tag,
        compression_mode=one.compression_mode,
        compressed_at=one.compressed_at,
    )


def test_a_tag_given_more_than_once_names_the_last_archive_before_the_conversation() -> None:
    first, last, after = (archive(conversation("week", at)) for at in (1, 3, 9))
    child = spoken(conversation("child", 5), "WEEK")
    source = conversation("week", 3)
    assert edges([child], after, first, last) == [edge(source, child, compressed(last))]


def test_an_archive_of_the_own_project_goes_before_a_later_one_of_another() -> None:
    own, other = archive(conversation("week", 1)), archive(conversation("week", 4))
    foreign = replace(other, project_name="Other", project_uuid=project_id("Other"))
    child = spoken(conversation("child", 5), "WEEK")
    assert edges([child], own, foreign) == [edge(conversation("week", 1), child, compressed(own))]
    [lone] = edges([child], foreign)
    assert lone.source_conversation_id == foreign.conversation_id


def test_a_record_that_was_not_pasted_is_left_out_only_where_others_were() -> None:
    kept, left, asked = decision("Keep rows", A), decision("Sign tokens", A), thread("Which keys?", A)
    parent = archive(A, records=(("D001", kept.id), ("D002", left.id), ("T001", asked.id)))
    told = compressed(parent)
    some = replace(
        told,
        decisions_carried=(("D001", kept.id),),
        decisions_dropped=(("D002", left.id),),
        threads_carried=(("T001", asked.id),),
    )
    for brought, expected in (((), told), (("D001", "T001"), some)):
        child = spoken(B, "A", brought=brought)
        assert edges([child], parent, kept, left, asked) == [edge(A, child, expected)]


def test_an_edge_that_archives_tell_of_stands_as_they_tell_it() -> None:
    told = edge(A, B, Compression(compression_tag="BY_HAND"))
    assert edges([spoken(B, "A")], archive(A), told) == [told]


def test_of_two_conversations_that_name_each_other_the_earlier_says_which_was_first() -> None:
    parents = archive(A), archive(B)
    talks = [spoken(A, "B"), spoken(B, "A")]
    assert edges(talks, *parents) == edges(talks[::-1], *parents) == [edge(B, A, compressed(parents[1]))]
