"""Weights and convolutions of the networks that read archives.

Their numbers are multiples of 2**-10 and are added in double precision, where sums of them are exact: every
machine gives the same answer.
"""

from __future__ import annotations

import json
import pkgutil
import zlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GRID = 1024.0
_BLOCK = 1024  # rows that stay in the processor's cache


@cache
def weights(name: str) -> Mapping[str, Floats]:
    """Return the weights of a file that comes with the package, on the grid."""
    import numpy as np  # for readers alone

    stored = zlib.decompress(pkgutil.get_data(__package__, name) or b"")
    head = int.from_bytes(stored[:4], "big") + 4
    numbers = np.frombuffer(stored, dtype="<i2", offset=head)
    found, reached = {}, 0
    for each, shape in json.loads(stored[4:head]).items():
        size = int(np.prod(shape))
        found[each] = numbers[reached : reached + size].reshape(shape).astype(np.float64) / GRID
        reached += size
    return found


def stored_weights(weights: Mapping[str, Floats]) -> bytes:
    """Return weights as the package keeps them: their names and shapes as JSON, then the numbers."""
    import numpy as np

    head = json.dumps({name: each.shape for name, each in weights.items()}).encode()
    numbers = [np.round(each * GRID).astype("<i2").tobytes() for each in weights.values()]
    return zlib.compress(b"".join([len(head).to_bytes(4, "big"), head, *numbers]), 9)


def on_grid(x: Floats) -> Floats:
    """Return numbers rounded so far that their products with weights are exact."""
    import numpy as np

    return np.asarray(np.round(x * 256) / 256)


def convolved(x: Floats, w: Mapping[str, Floats], name: str, spread: int = 1) -> Floats:
    """Return a convolution over the rows of x, rectified; `spread` is the distance of its taps."""
    import numpy as np

    kernel, count = w[name], x.shape[1]
    width = kernel.shape[0] // count
    reach = width // 2 * spread
    padded = np.pad(x, ((reach, reach), (0, 0)))
    found = np.empty((len(x), kernel.shape[1]))
    for first in range(0, len(x), _BLOCK):
        last = min(first + _BLOCK, len(x))
        near = [padded[first + n * spread : last + n * spread] for n in range(width)]
        found[first:last] = np.concatenate(near, axis=1) @ kernel
    return on_grid(np.maximum(found + w[f"{name} bias"], 0))
