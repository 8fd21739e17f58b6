"""The sample archives can be written into any folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from forgekit.errors import UsageError
from forgekit.upkeep.init_migrate import SAMPLES, write_demo_data


def test_the_samples_are_written_into_any_folder_twice_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "samples"
    written = write_demo_data(folder)
    assert [path.name for path in written] == sorted(path.name for path in SAMPLES.iterdir())
    assert len(written) == 8
    assert write_demo_data(folder) == written
    assert all(path.read_bytes() == (SAMPLES / path.name).read_bytes() for path in written)


def test_a_file_of_ones_own_is_not_overwritten(tmp_path: Path) -> None:
    own = tmp_path / max(SAMPLES.iterdir()).name
    own.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="differs from the sample; name another folder"):
        write_demo_data(tmp_path)
    assert list(tmp_path.iterdir()) == [own]
    assert own.read_text(encoding="utf-8") == "mine"
