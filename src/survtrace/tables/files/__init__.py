"""Tables in files: how each is written, read in chunks, written whole."""
