"""A limit to what a compressed file may unpack to, checked from its headers before anything is allocated."""

import math
import os
from pathlib import Path

from workbench.errors import WorkbenchError

SETTING = "WORKBENCH_MAX_UNPACKED_MIB"
MIB = 2**20
DEFAULT_MIB = 256
DEFAULT_RATIO = 100


def allowed_bytes(packed: int) -> int:
    """Bytes that a file of `packed` bytes may unpack to: the setting in MiB, else the larger of 256 MiB and 100 times its size."""
    text = os.environ.get(SETTING)
    if not text:
        return max(DEFAULT_MIB * MIB, DEFAULT_RATIO * packed)
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not (limit > 0 and math.isfinite(limit)):
        raise WorkbenchError(f"Expected a number of MiB above 0 in {SETTING}, got {text!r}. Correct it, or unset it for the default.")
    return int(limit * MIB)


def check_unpacked(path: Path, packed: int, unpacked: int) -> None:
    """Refuse what would unpack to more than `allowed_bytes`."""
    allowed = allowed_bytes(packed)
    if unpacked > allowed:
        raise WorkbenchError(
            f"Expected {path} ({packed / MIB:.3g} MiB) to unpack to at most {allowed / MIB:,.0f} MiB, got {unpacked / MIB:,.0f} MiB. "
            f"If the file is to be trusted, set {SETTING} to a larger number."
        )
