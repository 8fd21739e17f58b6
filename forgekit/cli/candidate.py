"""`forgekit candidate`: what conversations seem to have decided or left open."""

from __future__ import annotations

from forgekit.cli.base import noun
from forgekit.cli.entities import add_reading
from forgekit.model.kinds import Kind

candidate = noun("candidate", "What conversations seem to have decided: list, show, history; see `review`.")
add_reading(candidate, Kind.CANDIDATE)
