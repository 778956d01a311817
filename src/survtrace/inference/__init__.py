"""A fitted network answers: hazards become curves at any time."""
