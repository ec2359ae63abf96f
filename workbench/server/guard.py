"""Who may look: every request and WebSocket carries the token of this start, and comes from the pages themselves.

The check stands before Streamlit: pages, media, uploads, components and the WebSocket are all behind it. The address that is
printed carries the token once; the browser keeps it in a cookie that scripts cannot read and other sites cannot send.
A browser sends a cookie to every port of a host, so whoever serves pages under the same host name could read it from a
visitor: visit no other account's server under the name that the printed address has.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

TOKEN = "token"  # the parameter of the printed address
TOKEN_BYTES = 32
OPEN_PATHS = frozenset({"/_stcore/health"})  # says "ok" and nothing else
POLICY_VIOLATION = 1008
NO_TOKEN = (
    "The workbench shows private records, so its pages open only at the address that `workbench app` printed when it started. "
    "On the account that started it, `workbench app --address` prints it again."
)
OTHER_HOST = "Expected a request to {hosts}, got one to {host!r}. Open the address that `workbench app` printed."
OTHER_ORIGIN = "Expected a request of the workbench's own pages, got one of another site's. Open the address that `workbench app` printed."
HEADERS = (
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"frame-ancestors 'self'"),
)


def new_token() -> str:
    """256 random bits of the operating system, as text for an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def nobody_asks(_connection: HTTPConnection) -> str:
    """The default of `Guard.stranger`: the token alone lets in."""
    return ""


@dataclass(frozen=True)
class Guard:
    """ASGI middleware: refuses with 403 what lacks the token or comes from elsewhere; `token` None asks for no token.

    `hosts` are the host names that the server answers to, `cookie` the name under which a browser keeps the token. `stranger` says why a
    visitor is not known where a proxy says who each is.
    """

    app: ASGIApp
    token: str | None
    hosts: Sequence[str]
    cookie: str
    stranger: Callable[[HTTPConnection], str] = nobody_asks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection: refuse it, take the token out of its address, or hand it on."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        answer = self._answer(connection)
        if answer is None:
            await self.app(scope, receive, with_headers(send))
        elif scope["type"] == "websocket":
            await WebSocketClose(POLICY_VIOLATION)(scope, receive, send)
        else:
            await answer(scope, receive, with_headers(send))

    def _answer(self, connection: HTTPConnection) -> Response | None:
        """What is answered in the place of the app; None where the app may answer."""
        reason = foreign(connection, self.hosts)
        if reason is not None:
            return PlainTextResponse(reason, status_code=403)
        if connection.scope["path"] not in OPEN_PATHS and (reason := self.stranger(connection)):
            return PlainTextResponse(reason, status_code=403)
        if self.token is None or connection.scope["path"] in OPEN_PATHS:  # as it is routed by; `url` reads over tabs and line ends
            return None
        given = connection.query_params.get(TOKEN)
        if given is not None and self._is_token(given):
            return self._welcome(connection)
        return None if self._is_token(connection.cookies.get(self.cookie, "")) else PlainTextResponse(NO_TOKEN, status_code=403)

    def _is_token(self, given: str) -> bool:
        return self.token is not None and secrets.compare_digest(given.encode(), self.token.encode())

    def _welcome(self, connection: HTTPConnection) -> Response:
        """Give the browser its cookie, and send it to the same address without the token."""
        here = connection.url.remove_query_params(TOKEN)
        path = "/" + here.path.lstrip("/")  # two slashes would name another host
        answer = RedirectResponse(path + (f"?{here.query}" if here.query else ""), status_code=303)
        answer.set_cookie(self.cookie, self.token or "", path="/", httponly=True, samesite="strict")
        answer.headers["cache-control"] = "no-store"
        return answer


def foreign(connection: HTTPConnection, hosts: Sequence[str]) -> str | None:
    """Why a request is none of the pages' own: it names another host, or a page of another origin sent it; None if it is.

    The same host on another port is another origin: any account can serve there. A link followed from elsewhere is no
    request of that page's; it gets a page only with the token.
    """
    named, origins = connection.headers.getlist("host"), connection.headers.getlist("origin")
    host = named[0] if len(named) == 1 else ""
    if host_name(host) not in hosts:
        return OTHER_HOST.format(hosts=" or ".join(hosts), host=host)
    if any(origin not in (f"http://{host}", f"https://{host}") for origin in origins):
        return OTHER_ORIGIN
    site, mode = connection.headers.get("sec-fetch-site", "none"), connection.headers.get("sec-fetch-mode")
    embedded = connection.headers.get("sec-fetch-dest") in ("iframe", "frame", "embed", "object")
    if site in ("cross-site", "same-site") and (mode != "navigate" or embedded):
        return OTHER_ORIGIN
    return None


def host_name(host: str) -> str:
    """The name in a Host header, without its port; empty for what is no host."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # a port out of range is an error
    except ValueError:
        return ""
    return parts.hostname or "" if parts.netloc == host and "@" not in host else ""


def with_headers(send: Send) -> Send:
    """Adds to every answer that other sites may neither embed it nor learn where a link led from."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
        await send(message)

    return sending
