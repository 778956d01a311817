"""Columns become numbers: kinds, values, scales and categories."""
