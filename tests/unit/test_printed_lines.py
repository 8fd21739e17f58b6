"""Lines in the form that forgekit prints, given back by an archive: they speak of what is registered."""

from __future__ import annotations

from forgekit.archives.fold import FoldResult, fold
from forgekit.archives.read import ImportOptions, identify, read_archive
from forgekit.insight.project_state import project_state
from forgekit.model.archive_record import ArchiveText
from forgekit.model.entities import Archive, Decision, Lineage, Thread, ThreadStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.settings import Settings
from forgekit.times import Instant

HEAD = (
    "# Conversation Archive: {tag}\n\n**Date:** {day}\n**Project:** Ledger\n**Compression Tag:** `{tag}`\n\n"
)


def filed(tag: str, day: str, text: str, project: str = "Ledger") -> tuple[Archive, ArchiveText]:
    raw = HEAD.format(tag=tag, day=day) + text
    read = read_archive(raw)
    return identify(raw, read, ImportOptions(), project), read


PARENT = filed(
    "LEDGER_API",
    "2026-03-04",
    "- D001 (0.8): Keys are time-ordered\n- D002: Amounts are integers\n\n- T001: Which host?\n",
)
ALONE = fold([PARENT])


UNKNOWN = "is not known in this project; the line was left out"
OTHERWISE = "has another text in the registry; the line was"
LIMITS = Settings(stale_days=30, stale_hops=3)


def short(kind: Kind, local_id: str, said: FoldResult = ALONE) -> str:
    return short_id(kind, said.mentions[PARENT[0].id, local_id])


D001, D002 = short(Kind.DECISION, "D001"), short(Kind.DECISION, "D002")
T001 = short(Kind.THREAD, "T001")


def child(*lines: str) -> tuple[Archive, ArchiveText]:
    return filed("CHILD_TAG", "2026-03-09", "**Inherited From:** LEDGER_API\n\n" + "\n".join(lines) + "\n")


def found(said: FoldResult, kind: type[Decision | Thread]) -> list[str]:
    return sorted(entity.title for entity in said.entities.values() if isinstance(entity, kind))


def problems(said: FoldResult, archive: Archive) -> list[str]:
    return [str(problem) for problem in said.problems.get(archive.id, ())]


def test_a_line_with_a_short_id_is_read() -> None:
    read = child(
        f"- {D001} (tier 0.9): Keys are time-ordered \u2014 no sequence server",
        f"- D009 {D002}: Amounts are integers",
        f"- {T001}: Which host? [RESOLVED]",
        f"- It is what {D001} waits for",
        f"\n| ID | Decision | Tier |\n|---|---|---|\n| `{D002}` | Amounts are integers | 0.4 |",
    )[1]
    assert [(d.local_id, d.entity, d.text, d.tier) for d in read.decisions] == [
        (D001, D001, "Keys are time-ordered \u2014 no sequence server", 0.9),
        ("D009", D002, "Amounts are integers", None),
        (D002, D002, "Amounts are integers", 0.4),
    ]
    assert [(t.local_id, t.entity, t.title, t.status) for t in read.threads] == [
        (T001, T001, "Which host?", ThreadStatus.RESOLVED)
    ]
    assert read.problems == ()


def test_what_it_names_is_carried_and_resolved() -> None:
    archive, text = child(
        f"- {D001} (tier 0.9): Keys are time-ordered \u2014 no sequence server",
        f"- D009 {D002}: Amounts are integers",
        f"- {T001}: Which host? [RESOLVED]",
        "- D010: Run it twice",
    )
    said = fold([(archive, text), PARENT])
    assert found(said, Decision) == ["Amounts are integers", "Keys are time-ordered", "Run it twice"]
    d001, d002 = (ALONE.mentions[PARENT[0].id, local] for local in ("D001", "D002"))
    t001 = ALONE.mentions[PARENT[0].id, "T001"]
    decision, thread, stands = said.entities[d001], said.entities[t001], said.entities[archive.id]
    assert isinstance(decision, Decision)
    assert isinstance(thread, Thread)
    assert isinstance(stands, Archive)
    assert (decision.epistemic_tier, decision.last_validated) == (0.9, archive.compressed_at)
    assert (thread.status, thread.resolved_in) == (ThreadStatus.RESOLVED, archive.conversation_id)
    [edge] = [entity for entity in said.entities.values() if isinstance(entity, Lineage)]
    assert edge.compressions[0].decisions_carried == (("D001", d001), ("D002", d002))
    assert edge.compressions[0].threads_resolved == (("T001", t001),)
    new = said.mentions[archive.id, "D010"]
    assert stands.records == (("D009", d002), ("D010", new), (D001, d001), (T001, t001))
    assert problems(said, archive) == []


