"""The disposable cache: SQLite catalogue with full-text search, FAISS vectors."""
