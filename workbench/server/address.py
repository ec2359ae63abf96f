"""Where the workbench's pages are open: a file a port in the home, readable by its owner alone, so that it can be told again."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlencode

from workbench.errors import WorkbenchError
from workbench.files import make_private_folder, write_text_atomically
from workbench.jobs.identity import ProcessIdentity, identity_of, is_alive
from workbench.server.access import THIS_MACHINE
from workbench.server.guard import TOKEN
from workbench.workspace import Workspace


def address(port: int, token: str | None, host: str = THIS_MACHINE) -> str:
    """What to open in a browser, of this machine or by the name or address `host`."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/" + (f"?{urlencode({TOKEN: token})}" if token else "")


def check_place(workspace: Workspace) -> None:
    """Refuse a home in which nothing can be kept, before anything is served."""
    try:
        make_private_folder(workspace.app)
        with tempfile.TemporaryFile(dir=workspace.app):
            pass
    except OSError as error:
        raise WorkbenchError(f"Expected a home that can be written, got: {error}. Set WORKBENCH_HOME to another place.") from None


@contextmanager
def address_kept(workspace: Workspace, port: int, opened: str) -> Iterator[None]:
    """Keep the address in the home while this process serves it."""
    path = workspace.app / f"{port}.json"
    process = identity_of(os.getpid())
    write_text_atomically(path, json.dumps({"address": opened, "process": process.model_dump() if process else None}))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def open_addresses(workspace: Workspace) -> list[str]:
    """The addresses of the servers of this home that still run."""
    addresses = []
    for path in sorted(workspace.app.glob("*.json")):
        with suppress(FileNotFoundError, ValueError, KeyError, TypeError):  # its server has just ended; or no file of ours
            entry = json.loads(path.read_text())
            if is_alive(ProcessIdentity.model_validate(entry["process"])):
                addresses.append(entry["address"])
    return addresses
