"""A started app answers to who has its token and comes from its own pages, and to nobody else."""

import base64
import http.client
import json
import os
import re
import socket
import stat
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from server.conftest import ROOT, Served

from workbench.errors import WorkbenchError
from workbench.jobs.identity import boot_identity
from workbench.server import start

Headers = dict[str, str]
Answer = tuple[int, Headers, str]
HANDSHAKE = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
PATHS = ("/", "/train", "/_stcore/host-config", "/_stcore/stream", "/media/any.png", "/component/any", "/static/index.html", "/%5f")
MORE_PATHS = (
    "/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/bidi-components/a/b", "/_stcore/agent/interact", "/_stcore/agent/mcp",
    "/_stcore/agent/openapi.json", "/auth/login", "/auth/logout", "/oauth2callback", "/app/static/any", "/_stcore/upload_file/a/b",
)  # fmt: skip
NEARLY_OPEN = (
    "/_stcore/health%09",
    "/_stcore%09/health",
    "/_stcore/heal%0Ath",
    "/_stcore/health%3Fx",
    "/_stcore/health/",
    "//_stcore/health",
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
NOBODY = 65534


def ask(base: str, path: str, headers: Headers | None = None, method: str = "GET") -> Answer:
    """Status, headers (lower case) and text of an answer; nothing is followed."""
    parts = urlsplit(base)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    received = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode(errors="replace")
    connection.close()
    return received


def handshake(app: Served, headers: Headers) -> int:
    """The status of an attempt to open the WebSocket that Streamlit draws through; 101 is an open one."""
    key = {"Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode()}
    parts = urlsplit(app.base)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as raw:
        lines = [f"{name}: {value}" for name, value in ({"Host": parts.netloc} | HANDSHAKE | key | headers).items()]
        raw.sendall("\r\n".join(["GET /_stcore/stream HTTP/1.1", *lines, "", ""]).encode())
        return int(raw.recv(4096).split()[1])


def raw_status(app: Served, lines: str) -> int:
    """The status of the answer to a request as it is written here."""
    parts = urlsplit(app.base)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as raw:
        raw.sendall(f"{lines}Connection: close\r\n\r\n".encode())
        return int(raw.recv(4096).split()[1])


def cookie(app: Served) -> Headers:
    """What a browser sends that has opened the printed address."""
    _, headers, _ = ask(app.base, app.address.removeprefix(app.base))
    return {"Cookie": headers["set-cookie"].partition(";")[0]}


def as_nobody(action: Callable[[], object]) -> str:
    """What `action` returns, or the error it raises, as text, in a process of another account of the machine."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            said = repr(action())
        except BaseException as error:
            said = type(error).__name__
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", [{}, {"Cookie": "workbench=x"}, {"Authorization": "Bearer x"}], ids=["nothing", "cookie", "bearer"])
def test_nothing_is_served_without_the_token(app: Served, path: str, headers: Headers) -> None:
    status, _, text = ask(app.base, path, headers)
    assert status == 403
    assert "workbench app --address" in text
    assert "streamlit" not in text.lower()


@pytest.mark.parametrize("method", METHODS)
def test_no_route_and_no_method_answers_without_the_token(app: Served, method: str) -> None:
    assert {path: status for path in MORE_PATHS if (status := ask(app.base, path, method=method)[0]) != 403} == {}


@pytest.mark.parametrize("path", NEARLY_OPEN)
def test_what_only_resembles_the_open_path_is_refused(app: Served, path: str) -> None:
    assert ask(app.base, path)[0] == 403


def test_a_request_without_a_host_or_with_forwarded_ones_is_refused(app: Served) -> None:
    mine = "".join(f"{name}: {value}\r\n" for name, value in cookie(app).items())
    here = urlsplit(app.base).netloc
    assert raw_status(app, f"GET / HTTP/1.0\r\n{mine}") == 403
    assert raw_status(app, f"GET / HTTP/1.1\r\nHost: {here}\r\nHost: evil.example\r\n{mine}") == 400
    assert raw_status(app, f"GET / HTTP/1.1\r\nHost: {here}\r\nOrigin: {app.base}\r\nOrigin: http://evil.example\r\n{mine}") == 403
    forwarded = f"X-Forwarded-Host: {here}\r\nX-Forwarded-Prefix: /_stcore/health\r\nX-Original-URL: /_stcore/health\r\n"
    assert raw_status(app, f"GET / HTTP/1.1\r\nHost: evil.example\r\n{forwarded}{mine}") == 403
    assert raw_status(app, f"GET / HTTP/1.1\r\nHost: {here}\r\n{forwarded}") == 403
    assert raw_status(app, f"GET / HTTP/1.1\r\nHost: {here}\r\n{mine}") == 200


def test_another_instance_s_cookie_opens_nothing(app: Served) -> None:
    port = urlsplit(app.base).port or 0
    for name in (f"workbench-{port + 1}", "workbench", "token", "_streamlit_xsrf"):
        assert ask(app.base, "/", {"Cookie": f"{name}={app.token}"})[0] == 403
        assert handshake(app, {"Origin": app.base, "Cookie": f"{name}={app.token}"}) == 403
    assert handshake(app, {"Origin": app.base, "Cookie": f"workbench-{port}={app.token}x"}) == 403
    assert handshake(app, {"Origin": app.base, "Sec-WebSocket-Protocol": f"streamlit, {app.token}"}) == 403


def test_uploads_and_a_wrong_token_are_refused(app: Served) -> None:
    assert ask(app.base, "/_stcore/upload_file/a/b", method="PUT")[0] == 403
    for wrong in ("", "x", app.token[:-1], app.token + "x", "%00", "%F0%9F"):
        assert ask(app.base, f"/?token={wrong}")[0] == 403
        assert ask(app.base, "/", {"Cookie": f"workbench-{urlsplit(app.base).port}={wrong}"})[0] == 403


def test_it_listens_on_this_machine_alone(app: Served) -> None:
    sockets = [place.laddr for place in psutil.Process(app.process.pid).net_connections("inet") if place.status == psutil.CONN_LISTEN]
    assert [(place.ip, place.port) for place in sockets] == [("127.0.0.1", urlsplit(app.base).port)]


def test_only_that_it_runs_is_told_to_all(app: Served) -> None:
    status, _, text = ask(app.base, "/_stcore/health")
    assert (status, text) == (200, "ok")


def test_the_printed_address_lets_in_and_leaves_no_token_in_the_address_bar(app: Served) -> None:
    assert len(base64.urlsafe_b64decode(app.token + "=")) == 32
    status, headers, text = ask(app.base, f"/train?train_epsilon=2&token={app.token}&x=")
    assert (status, headers["location"], text) == (303, "/train?train_epsilon=2&x=", "")
    assert headers["cache-control"] == "no-store"
    name, *flags = headers["set-cookie"].lower().split("; ")
    assert name.startswith(f"workbench-{urlsplit(app.base).port}=")
    assert {"httponly", "samesite=strict", "path=/"} <= set(flags)
    status, headers, text = ask(app.base, "/train?train_epsilon=2", cookie(app))
    assert (status, "<title>Streamlit</title>" in text) == (200, True)
    assert headers["content-security-policy"] == "frame-ancestors 'self'"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_the_way_on_stays_on_this_host(app: Served) -> None:
    assert ask(app.base, f"//evil.example/x?token={app.token}")[1]["location"] == "/evil.example/x"


def test_the_main_page_has_its_name_too(app: Served) -> None:
    mine = cookie(app)
    for path, place in (("/start", "/"), ("/start/", "/"), ("/start?start_example=3&x=%2F%2Fevil", "/?start_example=3&x=%2F%2Fevil")):
        status, headers, _ = ask(app.base, path, mine)
        assert (status, headers["location"], headers["referrer-policy"]) == (307, place, "same-origin")
        assert ask(app.base, path)[0] == 403
    assert ask(app.base, "/starts", mine)[0] == 200


def test_the_websocket_opens_with_the_token_alone(app: Served) -> None:
    assert handshake(app, {"Origin": app.base}) == 403
    assert handshake(app, cookie(app) | {"Origin": app.base}) == 101


@pytest.mark.parametrize(
    "origin",
    ["http://localhost:3000", "http://127.0.0.1:3000", "http://127.0.0.1", "http://evil.example", "null", "http://localhost:{port}"],
)
def test_another_origin_is_refused_even_with_the_token(app: Served, origin: str) -> None:
    headers = cookie(app) | {"Origin": origin.format(port=urlsplit(app.base).port)}
    assert handshake(app, headers) == 403
    assert ask(app.base, "/", headers)[0] == 403


def test_the_same_origin_under_another_name_of_this_machine_is_accepted(app: Served) -> None:
    host = f"localhost:{urlsplit(app.base).port}"
    assert handshake(app, cookie(app) | {"Host": host, "Origin": f"http://{host}"}) == 101
    assert handshake(app, cookie(app) | {"Host": "localhost:9999", "Origin": "http://localhost:9999"}) == 101  # through a tunnel


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "evil.example:80", "127.0.0.1:x", ""])
def test_a_name_that_leads_here_from_elsewhere_is_refused(app: Served, host: str) -> None:
    assert ask(app.base, "/", cookie(app) | {"Host": host})[0] in (400, 403)
    assert handshake(app, cookie(app) | {"Host": host, "Origin": f"http://{host}"}) in (400, 403)


@pytest.mark.parametrize(
    ("site", "mode", "dest", "status"),
    [
        ("same-origin", "no-cors", "image", 200),
        ("none", "navigate", "document", 200),
        ("same-site", "navigate", "document", 200),
        ("same-site", "no-cors", "image", 403),
        ("cross-site", "cors", "empty", 403),
        ("same-site", "navigate", "iframe", 403),
    ],
)
def test_a_page_on_another_port_can_embed_nothing(app: Served, site: str, mode: str, dest: str, status: int) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    assert ask(app.base, "/", cookie(app) | headers)[0] == status


def test_the_token_is_in_no_argument_and_no_environment_and_its_file_is_private(app: Served) -> None:
    place = Path(f"/proc/{app.process.pid}")
    if place.exists():
        assert app.token.encode() not in (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
    kept = app.home / "app" / f"{urlsplit(app.base).port}.json"
    assert json.loads(kept.read_text())["address"] == app.address
    assert [stat.S_IMODE(path.stat().st_mode) for path in (kept, kept.parent, app.home)] == [0o600, 0o700, 0o700]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can act as another account")
def test_another_account_of_the_machine_is_refused(app: Served) -> None:
    port = urlsplit(app.base).port
    kept, process = app.home / "app" / f"{port}.json", Path(f"/proc/{app.process.pid}")
    assert as_nobody(os.getuid) == str(NOBODY)
    assert as_nobody(lambda: os.listdir(app.home.parent)) != "PermissionError"  # so that the home itself is what refuses
    for forbidden in (lambda: os.listdir(app.home), kept.read_text, (process / "environ").read_bytes):
        assert as_nobody(forbidden) == "PermissionError"
    assert app.token not in as_nobody((process / "cmdline").read_text)
    for path in PATHS:
        assert as_nobody(lambda path=path: ask(app.base, path)[0]) == "403"
    assert as_nobody(lambda: handshake(app, {"Origin": app.base})) == "403"


def test_the_address_can_be_printed_again(app: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from workbench.cli import main

    monkeypatch.setenv("WORKBENCH_HOME", str(app.home))
    with pytest.raises(SystemExit) as ended:
        main(["app", "--address"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"{app.address}\n")
    ended_server = {"address": "x", "process": {"pid": app.process.pid, "started": "0", "boot": boot_identity()}}
    texts = ("", "[]", "{}", '{"address": "x", "process": null}', '{"address": "x", "process": {"pid": 1}}', json.dumps(ended_server))
    for number, text in enumerate(texts):
        (damaged := app.home / "app" / f"{number}.json").write_text(text)
        with pytest.raises(SystemExit) as ended:
            main(["app", "--address"])
        damaged.unlink()
        assert (ended.value.code, capsys.readouterr().out) == (0, f"{app.address}\n")
    monkeypatch.setenv("WORKBENCH_HOME", str(app.home / "runs"))
    with pytest.raises(SystemExit) as ended:
        main(["app", "--address"])
    assert (ended.value.code, capsys.readouterr().err) == (2, "Expected an open workbench, found none. Start one with `workbench app`.\n")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can act as another account")
def test_a_home_that_cannot_be_written_is_refused_in_words(reachable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.server.address import check_place
    from workbench.workspace import Workspace

    (closed := reachable / "closed").mkdir(mode=0o500)
    os.chown(closed, NOBODY, NOBODY)
    (others := reachable / "others").mkdir()
    others.chmod(0o777)
    for folder, action in (
        (closed, lambda: check_place(Workspace.default())),
        (reachable / "none" / "yet", Workspace.default),
        (others, Workspace.default),
    ):
        monkeypatch.setenv("WORKBENCH_HOME", str(folder))
        assert as_nobody(action) == "WorkbenchError"


def test_nothing_is_served_before_the_home_is_known_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_workspace: object) -> None:
        raise WorkbenchError("no place")

    monkeypatch.setattr("workbench.server.address.check_place", refuse)
    monkeypatch.setattr("streamlit.App.run", lambda *_, **__: None)
    monkeypatch.setattr("workbench.server.start.guarded", False)
    with pytest.raises(WorkbenchError, match="no place"):
        start.serve(1)


def test_only_a_flag_opens_it_to_all_and_a_sentence_says_so(serve: Callable[..., AbstractContextManager[Served]]) -> None:
    with serve("--no-token") as opened:
        assert "EVERY account and every program of this machine can open these pages" in opened.printed
        assert ask(opened.base, "/")[0] == 200
        assert handshake(opened, {"Origin": opened.base}) == 101
        assert handshake(opened, {"Origin": "http://localhost:3000"}) == 403
        assert ask(opened.base, "/", {"Host": "evil.example"})[0] == 403
        assert (kept := opened.home / "app" / f"{urlsplit(opened.base).port}.json").exists()
    assert not kept.exists()


def test_make_app_prints_the_address_that_opens_it(serve: Callable[..., AbstractContextManager[Served]], app: Served) -> None:
    command = ("make", f"--assume-old={sys.prefix}/.app", f"VENV={sys.prefix}", "PORT={port}", "app")
    with serve(command=command) as opened:
        assert re.search(r"^The workbench is open at http://127\.0\.0\.1:\d+/\?token=[\w-]{43} \(Ctrl-C ends it", opened.printed, re.M)
        assert opened.token != app.token
        assert ask(opened.base, "/")[0] == 403
        assert ask(opened.base, f"/?token={app.token}")[0] == 403
        assert ask(opened.base, "/", cookie(opened))[0] == 200


def test_the_script_at_the_top_opens_it_behind_the_same_guard(serve: Callable[..., AbstractContextManager[Served]], app: Served) -> None:
    with serve(command=(sys.executable, str(ROOT / "app.py"), "--port", "{port}")) as opened:
        assert opened.token != app.token
        assert ask(opened.base, "/")[0] == 403
        assert ask(opened.base, f"/?token={app.token}")[0] == 403
        assert ask(opened.base, "/", cookie(opened))[0] == 200


@pytest.mark.parametrize("script", [start.APP, ROOT / "app.py"])
def test_streamlit_run_draws_nothing(script: Path) -> None:
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_file(str(script), default_timeout=60).run()
    for _ in range(2):
        assert [error.value for error in page.error] == [
            "Start the workbench with `make app`, `workbench app` or `python app.py`, and open the address that it prints. `streamlit run` "
            "would show private records to every account of this machine."
        ]
        assert (len(page.main), len(page.title)) == (1, 0)
        page.run()
