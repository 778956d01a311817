"""Cohorts to learn on: embedded, downloaded, and simulated with known truth."""
