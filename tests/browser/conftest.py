"""The app as a process of its own, and a headless Chromium that writes down every console error and failed request."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
TINY = {"num_features": "50", "training.steps": "30", "training.batch_size": "8"}  # a run of seconds
# A picture that was still being fetched when the next one took its place; what is still shown must have come.
GIVEN_WAY = re.compile(r"(404 .*|Image source error - http\S+)/media/[0-9a-f]+\.(jpg|png)( |$)")
BROKEN_IMAGES = "() => [...document.images].filter(image => image.complete && image.src && !image.naturalWidth).map(image => image.src)"
# Streamlit's own page looks for its server under the page's path first, and finds it at the root.
EXPECTED = re.compile(r"/(budget|train|runs|gallery|tables|records|claims|audit|dossier|process)/_stcore/(health|host-config)$")


def chromium() -> str | None:
    """The browser to use: `$CHROMIUM`, or one on the path."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium; without one the tests are skipped, or fail where WORKBENCH_REQUIRE_BROWSER=1 asks for it."""
    path = chromium()
    if path is None:
        if os.environ.get("WORKBENCH_REQUIRE_BROWSER") == "1":
            pytest.fail("Expected a Chromium in $CHROMIUM or on the path, found none.")
        pytest.skip("no Chromium in $CHROMIUM or on the path")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty home for the app; every worker it leaves is ended at the end."""
    folder = tmp_path_factory.mktemp("browser")
    yield folder
    end_workers(folder)


@pytest.fixture(scope="session")
def app_address(home: Path, finished_run: str) -> Iterator[str]:
    """The address of the app on a free port, as it was printed: with its token.

    A run has finished there before it opens, so that no page begins the example: its runs, audit and evaluation would be made beside
    whatever is tested, for each process of tests anew. A first visit is tested in a home of its own.
    """
    assert finished_run
    with app_on(home) as (address, _):
        yield address


@pytest.fixture
def server(page: Page, app_address: str) -> str:
    """The address of the app, to which paths can be added; `page` has been let in."""
    return let_in(page, app_address)


@pytest.fixture(scope="session")
def start_app(home: Path) -> Callable[[], AbstractContextManager[tuple[str, subprocess.Popen]]]:
    """Starts a further app on the same home: the address it printed and its process, within the context."""
    return partial(app_on, home)


@pytest.fixture(scope="session")
def finished_run(home: Path) -> str:
    """The id of a finished DP-MERF run of seconds on digits, made by the command line."""
    return trained(home, TINY)


def trained(home: Path, values: Mapping[str, str]) -> str:
    """The id of a run of DP-MERF on digits by the command line, which waits for its end."""
    settings = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "workbench.cli", "train", "dp-merf", "--dataset", "digits", "--epsilon", "10", *settings, "--wait"]
    environment = {**os.environ, "WORKBENCH_HOME": str(home / "home"), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    match = re.search(r'\{"run": "([a-z0-9]{8})"\}', done.stdout)
    assert match is not None, done.stdout + done.stderr
    return match.group(1)


def search_neighbours(page: Page) -> None:
    """Have a gallery's samples drawn and their neighbours searched, unless another test has had that done for the run."""
    button = page.get_by_role("button", name="Draw samples and search their neighbours")
    picture = page.get_by_role("img", name=re.compile("Nearest held-out record")).first
    expect(button.or_(picture).first).to_be_visible(timeout=90_000)
    if button.is_visible():
        button.click()
    expect(picture).to_be_visible(timeout=90_000)


@contextmanager
def app_on(home: Path, script: str | None = None) -> Iterator[tuple[str, subprocess.Popen]]:
    """The app as a process of its own with the runs under `home`: the address it printed and its process.

    `script` serves in place of `workbench app`; it is given the port as its last argument.
    """
    port = free_port()
    environment = {**os.environ, "WORKBENCH_HOME": str(home / "home"), "OMP_NUM_THREADS": "1"}
    environment.pop("WORKBENCH_DATA", None)
    serving = ["-m", "workbench.cli", "app", "--port"] if script is None else ["-c", script]
    command = [sys.executable, *serving, str(port)]
    with (home / f"server-{port}.log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        yield printed_address(Path(log.name), process), process
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose console errors and failed requests fail the test, but for those in `EXPECTED`."""
    opened = browser.new_page(viewport={"width": 1400, "height": 1000})
    opened.set_default_timeout(120_000)
    errors: list[str] = []
    opened.on(
        "console", lambda message: errors.append(f"{message.text} {message.location.get('url', '')}") if message.type == "error" else None
    )
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: errors.append(f"left this machine: {request.url}") if not local(request.url) else None)
    yield opened
    broken = opened.evaluate(BROKEN_IMAGES)
    opened.close()
    assert broken == []
    assert [text for text in errors if not EXPECTED.search(text) and not GIVEN_WAY.search(text)] == []


def local(url: str) -> bool:
    """Whether a request stays on this machine."""
    return re.match(r"(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|data:|blob:|about:", url) is not None


def free_port() -> int:
    """A port nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def let_in(page: Page, address: str) -> str:
    """Ask for the printed address once, which leaves the browser its cookie and draws nothing; the address that paths are added to."""
    page.context.request.get(address, max_redirects=0)
    return address.partition("/?")[0]


def printed_address(log: Path, process: subprocess.Popen, seconds: float = 60.0) -> str:
    """The address that a starting app prints, once it has."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if address := re.search(r"http://\S+", log.read_text()):
            return address.group()
        assert process.poll() is None, f"The app ended before it was open:\n{log.read_text()}"
        time.sleep(0.2)
    raise AssertionError(f"The app printed no address within {seconds} s:\n{log.read_text()}")


def end_workers(home: Path, but: str = "no such word") -> None:
    """End the processes whose home lies under `home`, but for those that have the words `but` in their command."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("WORKBENCH_HOME", "").startswith(str(home)) and but not in " ".join(process.cmdline()):
                process.kill()
