"""How much of agents' sessions their compactions left: the measure of `forgekit compaction report`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from forgekit.agent_sessions import statements_of
from forgekit.compaction.anchors import AnchorKind, stretches_with
from forgekit.compaction.events import Event
from forgekit.compaction.survival import CHARACTERS_A_TOKEN, SameAs, Survival, Survived, survivals
from forgekit.errors import NotFoundError
from forgekit.forge import Forge
from forgekit.frozen import frozen
from forgekit.model.settings import Settings
from forgekit.transcripts.agent_events import EventReader
from forgekit.transcripts.sources import READ_ERRORS, unpacked
from forgekit.worktree.roots import sessions_dir


@frozen(kw_only=True)
class CompactionReport:
    """What the compactions of some transcripts left; `judged`: a judge compared the words too."""

    compactions: tuple[Survival, ...]
    judged: bool

    @property
    def kinds(self) -> Mapping[AnchorKind, Survived]:
        """What survived of all, by kind."""
        sums: dict[AnchorKind, Survived] = {}
        for one in self.compactions:
            for kind, kept in one.kinds.items():
                sums[kind] = sums.get(kind, Survived()) + kept
        return {kind: sums[kind] for kind in AnchorKind if kind in sums}

    @property
    def tokens_a_saved_anchor(self) -> float:
        """Tokens of the blocks for each anchor that only they hold."""
        saved = sum(one.both - one.summary for one in self.kinds.values())
        tokens = sum(one.block for one in self.compactions) / CHARACTERS_A_TOKEN
        return round(tokens / saved, 1) if saved else 0.0


def report(forge: Forge | None, transcripts: Iterable[str]) -> CompactionReport:
    """Measure what each compaction of some transcripts left; a compaction in several files counts once.

    Raises NotFoundError for a file that cannot be read.
    """
    same = _same_as(forge)
    found: dict[str, Survival] = {}
    for name in transcripts:
        path = Path(name)
        try:
            events = events_of(path)
        except READ_ERRORS as e:
            raise NotFoundError("transcript", name, str(e)) from None
        parts = stretches_with(events, statements_of(forge, events) or [])
        for one in survivals(path.name.partition(".")[0], parts, same):
            found.setdefault(one.boundary.id, one)
    return CompactionReport(compactions=tuple(found.values()), judged=same is not None)


def events_of(path: Path) -> list[Event]:
    """Return the events of a transcript, packed or not; nothing is kept.

    Raises one of READ_ERRORS where it cannot be read.
    """
    with path.open("rb") as raw:
        return list(EventReader().read(unpacked(raw)))


def _same_as(forge: Forge | None) -> SameAs | None:
    """Return what compares the meaning of texts by the judge; None where there is no judge."""
    from forgekit.conflict.judge import Level, Statement
    from forgekit.models.choice import find_judge
    from forgekit.models.encoder import Missing, find_encoder

    cache = sessions_dir(forge.root if forge else None).parent
    settings = forge.settings if forge else Settings()
    judge, encoder = find_judge(settings, cache), find_encoder(settings, cache)
    if isinstance(judge, Missing) or isinstance(encoder, Missing):
        return None

    def same(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        if not pairs:
            return []
        vectors = encoder.encode_documents([text for pair in pairs for text in pair])
        cosines = [float(vectors[n] @ vectors[n + 1]) for n in range(0, len(vectors), 2)]
        asked = [(Statement(text=a), Statement(text=b)) for a, b in pairs]
        return [one is not None and one.level is Level.DUPLICATE for one in judge.judge(asked, cosines)]

    return same
