"""The tagger: finds for each token of an archive which field of a record it belongs to.

A small convolutional network over tokens and lines, with a conditional random field within each line
(Lafferty et al. 2001), fitted by `training/reader`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from forgekit.archives.network import convolved, on_grid
from forgekit.archives.tokens import Tokens
from forgekit.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forgekit.archives.network import Floats

    Ints = NDArray[np.int64]

TAGS = (
    *("O", "D", "T", "id", "tier", "why", "alt", "dep", "by", "state", "prio", "blk", "res", "note"),
    *("tag", "parent", "project", "date", "artifact", "insight"),
)
"""What a token may belong to: nothing, a decision's text, a thread's title, fields of records, facts."""
VALUES: Mapping[str, tuple[str, ...]] = {
    "D": ("active", "revised", "superseded", "invalidated"),
    "T": ("open", "resolved", "abandoned", "superseded"),
    "tier": ("0.1", "0.3", "0.5", "0.7", "0.9"),
    "state": ("active", "revised", "superseded", "invalidated", "open", "resolved", "abandoned"),
    "prio": ("high", "medium", "low"),
}
"""What the words of a tag may mean."""
FIRST_VALUE = {tag: sum(len(VALUES[each]) for each in list(VALUES)[:n]) for n, tag in enumerate(VALUES)}


@frozen()
class Tagged:
    """What the tagger finds for tokens.

    Attributes:
        tags: for each token the number of its tag in `TAGS`.
        values: for each token a score of every value, those of `VALUES` one behind the other.
        ahead: for each token a score, above zero where its field belongs to the record that follows.
        margins: for each token how far the score of its tag lies above that of none.
    """

    tags: Ints
    values: Floats
    ahead: Floats
    margins: Floats


def tag(tokens: Tokens, w: Mapping[str, Floats]) -> Tagged:
    """Tag tokens by weights, such as those of `tagger.bin`."""
    import numpy as np

    count = len(tokens.texts)
    if not count:
        none = np.zeros(0)
        return Tagged(none.astype(np.int64), np.zeros((0, 0)), none, none)
    words = np.add.reduceat(w["embedding"][tokens.ids], tokens.offsets)
    around = _around(tokens, words, w["context"])
    x = convolved(np.concatenate([words, around, tokens.dense], axis=1), w, "first")
    x = convolved(x, w, "second")
    begins = np.flatnonzero(np.diff(tokens.row, prepend=-1))
    line = convolved(np.maximum.reduceat(x, begins), w, "line")
    line = np.concatenate([line, convolved(line, w, "lines")], axis=1)
    y = convolved(np.concatenate([x, line[tokens.row]], axis=1), w, "third")
    z = np.concatenate([y, convolved(y, w, "fourth", spread=2)], axis=1)
    scores = z @ w["out"] + words @ w["skip"] + w["bias"]
    best = _best_path(scores[:, : len(TAGS)], tokens, w["moves"], w["starts"])
    margins = scores[np.arange(count), best] - scores[:, 0]
    return Tagged(best, scores[:, len(TAGS) : -1], scores[:, -1], margins)


def _around(tokens: Tokens, words: Floats, context: Floats) -> Floats:
    """Return what is above and beside each token: the means of the segments around it."""
    import numpy as np

    of, segments = tokens.pools
    order = np.argsort(segments, kind="stable")
    begins = np.flatnonzero(np.diff(segments[order], prepend=-1))
    sums = np.add.reduceat(words[of[order]], begins)
    counts = np.diff(begins, append=len(order))
    means = np.zeros((tokens.segments, words.shape[1]))
    means[segments[order][begins]] = on_grid(sums / np.sqrt(counts)[:, None])
    inner = means @ context
    size = context.shape[1] // 4
    return np.concatenate([inner[tokens.around[:, n], n * size : (n + 1) * size] for n in range(4)], axis=1)


def _best_path(scores: Floats, tokens: Tokens, moves: Floats, starts: Floats) -> Ints:
    """Return the best tags within each line (Viterbi), the lines side by side."""
    import numpy as np

    begins = np.flatnonzero(np.diff(tokens.row, prepend=-1))
    sizes = np.diff(begins, append=len(scores))
    order = np.argsort(-sizes, kind="stable")
    begins, sizes = begins[order], sizes[order]
    best = starts + scores[begins]
    back = np.zeros(scores.shape, dtype=np.int64)
    for step in range(1, int(sizes[0])):
        alive = int(np.searchsorted(-sizes, -step))
        at = begins[:alive] + step
        reached = best[:alive, :, None] + moves[tokens.inside[at]]
        back[at] = reached.argmax(axis=1)
        best[:alive] = reached.max(axis=1) + scores[at]
    path = np.zeros(len(scores), dtype=np.int64)
    now = best.argmax(axis=1)
    path[begins + sizes - 1] = now
    for step in range(int(sizes[0]) - 1, 0, -1):
        alive = int(np.searchsorted(-sizes, -step))
        at = begins[:alive] + step
        path[at - 1] = back[at, path[at]]
    return path
