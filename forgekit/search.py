"""Search by words and by meaning, in one list.

    lexical    the words of a query, ranked by bm25
    semantic   entities whose vectors are nearest to the query's, ranked by cosine
    hybrid     both: the mean of the share of the query's words and the cosine

The share of the words is bm25 by the greatest bm25 that the query allows. So both numbers are of one scale
and say how good a hit is, not only which is the better: where no text has the words, meaning decides.
Sums of scores beat sums of reciprocal ranks (Bruch, Gai and Ingber, TOIS 2023), here too on every set.

What a query names by id, tag or exact title comes first in each mode. Else what replaced a hit, and is one
too, comes before it. Filters choose before anything is
ranked. Vectors are brought up to date on the way, a few texts at a time; where they cannot be had, the
answer is that of the words, with a notice. Values are NamedTuples: see `catalogue.query`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from forgekit.errors import ForgeError, UsageError
from forgekit.ids import EntityId
from forgekit.index.query import NAMED_SCORE, Hit, search_registry
from forgekit.model.kinds import Kind
from forgekit.text.words import is_english

if TYPE_CHECKING:
    from forgekit.forge import Forge
    from forgekit.index.vectors import Built, Limit, Progress, Vectors
    from forgekit.model.registry import Registry

POOL = 100
"""Hits of each ranking that are fused, at least."""
INLINE_TEXTS = 32
"""Texts that one search encodes at most: a third of a second of short ones, seconds of long ones."""
COSINE_FLOOR = 0.2
"""Texts farther from the query than this are not about it, and are no hits."""
CLOSE = 0.5
"""Statements nearer to each other than this are on one subject."""
_ABOUT = 0.4
"""An entity nearer to a query than this is about it."""
SAME = 0.999
"""A vector made anew is as near as this to the one that was kept in half precision."""


class Mode(Enum):
    """How a search ranks."""

    LEXICAL = "lexical"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"


class Scored(NamedTuple):
    """A hit with what put it in its place.

    Attributes:
        score: what the answer is sorted by; comparable within one answer only.
        lexical_rank: its place among what the words found, from 1; None where they did not count.
        share: its bm25 by the greatest that the query allows, from 0 to 1.
        semantic_rank: its place among the nearest, from 1.
        cosine: of its vector with the query's, from -1 to 1.
    """

    hit: Hit
    score: float
    lexical_rank: int | None = None
    share: float | None = None
    semantic_rank: int | None = None
    cosine: float | None = None

    @property
    def named(self) -> bool:
        """Whether the query names it."""
        return self.hit.score >= NAMED_SCORE

    def bears_on(self, query: str, text: str = "") -> bool:
        """Say whether it is clearly about a query: named, near in meaning, or by the words of a text of it.

        Args:
            query: the encoder knows the meaning of English alone.
            text: in the place of its title and snippet.
        """
        from forgekit.insight.question import about

        near = (self.cosine or 0.0) >= _ABOUT and is_english(query)
        return self.named or near or about(query, text or f"{self.hit.title} {self.hit.snippet}")


class SearchResult(NamedTuple):
    """What a search found, best first.

    Attributes:
        mode: how it was ranked in fact.
        notice: what a person should know about that, or "".
    """

    hits: tuple[Scored, ...]
    mode: Mode
    notice: str = ""

    @property
    def ids(self) -> list[EntityId]:
        """The ids of the hits."""
        return [scored.hit.id for scored in self.hits]


class Checked(NamedTuple):
    """What a check of the vectors found.

    Attributes:
        compared: vectors that were made anew.
        wrong: those of them that differ from what was kept.
        missing: entities without a vector.
    """

    compared: int
    wrong: int
    missing: int


def search(
    forge: Forge,
    query: str,
    *,
    kinds: Collection[Kind] | None = None,
    status: str | None = None,
    project: str | None = None,
    limit: int = 20,
    revision: str | None = None,
    mode: Mode | None = None,
) -> SearchResult:
    """Search a registry.

    Args:
        query: any text; none of it is taken for syntax.
        kinds: None for all.
        project: name or id; None for all.
        revision: search the registry of a revision or date, by words.
        mode: None for hybrid where there is an embedding model, else lexical.

    Raises NotFoundError for a project that is not known, ForgeError for a semantic search that cannot be had.
    """
    pool = max(POOL, limit)
    if revision is not None:
        from forgekit.model.entities import Decision

        if mode is Mode.SEMANTIC:
            raise UsageError("the registry of another time is searched by words; leave --mode out")
        past = forge.registry_at(revision)
        owner = forge.known_project(project, past).id if project is not None else None
        hits = search_registry(past, query, kinds=kinds, status=status, project=owner, limit=pool)
        found = past.of_ids(Decision, [hit.id for hit in hits])
        replaced = {decision.id: decision.superseded_by for decision in found if decision.superseded_by}
        words = "searched by words alone: vectors are of the registry as it is now"
        notices = (words if mode is not Mode.LEXICAL else "", unread_then(past))
        return _lexical(hits, replaced, limit, "; ".join(filter(None, notices)))
    if project is None:
        forge.catalogue.refresh()
    else:
        project = forge.known_project(project, forge.registry()).id
    ask = partial(forge.catalogue.search, query, kinds=kinds, status=status, project=project)

    def by_words(notice: str = "") -> SearchResult:
        hits = ask(limit=pool)
        return _lexical(hits, forge.catalogue.replaced([hit.id for hit in hits]), limit, notice)

    if mode is Mode.LEXICAL:
        return by_words()
    try:
        vectors = _vectors(forge)
        built = update_vectors(forge, vectors, limit=INLINE_TEXTS)
        filtered = not (kinds is None and status is None and project is None)
        matching = forge.catalogue.matching(kinds=kinds, status=status, project=project) if filtered else None
        vector = vectors.vector(query)
        nearest = vectors.search(vector, pool, matching)
    except (ForgeError, OSError) as e:
        if mode is Mode.SEMANTIC:
            raise ForgeError(f"cannot search by meaning: {e}") from e
        return by_words(f"searched by words alone: {e}")
    mode = mode or Mode.HYBRID
    lexical = ask(limit=pool)
    if mode is Mode.HYBRID:
        far = vectors.cosines(vector, {hit.id for hit in lexical}.difference(dict(nearest)))
        ranked = rank(lexical, nearest, far, forge.catalogue.full_score(query))
    else:
        ranked = by_meaning(lexical, nearest)
    places = in_force_first(ranked, forge.catalogue.replaced([p.id for p in ranked]))[: max(limit, 0)]
    known = {hit.id: hit for hit in lexical}
    known |= forge.catalogue.hits([p.id for p in places if p.id not in known])
    missing = built.missing
    texts = "1 text has" if missing == 1 else f"{missing:,} texts have"
    notice = f"{texts} no vector yet; run `forgekit index build`" if missing else ""
    return SearchResult(tuple(Scored(known[p.id], *p[1:]) for p in places if p.id in known), mode, notice)


def unread_then(past: Registry) -> str:
    """Return what a person should know of an earlier time's files that could not be read, or ""."""
    bad = {problem.path for problem in past.problems}
    return f"files of that time that could not be read: {len(bad)}" if bad else ""


