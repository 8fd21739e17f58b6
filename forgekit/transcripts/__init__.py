"""Foreign conversation formats, read into conversations."""
