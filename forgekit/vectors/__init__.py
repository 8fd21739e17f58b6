"""Search by meaning: vectors kept per text, and the index that is searched."""
