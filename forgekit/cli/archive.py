"""`forgekit archive`: what compressing a conversation produced, kept verbatim."""

from __future__ import annotations

from forgekit.cli.base import noun
from forgekit.cli.entities import add_reading
from forgekit.cli.sync_compression import sync_compression
from forgekit.model.kinds import Kind

archive = noun("archive", "Compressed conversations, kept verbatim: list, show, new, history.")
add_reading(archive, Kind.ARCHIVE)
archive.add_command(sync_compression, "new")
