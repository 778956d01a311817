"""The visible loop, and what it remembers."""
