"""Foreign formats, read into the words of the register. Nothing here writes."""
