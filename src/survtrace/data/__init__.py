"""A table becomes a batch."""