class Place(NamedTuple):
    """An id with what puts it in its place; the numbers are those of `Scored`."""

    id: EntityId
    score: float
    lexical_rank: int | None
    share: float | None
    semantic_rank: int | None
    cosine: float | None


Ranked = TypeVar("Ranked", Place, Hit)


def in_force_first(places: Sequence[Ranked], replaced: Mapping[EntityId, EntityId]) -> list[Ranked]:
    """Return an answer with what replaced a place before it, by a score that is at least as great.

    Args:
        places: best first; those that the query names stay where they are.
        replaced: what took the place of each one that is out of force.
    """
    score = {place.id: place.score for place in places if place.score < NAMED_SCORE}
    behind = dict.fromkeys(score, 0)
    for key in score:
        old, new = key, replaced.get(key)
        while new in score and behind[key] < len(score):
            score[new] = max(score[new], score[old])
            behind[key] += 1
            old, new = new, replaced.get(new)
    lifted = [p._replace(score=score.get(p.id, p.score)) for p in places]
    return sorted(lifted, key=lambda p: (-p.score, behind.get(p.id, 0)))


def by_meaning(lexical: Sequence[Hit], nearest: Sequence[tuple[str, float]]) -> list[Place]:
    """Return what a query names and what is near to it, best first."""
    named = [hit.id for hit in lexical if hit.score >= NAMED_SCORE]
    cosines = {EntityId(entity): cosine for entity, cosine in nearest}
    meant = _near(cosines, named)
    first = [Place(entity, NAMED_SCORE, None, None, None, cosines.get(entity)) for entity in named]
    return [*first, *(Place(e, cosines[e], None, None, place, cosines[e]) for e, place in meant.items())]


