"""The registry's files: where they are, how they are read and put in place, and their only writer."""
