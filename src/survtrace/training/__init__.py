"""The training loop, what it remembers, and what is learned after it."""