def test_a_printed_line_may_stand_beside_a_new_record_of_its_local_id() -> None:
    archive, text = child(f"- D001 {D001} (tier 0.8): Keys are time-ordered", "- D001: Run it twice")
    said = fold([PARENT, (archive, text)])
    assert found(said, Decision) == ["Amounts are integers", "Keys are time-ordered", "Run it twice"]
    assert text.problems == ()
    assert problems(said, archive) == []


def test_an_id_that_is_not_known_or_reads_otherwise_is_named_with_its_line() -> None:
    archive, text = child(
        "- dec_aaaaaaaaaaaa: Nobody knows this",
        f"- {D002}: Something else",
        f"- D007 {D001}: Another thing",
        "- thr_aaaaaaaaaaaa: Nobody asked this",
        f"- {T001}",
    )
    said = fold([PARENT, (archive, text)])
    assert found(said, Decision) == ["Amounts are integers", "Another thing", "Keys are time-ordered"]
    assert found(said, Thread) == ["Which host?"]
    revises = "write it as `{} (revises {}): ...` if it replaces that"
    assert problems(said, archive) == [
        f"{line}: {name} {why} ({fix})"
        for line, name, why, fix in (
            (9, "dec_aaaaaaaaaaaa", UNKNOWN, "write it as `D001: ...` if it is new"),
            (10, D002, f"{OTHERWISE} left out", revises.format("D001", D002)),
            (11, D001, f"{OTHERWISE} taken for a new decision", revises.format("D007", D001)),
            (12, "thr_aaaaaaaaaaaa", UNKNOWN, "write it as `T001: ...` if it is new"),
        )
    ]
    assert (text.problems, [each.local_id for each in text.updates]) == ((), [T001])


def test_a_decision_named_by_its_id_with_more_words_is_a_new_version() -> None:
    archive, text = child(
        f"### {D002}: Amounts are integers and cents",
        f"### {D001}: Keys are time-ordered",
        f"- {T001}: Which host, and who pays for it?",
    )
    for pairs in ([PARENT, (archive, text)], [(archive, text), PARENT]):
        result = fold(pairs)
        old = result.entities[ALONE.mentions[PARENT[0].id, "D002"]]
        new = result.entities[result.mentions[archive.id, D002]]
        assert isinstance(old, Decision)
        assert (old.status.value, old.superseded_by, new.title) == (
            "revised",
            new.id,
            "Amounts are integers and cents",
        )
        assert found(result, Thread) == ["Which host?"]
        assert problems(result, archive) == [
            f"9: {D002} has other words here, which were registered as its new version",
            f"11: {T001} is registered in other words, which it keeps",
        ]


def test_what_another_project_has_is_not_known() -> None:
    archive, text = filed("PORTAL_TAG", "2026-03-09", f"- {D001}: Keys are ordered\n", "Portal")
    said = fold([PARENT, (archive, text)])
    assert found(said, Decision) == ["Amounts are integers", "Keys are time-ordered"]
    assert problems(said, archive) == [f"7: {D001} {UNKNOWN} (write it as `D001: ...` if it is new)"]


def test_what_the_archive_itself_resolves_has_not_changed_since() -> None:
    archive, text = child(f"- {T001}: Which host? [RESOLVED]")
    said = fold([PARENT, (archive, text)])
    registry = Registry.of(said.entities.values())
    stands = registry.get(archive.id)
    assert isinstance(stands, Archive)
    state = project_state(registry, stands.project_uuid, Instant(0), LIMITS, continued=(stands, text))
    assert state.overtaken == ()
