"""The paper's evaluation, rerun: data sets x methods x splits, scores, tables."""
