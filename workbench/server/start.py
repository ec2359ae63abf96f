"""Starting the pages: Streamlit's own server on this machine alone, with the guard in front of it."""

import gc
import os
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.server import address
from workbench.server.access import INSECURE, Access
from workbench.server.guard import Guard, new_token
from workbench.server.main_page import MainPage
from workbench.workspace import Workspace

APP, SETTINGS = Path(__file__).parent / "app.py", Path(__file__).parent / "config.toml"
WARM = (
    "pandas",
    "plotly.graph_objects",
    "workbench.experiment",
    "workbench.privacy.accounting.calibration",
    "workbench.pages.budget.page",
)
guarded = False  # whether this process serves its pages behind the guard
access = Access()  # who may look at them
WITHOUT_TOKEN = (
    "WARNING: --no-token. EVERY account and every program of this machine can open these pages, look at private records and start runs."
)
UNGUARDED = (
    "Start the workbench with `make app`, `workbench app` or `python app.py`, and open the address that it prints. `streamlit run` would "
    "show private records to every account of this machine."
)


def serve(port: int, with_token: bool = True, who: Access | None = None) -> None:
    """Serve the pages on `port` until a signal ends it, on this machine alone unless `who` says otherwise.

    The address to open is printed once the port is taken. Behind a proxy that says who looks there is no token.
    """
    global guarded, access
    import streamlit
    from starlette.middleware import Middleware

    from workbench.pages import PAGES

    workspace, who = Workspace.default(), who or Access()
    who.check()
    if who.insecure and not with_token:
        raise WorkbenchError("Expected a token where other machines can open the pages, got --no-token.")
    address.check_place(workspace)
    token = new_token() if with_token and not who.header else None

    @asynccontextmanager
    async def announced(_app: Any) -> AsyncIterator[None]:
        opened = address.address(port, token, who.names[0] if who.names else who.host)
        with address.address_kept(workspace, port, opened):
            if token is None and not who.header:
                print(WITHOUT_TOKEN, flush=True)
            if who.insecure:
                print(INSECURE, flush=True)
            print(f"The workbench is open at {opened} (Ctrl-C ends it; runs go on).", flush=True)
            yield

    guard = Middleware(Guard, token=token, hosts=who.hosts, cookie=f"workbench-{port}", stranger=who.stranger)
    app = streamlit.App(APP, middleware=[guard, Middleware(MainPage, name=next(iter(PAGES)))], lifespan=announced)
    guarded, access = True, who
    warm_up()
    os.environ["FORWARDED_ALLOW_IPS"] = ""  # uvicorn would take a client's address from what a proxy forwards
    place = {"server.address": who.host, "server.allowedHosts": list(who.hosts), "server.port": port}
    app.run(config=settings() | place | {"logger.hideWelcomeMessage": True})


def warm_up() -> None:
    """Import what pages are made of, and read the tables they show, before the address is printed: both would slow the first page down.

    So would what libraries look up once a process, at their first chart and their first piece of HTML.
    """
    from streamlit.env_util import is_repl
    from streamlit.logger import get_logger

    from workbench.measured import load_measured
    from workbench.published import load_published

    get_logger("streamlit.runtime.caching.cache_data_api").setLevel("ERROR")
    for name in WARM:
        import_module(name)
    import_module("workbench.ui.charts").empty_figure("", "")
    is_repl()
    load_measured()
    load_published()
    gc.collect()
    gc.freeze()  # the libraries stay: to look through them for what can go would take .2 s each time


def settings() -> dict[str, Any]:
    """The server's settings by dotted name. They are given to it in full, so that no other file's hold, from wherever it is started."""
    return dict(_dotted_items(tomllib.loads(SETTINGS.read_text(encoding="utf-8"))))


def _dotted_items(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _dotted_items(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
