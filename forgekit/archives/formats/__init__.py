"""One module a layout of archives: text in, claims out."""
