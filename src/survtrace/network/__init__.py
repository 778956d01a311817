"""A batch becomes logits; every layer has the member axis."""
