"""git: the program by `program`, libgit2 by `repository`; commits by `commits`, put in force by `publish`."""
