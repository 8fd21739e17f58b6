"""Machine blocks that hold the records of an archive, as earlier versions wrote them."""

from __future__ import annotations

import json

from forgekit.archives.machine_block import END, START, digest_of


def signed_block(rest: str, **payload: object) -> str:
    """Return a block with the checksum of the document around it."""
    head = [START, "version: 3", f"sha256: {digest_of(rest.split(chr(10)), [])}"]
    return "\n".join([*head, *(f"{key}: {json.dumps(value)}" for key, value in payload.items()), END]) + "\n"
