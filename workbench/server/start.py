"""Starting the pages: Streamlit's own server on this machine alone, with the guard in front of it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.server import address
from workbench.server.guard import Guard, new_token

HOSTS = ("localhost", "127.0.0.1")  # what a browser of this machine calls it, also through a tunnel
WARM = (
    "pandas",
    "plotly.graph_objects",
    "workbench.experiment",
    "workbench.privacy.accounting.calibration",
    *(f"workbench.ui.{name}" for name in ("cards", "choices", "curves", "expected", "meaning", "runs", "utility")),
)
guarded = False  # whether this process serves its pages behind the guard
WITHOUT_TOKEN = (
    "WARNING: --no-token. EVERY account and every program of this machine can open these pages, look at private records and start runs."
)
UNGUARDED = (
    "Start the workbench with `workbench app` (or `make app`) and open the address that it prints. `streamlit run` would show "
    "private records to every account of this machine."
)


def serve(port: int, with_token: bool = True) -> None:
    """Serve the pages on 127.0.0.1:`port` until a signal ends it; the address to open is printed once the port is taken."""
    global guarded
    import streamlit
    from starlette.middleware import Middleware

    script = app_script()
    address.check_place()
    os.chdir(script.parent)  # where the settings of the server lie
    token = new_token() if with_token else None

    @asynccontextmanager
    async def announced(_app: Any) -> AsyncIterator[None]:
        opened = address.address(port, token)
        with address.kept(port, opened):
            if token is None:
                print(WITHOUT_TOKEN, flush=True)
            print(f"The workbench is open at {opened} (Ctrl-C ends it; runs go on).", flush=True)
            yield

    guard = Middleware(Guard, token=token, hosts=HOSTS, cookie=f"workbench-{port}")
    app = streamlit.App(script, middleware=[guard], lifespan=announced)
    guarded = True
    warm_up()
    app.run(config={"server.port": port, "server.address": "127.0.0.1", "logger.hideWelcomeMessage": True})


def warm_up() -> None:
    """Import what pages are made of before the address is printed: imports beside the first page would slow it down."""
    for name in WARM:
        import_module(name)


def app_script() -> Path:
    """The app's script in the checkout."""
    import workbench

    script = Path(workbench.__file__).parent.parent / "app.py"
    if not script.exists():
        raise WorkbenchError(f"Expected the app at {script}. Run `workbench app` from a checkout of the workbench.")
    return script
