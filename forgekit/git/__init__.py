"""git: the program, libgit2, and one commit at a time."""
