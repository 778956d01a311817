"""Bad input made at random, by seed, and what becomes of it."""
