"""Honest scores of survival and incidence predictions, with intervals (numpy and numba only)."""
