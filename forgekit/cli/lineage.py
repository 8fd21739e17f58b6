"""`forgekit lineage`: which conversation continues which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from forgekit.cli.base import MOMENT, example, noun, open_forge, options, writing
from forgekit.cli.changes import wrote
from forgekit.cli.editing import add_edit
from forgekit.cli.entities import add_reading
from forgekit.model.kinds import Kind
from forgekit.times import Instant

if TYPE_CHECKING:
    from forgekit.ids import EntityId

lineage = noun("lineage", "Which conversation continues which: list, show, new, edit, history.")
add_reading(lineage, Kind.LINEAGE)


@lineage.command(
    help="Register that TARGET continues SOURCE under a compression tag.\n\n"
    + example("forgekit lineage new con_1f0a5d9e3b21 con_9c2f7be01d44 --tag STORAGE_LAYER_RESULT")
)
@click.argument("source")
@click.argument("target")
@click.option("--tag", required=True, metavar="TAG", help="The archive that was carried over.")
@click.option("--mode", type=click.Choice(["lossless", "lossy", "partial"]), help="How it was compressed.")
@click.option("--compressed-at", type=MOMENT, metavar="DATE", help="When it was compressed.")
@click.option("--summary", metavar="TEXT", help="What changed on the way, Markdown.")
@click.option("--carried", multiple=True, metavar="ID", help="A decision or thread carried; repeatable.")
@click.option("--dropped", multiple=True, metavar="ID", help="A decision left behind; repeatable.")
@click.option("--resolved", multiple=True, metavar="ID", help="A thread that ended on the way; repeatable.")
@writing
def new(
    source: str,
    target: str,
    tag: str,
    mode: str | None,
    compressed_at: Instant | None,
    summary: str | None,
    carried: tuple[str, ...],
    dropped: tuple[str, ...],
    resolved: tuple[str, ...],
    *,
    dry_run: bool,
    no_commit: bool,
) -> None:
    """Register an edge."""
    from forgekit.lineage import link, pairs
    from forgekit.model.lineage import Compression, CompressionMode

    forge = open_forge()
    registry = forge.registry()

    def named(names: Iterable[str], *kinds: Kind) -> dict[Kind, tuple[tuple[str, EntityId], ...]]:
        found: list[Any] = [registry.entities[forge.resolve(name, *kinds)] for name in names]
        return {kind: pairs(entity for entity in found if entity.kind is kind) for kind in kinds}

    kept = named(carried, Kind.DECISION, Kind.THREAD)
    compression = Compression(
        compression_tag=tag,
        compression_mode=CompressionMode(mode) if mode else None,
        compressed_at=compressed_at,
        decisions_carried=kept[Kind.DECISION],
        threads_carried=kept[Kind.THREAD],
        decisions_dropped=named(dropped, Kind.DECISION)[Kind.DECISION],
        threads_resolved=named(resolved, Kind.THREAD)[Kind.THREAD],
    )
    way = options(dry_run=dry_run, no_commit=no_commit)
    wrote(link(forge, source, target, compression, bridge_summary=summary, options=way), "lineage new")


add_edit(lineage, Kind.LINEAGE)
