"""Hazards meet outcomes."""
