"""Sample archives of two projects, to try forgekit with in any folder."""

from __future__ import annotations

from pathlib import Path

from forgekit.errors import UsageError

SAMPLES = Path(__file__).parent / "demo"


def write_demo_data(folder: Path) -> list[Path]:
    """Write the sample archives into a folder and return their paths; a second time changes nothing.

    Raises UsageError where the folder has other files of the same names.
    """
    wanted = {folder / sample.name: sample.read_bytes() for sample in sorted(SAMPLES.glob("*.md"))}
    for path, data in wanted.items():
        if path.exists() and path.read_bytes() != data:
            raise UsageError(f"{path} exists and differs from the sample; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in wanted.items():
        path.write_bytes(data)
    return list(wanted)
