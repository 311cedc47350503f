"""Make the modules shared by the batch tests importable."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
