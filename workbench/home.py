"""Where this installation keeps its runs, and the key that makes its fingerprints its own."""

import os
import secrets
from pathlib import Path

from workbench.errors import WorkbenchError


def home() -> Path:
    """The folder of runs and ledgers: `WORKBENCH_HOME`, or `.dp-diffusion-workbench` in the user's home."""
    folder = Path(os.environ.get("WORKBENCH_HOME") or Path.home() / ".dp-diffusion-workbench")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise WorkbenchError(f"Expected a folder, or room for one, at {folder}, got a file. Set WORKBENCH_HOME to another place.") from None
    return folder


def data_home() -> Path:
    """The folder of downloaded or given datasets: `WORKBENCH_DATA`, or `data` in `home()`."""
    return Path(os.environ.get("WORKBENCH_DATA") or home() / "data")


def installation_key() -> bytes:
    """32 random bytes made once; fingerprints keyed with them cannot be compared across installations."""
    path = home() / "installation.key"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = path.read_bytes()
        if len(key) == 32:
            return key
        raise OSError(f"Expected 32 bytes in {path}, found {len(key)}. Restore it, or delete it and start new ledgers.") from None
    with os.fdopen(descriptor, "wb") as file:
        key = secrets.token_bytes(32)
        file.write(key)
    return key
