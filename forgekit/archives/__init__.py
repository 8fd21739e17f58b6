"""What a pasted archive says, and what all archives say together. Pure."""
