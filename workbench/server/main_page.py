"""The main page under its own name: Streamlit draws it at the root alone, and says of its name that there is no such page."""

from dataclasses import dataclass

from starlette.datastructures import URL
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass(frozen=True)
class MainPage:
    """ASGI middleware: sends whoever asks for /`name` to the root, with the choices that the address carries."""

    app: ASGIApp
    name: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for the page's name, and hand on all others."""
        if scope["type"] == "http" and scope["path"] in (f"/{self.name}", f"/{self.name}/"):
            query = URL(scope=scope).query
            await RedirectResponse("/" + (f"?{query}" if query else ""), status_code=307)(scope, receive, send)
        else:
            await self.app(scope, receive, send)
