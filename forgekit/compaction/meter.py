"""How full the context of a session is, and how near a compaction.

The share is of the point at which this model was seen to compact by itself, else of its window.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from forgekit.compaction.events import Event, EventKind

WARNING, CRITICAL = 0.83, 0.94
"""Shares from which on the risk is medium, and high."""
BACK = 0.03
"""A risk falls only where the share is lower than its threshold by this."""
WINDOW, LONG_WINDOW = 200_000, 1_000_000
"""Tokens of a model's context, and of one that is named as long or was seen to hold more."""
_LONG = "[1m]"
NO_LIMITS: Mapping[str, int] = MappingProxyType({})


class Risk(Enum):
    """How near a compaction is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    OCCURRED = "occurred"  # and the model has not answered since


class Meter(NamedTuple):
    """The context of a session.

    Attributes:
        window: tokens of the model's context.
        limit: tokens at which a compaction is expected.
        observed: whether the limit is one at which this model was seen to compact.
    """

    used: int = 0
    window: int = WINDOW
    limit: int = WINDOW
    observed: bool = False
    risk: Risk = Risk.LOW
    model: str = ""
    compactions: int = 0

    @property
    def share(self) -> float:
        """Tokens in use by the tokens at which a compaction is expected, at most 1."""
        return min(1.0, round(self.used / self.limit, 3))


def measure(events: Iterable[Event], window: int = 0, limits: Mapping[str, int] = NO_LIMITS) -> Meter:
    """Return the meter after some events, of the main chain in order.

    Args:
        window: tokens of the model's context that the agent names; 0 where it names none.
        limits: tokens at which models were seen to compact in other sessions.
    """
    used = most = compactions = 0
    model, risk = "", Risk.LOW
    observed = dict(limits)
    for event in events:
        if event.kind is EventKind.USAGE:
            used, model, most = event.tokens, event.name, max(most, event.tokens)
            risk = _risk(used / _limit(observed, model, window, most), risk)
        elif event.kind is EventKind.BOUNDARY:
            compactions += 1
            if event.name == "auto" and event.tokens:
                observed[model] = event.tokens
            used, risk = 0, Risk.OCCURRED
    limit = _limit(observed, model, window, most)
    return Meter(
        used=used,
        window=window or _window(model, most),
        limit=limit,
        observed=limit == observed.get(model),
        risk=risk,
        model=model,
        compactions=compactions,
    )


def reported(share: float, window: int, measured: Meter | None = None) -> Meter:
    """Return the meter of what the agent itself says.

    Args:
        share: of the window that is in use.
        measured: the same session's by its transcript, which knows where the model compacts.
    """
    used = round(min(share, 1.0) * window)
    meter = measured or Meter(risk=_risk(share, Risk.LOW))
    return meter._replace(used=used, window=window, limit=window, observed=False)


def _window(model: str, most: int) -> int:
    return LONG_WINDOW if _LONG in model or most > WINDOW else WINDOW


def _limit(observed: dict[str, int], model: str, window: int, most: int) -> int:
    seen = observed.get(model, 0)
    # A session that went on beyond it compacts elsewhere: its window is another one.
    return seen if seen and most <= seen * (1 + BACK) else window or _window(model, most)


def _risk(share: float, before: Risk) -> Risk:
    """Return the risk of a share; it falls back only where the share is clearly below."""
    critical = CRITICAL - BACK * (before is Risk.HIGH)
    warning = WARNING - BACK * (before in {Risk.MEDIUM, Risk.HIGH})
    return Risk.HIGH if share >= critical else Risk.MEDIUM if share >= warning else Risk.LOW
