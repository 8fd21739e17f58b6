"""An index of the work tree's files that can be deleted at any moment: SQLite with full-text search."""
