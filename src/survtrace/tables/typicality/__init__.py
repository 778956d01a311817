"""How usual a whole patient is among those learned from; no torch."""
