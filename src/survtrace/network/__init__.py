"""A batch becomes hazards; every layer has the member axis."""
