"""Text in, values out, and back: front matter, archives, blocks. No I/O."""
