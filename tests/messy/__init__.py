"""Tables as they come: each gets a right answer or a clear question."""
