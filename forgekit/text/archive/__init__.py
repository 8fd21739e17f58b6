"""Archives as text: their families, read by one reader each."""

from forgekit.text.archive.reader import read_archive

__all__ = ["read_archive"]
