"""The pages open to other machines only where somebody says who looks, and show private records to data holders alone."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest
from pages.conftest import app_at
from server.conftest import Served
from server.test_app import ask, handshake
from starlette.requests import HTTPConnection

from workbench.errors import WorkbenchError
from workbench.pages import PAGES
from workbench.server import start
from workbench.server.access import LOCAL_NAMES, Access
from workbench.server.guard import foreign, host_name

HEADER, NAME, ANA = "X-Forwarded-User", "workbench.example", "ana@hospital.example"
PROXIED = Access(names=(NAME,), header=HEADER, holders=(ANA,))
OPTIONS = ("--users-from", HEADER, "--name", NAME, "--data-holder", ANA)
Serve = Callable[..., AbstractContextManager[Served]]


def coming(peer: str | None, *users: str) -> HTTPConnection:
    """A connection from an address whose proxy, if it is one, says these users."""
    headers = [(HEADER.lower().encode(), user.encode()) for user in users]
    return HTTPConnection({"type": "http", "headers": headers, "client": None if peer is None else (peer, 1)})


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was not refused ends at once: it would serve, and the test wait, for ever."""

    def went_on(_: object) -> None:
        raise AssertionError("it was not refused")

    monkeypatch.setattr(start.address, "check_place", went_on)


@pytest.mark.parametrize("access", [Access(), PROXIED, replace(PROXIED, host="0.0.0.0"), Access(host="192.0.2.1", insecure=True)])
def test_what_is_safe_or_said_to_be_insecure_starts(access: Access) -> None:
    access.check()


@pytest.mark.parametrize(
    ("access", "why"),
    [
        (Access(host="192.0.2.1"), "Expected a way to know who looks"),
        (Access(host="::"), "Expected a way to know who looks"),
        (Access(host="0.0.0.0", names=(NAME,)), "Expected a way to know who looks"),
        (Access(host="0.0.0.0", insecure=True), "Expected the name by which browsers open the pages"),
        (Access(insecure=True), "--insecure with --host alone"),
        (replace(PROXIED, host="192.0.2.1", insecure=True), "--insecure with --host alone"),
        (Access(holders=(ANA,)), "--users-from beside --data-holder"),
        (replace(PROXIED, holders=()), "at least one --data-holder"),
        (replace(PROXIED, names=()), "Expected the name"),
        (Access(host="example.org"), "Expected an IP address"),
        (replace(PROXIED, proxies=("nowhere",)), "Expected an IP address"),
    ],
)
def test_what_would_open_records_to_nobody_knows_whom_is_refused_before_it_starts(access: Access, why: str, stopped: None) -> None:
    with pytest.raises(WorkbenchError, match=why):
        start.serve(1, who=access)


def test_other_machines_need_a_token_where_nobody_says_who_looks(stopped: None) -> None:
    with pytest.raises(WorkbenchError, match="Expected a token"):
        start.serve(1, with_token=False, who=Access(host="192.0.2.1", insecure=True))


def test_an_insecure_server_still_asks_for_its_token(serve: Serve) -> None:
    with serve("--host", "0.0.0.0", "--name", "127.0.0.1", "--insecure") as opened:
        assert len(opened.token) > 40
        assert ask(opened.base, "/")[0] == 403
        assert ask(opened.base, f"/?token={opened.token}")[0] == 303


def test_it_answers_to_the_names_that_it_was_given() -> None:
    assert Access().hosts == LOCAL_NAMES
    assert Access(host="192.0.2.1", insecure=True).hosts == ("192.0.2.1",)
    assert PROXIED.hosts == (NAME,)


@pytest.mark.parametrize("header", ["127.0.0.1", "127.0.0.1:8501", "[::1]:8501", "LocalHost"])
def test_a_host_header_names_its_host(header: str) -> None:
    assert host_name(header) in (*LOCAL_NAMES, "::1")


@pytest.mark.parametrize("header", ["eve@127.0.0.1", "127.0.0.1/eve", "127.0.0.1?eve", "127.0.0.1:99999", "127.0.0.1:port", "[::1"])
def test_a_host_header_that_says_more_names_none(header: str) -> None:
    assert host_name(header) == ""


def test_a_request_to_two_hosts_is_foreign() -> None:
    headers = [(b"host", name) for name in (b"localhost", b"eve.example")]
    assert foreign(HTTPConnection({"type": "http", "headers": headers[:1]}), LOCAL_NAMES) is None
    assert foreign(HTTPConnection({"type": "http", "headers": headers}), LOCAL_NAMES)


@pytest.mark.parametrize(
    ("connection", "is_known"),
    [
        (coming("127.0.0.1", ANA), True),
        (coming("::ffff:127.0.0.1", ANA), True),
        (coming("127.0.0.1"), False),
        (coming("127.0.0.1", " "), False),
        (coming("127.0.0.1", ANA, "eve"), False),
        (coming("192.0.2.7", ANA), False),
        (coming(None, ANA), False),
    ],
)
def test_only_the_proxy_says_who_looks(connection: HTTPConnection, is_known: bool) -> None:
    assert (PROXIED.stranger(connection) == "") is is_known
    assert Access().stranger(connection) == ""


def test_only_data_holders_are_shown_records() -> None:
    assert [PROXIED.shows_private(user) for user in (ANA, f" {ANA} ", "eve", "", None)] == [True, True, False, False, False]
    assert Access().shows_private(None)
    assert not Access(header=HEADER).shows_private(ANA), "nobody is a data holder"


def test_a_server_behind_a_proxy_answers_to_that_proxy_alone(serve: Serve) -> None:
    known = {"Host": NAME, HEADER: ANA}
    with serve(*OPTIONS) as opened:
        assert f"http://{NAME}:" in opened.printed
        assert "token" not in opened.printed
        for path in ("/", "/gallery", "/_stcore/host-config", "/media/any.png"):
            assert ask(opened.base, path, {"Host": NAME})[0] == 403
            assert ask(opened.base, path, {HEADER: ANA})[0] == 403, "by another name"
        assert ask(opened.base, "/", known)[0] == 200
        assert handshake(opened, known | {"Origin": f"https://{NAME}"}) == 101
        assert handshake(opened, {"Host": NAME, "Origin": f"https://{NAME}"}) == 403


def test_a_proxy_elsewhere_is_not_believed_from_here_whatever_is_forwarded(serve: Serve) -> None:
    with serve(*OPTIONS, "--proxy", "127.0.0.2") as opened:
        for forwarded in ({}, {"X-Forwarded-For": "127.0.0.2"}, {"Forwarded": "for=127.0.0.2"}):
            assert ask(opened.base, "/", {"Host": NAME, HEADER: ANA} | forwarded)[0] == 403


def test_who_is_no_data_holder_sees_what_is_public_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "guarded", True)
    monkeypatch.setattr(start, "access", PROXIED)
    app = app_at("claims").run()
    assert not app.exception
    assert app.title[0].value == "Claims"
    assert "no data holder" in "".join(caption.value for caption in app.caption)
    assert "Spent on each dataset" not in [header.value for header in app.header]
    assert "claims_attack" not in [button.key for button in app.button]
    monkeypatch.setattr(start, "access", Access())
    assert "Spent on each dataset" in [header.value for header in app_at("claims").run().header]


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if not page.public])
def test_pages_about_records_and_runs_are_closed_to_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "guarded", True)
    monkeypatch.setattr(start, "access", PROXIED)
    app = app_at(name).run()
    assert PAGES[name].title not in [title.value for title in app.title]