def rank(
    lexical: Sequence[Hit], nearest: Sequence[tuple[str, float]], far: Mapping[str, float], full: float
) -> list[Place]:
    """Return the answer of words and meaning together, best first; equal ones by id.

    Args:
        lexical: hits of the words, best first, with those that the query names before all others.
        nearest: ids and cosines, best first.
        far: the cosines of hits of the words that are not among the nearest.
        full: the greatest bm25 that the query allows.
    """
    named = [hit.id for hit in lexical if hit.score >= NAMED_SCORE]
    words = {
        hit.id: (place, min(hit.score / full, 1.0)) for place, hit in enumerate(lexical[len(named) :], 1)
    }
    cosines = {EntityId(entity): cosine for entity, cosine in (*far.items(), *nearest)}
    meant = _near({EntityId(entity): cosine for entity, cosine in nearest}, named)
    places = []
    for entity in (*named, *dict.fromkeys((*words, *meant))):
        place, share = words.get(entity, (None, None))
        score = ((share or 0.0) + cosines.get(entity, 0.0)) / 2
        places.append(
            Place(
                entity,
                NAMED_SCORE if entity in named else score,
                place,
                share,
                meant.get(entity),
                cosines.get(entity),
            )
        )
    return sorted(places, key=lambda p: (-p.score, p.id))


def _near(cosines: Mapping[EntityId, float], named: Sequence[EntityId]) -> dict[EntityId, int]:
    """Return the places of those that are near enough, from 1."""
    near = (entity for entity, cosine in cosines.items() if cosine >= COSINE_FLOOR and entity not in named)
    return {entity: place for place, entity in enumerate(near, 1)}


def update_vectors(
    forge: Forge,
    vectors: Vectors,
    *,
    limit: Limit = None,
    progress: Progress | None = None,
    only: Collection[str] | None = None,
) -> Built:
    """Make the vectors those of the catalogue as it was last refreshed, the newest entities first.

    Args:
        limit: of the texts to encode.
        progress: called with how far the encoding is.
        only: the entities whose texts may be encoded; None for all.
    """
    texts = forge.catalogue.embedding_texts
    state = forge.catalogue.state()  # before the contents: if they are newer, the next search finds out
    current = vectors.current(state)
    if current is not None:
        return current
    entries = ((entity, blob, partial(texts, entity, blob)) for entity, blob in forge.catalogue.contents())
    return vectors.update(entries, progress, limit, state, only)


def verify(forge: Forge, sample: int = 64) -> Checked:
    """Compare some of the vectors that are kept with new ones of the same texts.

    Raises ForgeError where there is no embedding model.
    """
    vectors = _vectors(forge)
    forge.catalogue.refresh()
    missing = update_vectors(forge, vectors, limit=0).missing
    contents = forge.catalogue.contents()
    compared = wrong = 0
    for entity, blob in contents[:: max(1, -(-len(contents) // sample))]:
        texts = forge.catalogue.embedding_texts(entity, blob)
        kept = vectors.nearness(entity, *texts) if texts else None
        if kept is not None:
            compared += 1
            wrong += kept < SAME
    return Checked(compared, wrong, missing)


def close_in_meaning(
    forge: Forge, registry: Registry, project: EntityId, own: Collection[EntityId]
) -> dict[tuple[EntityId, EntityId], float]:
    """Return the cosines of some threads and decisions of a project with close decisions of other projects.

    Returns: (own thread or decision, foreign decision) -> cosine; nothing where there are no vectors.
    """
    others = forge.catalogue.matching(kinds=(Kind.DECISION,), status="active")
    others -= {decision.id for decision in registry.active_decisions(project)}
    if not own or not others:
        return {}
    try:
        vectors = _vectors(forge)
        update_vectors(forge, vectors, limit=INLINE_TEXTS)
        return cast("dict[tuple[EntityId, EntityId], float]", vectors.pairs(own, others, CLOSE))
    except (ForgeError, OSError):
        return {}


def _vectors(forge: Forge) -> Vectors:
    vectors = forge.vectors
    if vectors is None:
        raise ForgeError(str(forge.encoder))
    return vectors


def _lexical(
    hits: Sequence[Hit], replaced: Mapping[EntityId, EntityId], limit: int, notice: str
) -> SearchResult:
    places = iter(range(1, len(hits) + 1))
    chosen = in_force_first(hits, replaced)[: max(limit, 0)]
    scored = (Scored(hit, hit.score, None if hit.score >= NAMED_SCORE else next(places)) for hit in chosen)
    return SearchResult(tuple(scored), Mode.LEXICAL, notice)


def found_views(
    forge: Forge, query: str, kind: Kind, status: str | None, project: str | None, limit: int
) -> list[dict[str, object]]:
    """Return the views of the entities of a kind that a query finds, best first; arguments as of `search`."""
    from forgekit.insight.views import Derived

    found = search(forge, query, kinds=(kind,), status=status, project=project, limit=limit)
    registry = forge.registry()
    derived = Derived(registry)
    return [derived.view(entity) for hit in found.ids if (entity := registry.get(hit)) is not None]
