"""Subjects become batches: source, statistics, encoding, store, batches."""
