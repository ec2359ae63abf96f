"""What a file of samples says of itself."""

import json
from pathlib import Path
from typing import Any

from workbench.runs.sample_files import open_arrays


def read_notes(path: Path) -> dict[str, Any]:
    """The notes of a file of samples: run, bound, claim, whether it may leave the room."""
    with open_arrays(path) as file:
        return json.loads(str(file["notes"]))
