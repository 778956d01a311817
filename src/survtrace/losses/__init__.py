"""Losses of hazards, given outcomes."""
