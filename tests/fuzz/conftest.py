"""Lets the modules of this folder be imported as ``fuzz``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
