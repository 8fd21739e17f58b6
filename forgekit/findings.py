"""Findings: pairs of active decisions that a judge takes for contradictions or repetitions.

A finding is a function of the two decisions and the judge's version. Which pairs are judged is a function of
the current set of active decisions. So the same files give the same findings whatever the order of filing,
and nothing here writes to the registry. Judgements are cached below `.git/forgekit/`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from heapq import nlargest
from typing import TYPE_CHECKING

from forgekit.conflict.judge import Judgement, Level, Statement
from forgekit.conflict.pairs import (
    NEAREST,
    NOTHING,
    RARE,
    Finding,
    Findings,
    Pair,
    pair,
    sharing_rare_words,
    statement,
)
from forgekit.errors import ForgeError
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.model.entities import Archive, Decision, Entity
from forgekit.model.kinds import Kind
from forgekit.model.registry import Registry
from forgekit.search import COSINE_FLOOR, INLINE_TEXTS, search, update_vectors
from forgekit.worktree.roots import cache_dir

if TYPE_CHECKING:
    from forgekit.conflict.judge import Judge
    from forgekit.index.database import CheckedRows
    from forgekit.index.judged_pairs import Flagged, JudgedPairs
    from forgekit.index.vectors import Limit, Vectors

Progress = Callable[[int, int], None]

EXCLUDE = frozenset({Level.CONFLICT, Level.POSSIBLE})
"""The levels of two texts that cannot both be followed."""
SUMMARY = " summary"
BLOCK_WAIT_MS = 200
"""How long a block waits for judgements that are not cached."""
WRITE_WAIT_MS = 5_000
"""How long a write waits for those of what it wrote."""
_BATCH = 16  # pairs between two looks at the clock
_PART = 512  # pairs looked up together
_NEAR = 5  # texts nearest to a convention that it is judged with
_FEW_TEXTS, _FEW_PAIRS, _LONGER_MS = 300, 1_500, 8_000  # what is finished although it takes some seconds
_FEW = 64  # pairs judged, up to which they are not worth keeping the list of all


def findings_of(
    forge: Forge,
    registry: Registry,
    decisions: Collection[EntityId] | None = None,
    *,
    wait_ms: int | None = None,
    finish_small: bool = False,
    progress: Progress | None = None,
    index_all: bool = False,
) -> Findings:
    """Return the findings of active decisions that no verdict answers.

    It never fails: where nothing can be judged, `missing` is the reason.

    Args:
        decisions: only pairs with one of these; all pairs where None.
        wait_ms: how long to judge pairs that are not cached; without end where None, not at all where 0.
        finish_small: take some seconds more where few texts and pairs are left.
        progress: called with how many of the pairs are judged; with it every missing vector is made first.
        index_all: bring the index up to date with all entities, not with the active decisions alone.
    """
    from forgekit.index.finding_cache import finding_cache, keep_opposed
    from forgekit.models.encoder import Missing

    try:
        judge, vectors = forge.judge, forge.vectors
        if isinstance(judge, Missing) or vectors is None:
            return Findings(missing=missing_judge(forge))
        with finding_cache(cache_dir(forge.root)) as cache:
            active = _active(registry)
            name, state = _keys(forge, judge, vectors, active)
            kept = cache.get([name, name + SUMMARY]) if name else {}
            known_for, *known = json.loads(kept.get(name + SUMMARY, b'[""]'))
            part = f"{state} {vectors.digest}"  # names the state as long as some texts have no vector
            if state and (
                (known_for == state and not known[1]) or (wait_ms == 0 and known_for in {state, part})
            ):
                return _unanswered(registry, _of(known[2], decisions), *known[:2])
            chosen = None if decisions is None else set(active).intersection(decisions)
            if len(active) < 2 or (chosen is not None and not chosen):
                return NOTHING
            from forgekit.index.judged_pairs import JudgedPairs

            limit: Limit = 0 if wait_ms == 0 else INLINE_TEXTS if progress is None else None
            if limit and (finish_small or wait_ms is None or wait_ms > BLOCK_WAIT_MS):
                limit = partial(_limit, active)
            update_vectors(forge, vectors, limit=limit, only=None if index_all else active)
            pairs = JudgedPairs(active, kept.get(name, b""))
            pairs.pair(*vectors.neighbours(active, NEAREST), _sharing(registry, active))
            small = pairs.counts(chosen)[1] <= _FEW_PAIRS
            judged = 0
            if wait_ms != BLOCK_WAIT_MS or small:  # of more, a block would judge few
                judging = _Judging(judge, cache, vectors, _LONGER_MS if finish_small and small else wait_ms)
                judged = _judge_all(registry, judging, pairs, pairs.todo(chosen), progress)
                if chosen is not None:  # what was judged of the other pairs is part of what is kept
                    known_only = _Judging(judge, cache, vectors, 0)
                    judged += _judge_all(registry, known_only, pairs, pairs.todo(None, _PART), None)
            if name:
                made_for = part if vectors.missing_count(active) else state
                summary = json.dumps([made_for, *pairs.counts(None), pairs.flagged])
                cache.put({name + SUMMARY: summary.encode()})
                read = ((a, b, _read(judgement)) for a, b, _, judgement in pairs.flagged)
                against = [
                    (a, active[a], b, active[b]) for a, b, j in read if j and j.level is Level.CONFLICT
                ]
                keep_opposed(cache, forge.catalogue.tree, against)
                if judged > _FEW and made_for == state:
                    cache.put({name: pairs.text().encode()})
        return _unanswered(registry, _of(pairs.flagged, chosen), *pairs.counts(chosen))
    except (ForgeError, OSError) as e:
        return Findings(missing=str(e))


def _limit(active: Collection[EntityId], missing: Collection[str]) -> int | None:
    """Return how many texts are encoded: all where few of the missing ones are of active decisions."""
    return None if sum(key in active for key in missing) <= _FEW_TEXTS else INLINE_TEXTS


def _keys(forge: Forge, judge: Judge, vectors: Vectors, active: Mapping[EntityId, str]) -> tuple[str, str]:
    """Return the key of what is kept of the work tree's pairs, and the name of the set of decisions.

    "" where the set is not the one of the files.
    """
    if "" in active.values():
        return "", ""
    parts = ["findings 4", judge.version, vectors.space, forge.catalogue.tree]
    given = (parts, list(active.items()))
    name, state = (hashlib.sha256(json.dumps(each).encode()).hexdigest() for each in given)
    return name, state


def _active(registry: Registry) -> Mapping[EntityId, str]:
    """Return the active decisions with the blob ids of their files, "" where there are none."""
    from forgekit.index.lazy_registry import PartialRegistry

    if isinstance(registry, PartialRegistry):
        return registry.active_blobs()
    return {decision.id: "" for decision in registry.active_decisions()}


def _statements(registry: Registry, decisions: Collection[EntityId]) -> dict[EntityId, Statement]:
    return {decision.id: statement(decision) for decision in registry.of_ids(Decision, decisions)}


def _of(flagged: Iterable[Flagged], decisions: Collection[EntityId] | None) -> list[Flagged]:
    """Return those rows that are about one of some decisions; all where None."""
    return [row for row in flagged if decisions is None or row[0] in decisions or row[1] in decisions]


def of_written(forge: Forge, entities: Iterable[Entity], paths: Iterable[str]) -> Findings:
    """Return the findings of the decisions among entities that were just written; it never fails.

    Of very many pairs only as many are judged as there is time for.

    Args:
        paths: of all files that it wrote; only their folders are looked at again.
    """
    from forgekit.index.lazy_registry import PartialRegistry

    written = list(entities)
    decisions = {entity.id for entity in written if isinstance(entity, Decision)}
    if not decisions:
        return NOTHING
    forge.catalogue.refresh(within={path.rpartition("/")[0] for path in paths})
    filed = any(isinstance(entity, Archive) for entity in written)
    registry = PartialRegistry.over(forge.catalogue)
    return findings_of(forge, registry, decisions, wait_ms=WRITE_WAIT_MS, index_all=filed)


def judged_texts(
    forge: Forge,
    own: Mapping[EntityId, Statement],
    others: Mapping[EntityId, Statement],
    wait_ms: int | None,
) -> list[tuple[EntityId, EntityId, Judgement]]:
    """Return the pairs of texts with a level, and their judgements; none where there is no judge.

    Which of `own` contradict each other is kept, for readers that have no time to judge.

    Args:
        own: by id; each is judged with the few of them that are nearest to it.
        others: by id; each of `own` is judged with the few nearest of these too.
        wait_ms: how long to judge pairs that are not cached; without end where None.
    """
    from forgekit.index.finding_cache import finding_cache, keep_contradicted
    from forgekit.models.encoder import Missing

    judge, vectors, texts = forge.judge, forge.vectors, {**others, **own}
    if not own or len(texts) < 2 or isinstance(judge, Missing) or vectors is None:
        return []
    started = time.monotonic()
    update_vectors(forge, vectors, limit=INLINE_TEXTS, only=texts)
    chosen: set[Pair] = set()
    for pool in (own, others):
        near: dict[str, list[tuple[float, Pair]]] = {}
        for (one, other), cosine in vectors.pairs(own, pool, COSINE_FLOOR).items():
            if one != other:
                near.setdefault(one, []).append((cosine, pair(EntityId(one), EntityId(other))))
        chosen.update(side for rows in near.values() for _, side in nlargest(_NEAR, rows))
    left = None if wait_ms is None else wait_ms - (time.monotonic() - started) * 1000
    with finding_cache(cache_dir(forge.root)) as cache:
        found = _Judging(judge, cache, vectors, left).judged(texts, sorted(chosen))
        against: dict[EntityId, set[EntityId]] = {key: set() for key in own}
        for (a, b), _, judged in found:
            if judged.level in EXCLUDE and {a, b} <= own.keys():
                against[a].add(b)
                against[b].add(a)
        keep_contradicted(cache, against)
        return [(*sides, judged) for sides, _, judged in found if judged.level is not Level.NONE]


def of_text(forge: Forge, text: str, alternatives: Iterable[str]) -> list[tuple[Decision, Judgement]]:
    """Return the active decisions that a text, which is none yet, cannot be followed with; it never fails."""
    from forgekit.models.encoder import Missing

    try:
        judge, registry = forge.judge, forge.registry()
        if isinstance(judge, Missing) or forge.vectors is None:
            return []
        hits = search(forge, text, kinds=(Kind.DECISION,), status="active", limit=NEAREST).hits
        near = {scored.hit.id: scored.cosine for scored in hits if scored.cosine is not None}
        others = registry.in_order(Decision, list(near))
        own = Statement(text=text, alternatives=tuple(alternatives))
        sides = [(own, statement(other)) for other in others]
        exact = getattr(judge, "cosines", None)
        judged = judge.judge(sides, exact(sides) if exact else [near[other.id] for other in others])
    except (ForgeError, OSError):
        return []
    return [(d, found) for d, found in zip(others, judged, strict=True) if found and found.level in EXCLUDE]


def of_project(forge: Forge, project: str | None = None, progress: Progress | None = None) -> Findings:
    """Judge all pairs, or those with a decision of one project.

    Raises NotFoundError for a project that is not known.
    """
    registry = forge.registry()
    if project is None:
        return findings_of(forge, registry, progress=progress)
    owner = forge.known_project(project, registry).id
    own = {decision.id for decision in registry.decisions if decision.project_uuid == owner}
    return findings_of(forge, registry, own, progress=progress)


def missing_judge(forge: Forge) -> str:
    """Return why a registry has no judge and what to do about it; "" where it has one."""
    from forgekit.models.encoder import Missing

    try:
        found = (part for part in (forge.judge, forge.encoder) if isinstance(part, Missing))
        return str(next(found, ""))
    except ForgeError as e:
        return str(e)


def _sharing(registry: Registry, active: Collection[EntityId]) -> Sequence[Sequence[str]]:
    """Return the groups of active decisions that share a rare word."""
    from forgekit.index.lazy_registry import PartialRegistry

    if isinstance(registry, PartialRegistry):
        return registry.sharing_rare_words(RARE)
    return sharing_rare_words(_statements(registry, active))


def _judge_all(
    registry: Registry,
    judging: _Judging,
    pairs: JudgedPairs,
    todo: Sequence[Pair],
    progress: Progress | None,
) -> int:
    """Judge pairs in their order, as many as are cached or there is time for; return how many were judged."""
    count = 0
    for start in range(0, len(todo), _PART):
        if start and judging.late():
            break
        sides = todo[start : start + _PART]
        if progress is not None:
            progress(start, len(todo))
        found = judging.judged(_statements(registry, {key for pair in sides for key in pair}), sides)
        flagged = [
            (*pair, cosine, _written(judgement))
            for pair, cosine, judgement in found
            if judgement.level is not Level.NONE
        ]
        pairs.add((pair for pair, _, _ in found), flagged)
        count += len(found)
    return count


class _Judging:
    """Judges pairs of texts, as many as are cached or there is time for."""

    def __init__(self, judge: Judge, cache: CheckedRows, vectors: Vectors, wait_ms: float | None) -> None:
        self._judge, self._cache, self._vectors = judge, cache, vectors
        self._until = None if wait_ms is None else time.monotonic() + wait_ms / 1000

    def late(self) -> bool:
        """Say whether the time is over."""
        return self._until is not None and time.monotonic() >= self._until

    def judged(
        self, texts: Mapping[EntityId, Statement], sides: Sequence[Pair]
    ) -> list[tuple[Pair, float, Judgement]]:
        """Return pairs with cosine and judgement; the nearest are judged first."""
        cosines = self._cosines(texts, sides)
        asked = [
            _Asked(pair, (texts[pair[0]], texts[pair[1]]), cosine, self._judge.version)
            for pair, cosine in zip(sides, cosines, strict=True)
            if cosine is not None
        ]
        by_key = {pair.key: pair for pair in sorted(asked, key=lambda pair: (-pair.cosine, pair.key))}
        known = {key: _read(text) for key, text in self._cache.get(by_key.keys()).items()}
        todo = [pair for key, pair in by_key.items() if known.get(key) is None]
        for start in range(0, len(todo), _BATCH):
            if self.late():
                break
            some = todo[start : start + _BATCH]
            answers = self._judge.judge([pair.texts for pair in some], [pair.cosine for pair in some])
            found = {pair.key: new for pair, new in zip(some, answers, strict=True) if new is not None}
            self._cache.put({key: _written(new).encode() for key, new in found.items()})
            known |= found
        return [
            (pair.sides, pair.cosine, pair.turned(answer))
            for pair in asked
            if (answer := known.get(pair.key)) is not None
        ]

    def _cosines(self, statements: Mapping[EntityId, Statement], sides: Sequence[Pair]) -> list[float | None]:
        """Return the cosine of each pair: of the two texts, where the judge has an encoder of its own.

        None for a pair whose vectors are not known in time.
        """
        encode = getattr(self._judge, "vector", None)
        if encode is None:
            return self._vectors.between(sides)
        from forgekit.index.finding_cache import text_cosines

        texts = [(statements[a].text, statements[b].text) for a, b in sides]
        near = partial(self._vectors.of_texts, getattr(self._judge, "space", ""))
        return text_cosines(self._cache, self._judge.version, encode, texts, self.late, near)


class _Asked:
    """A pair to judge; `key` is the hash of everything that its judgement follows from."""

    def __init__(
        self, sides: Pair, statements: tuple[Statement, Statement], cosine: float, version: str
    ) -> None:
        self.sides = sides
        self.cosine = round(cosine, 3)
        one, two = statements
        self.swapped = (one.text, one.alternatives) > (two.text, two.alternatives)
        self.texts = (two, one) if self.swapped else (one, two)
        texts = [[side.text, *side.alternatives] for side in self.texts]
        self.key = hashlib.sha256(json.dumps([version, self.cosine, texts]).encode()).hexdigest()

    def turned(self, judgement: Judgement) -> Judgement:
        """Return a judgement of the texts as one of the sides, in their order."""
        return replace(judgement, words=judgement.words[::-1]) if self.swapped else judgement


def _unanswered(registry: Registry, flagged: Sequence[Flagged], judged: int, unjudged: int) -> Findings:
    sides = {d.id: d for d in registry.of_ids(Decision, (key for row in flagged for key in row[:2]))}
    found = []
    for one, two, cosine, written in flagged:
        judgement = _read(written)
        if judgement is not None and one in sides and two in sides:
            found.append(Finding(a=sides[one], b=sides[two], judgement=judgement, cosine=cosine))
    ordered = sorted(found, key=lambda finding: finding.id)
    answered = {verdict.id for verdict in registry.conflicts} if ordered else set()
    waiting = [f for f in ordered if f.id not in answered]
    return Findings(
        conflicts=tuple(f for f in waiting if f.level is Level.CONFLICT),
        possible=tuple(f for f in waiting if f.level is Level.POSSIBLE),
        replacements=tuple(f for f in waiting if f.level is Level.REPLACEMENT),
        duplicates=tuple(f for f in ordered if f.level is Level.DUPLICATE),
        judged=judged,
        unjudged=unjudged,
    )


def _written(judgement: Judgement) -> str:
    values = judgement.probability, judgement.level.value, judgement.words, judgement.reason
    return json.dumps(values)


def _read(text: str | bytes) -> Judgement | None:
    try:
        probability, level, (one, two), reason = json.loads(text)
        return Judgement(
            probability=float(probability),
            level=Level(level),
            words=(tuple(one), tuple(two)),
            reason=str(reason),
        )
    except (ValueError, TypeError):
        return None
