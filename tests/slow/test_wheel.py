"""The wheel alone: installed into an environment without the checkout, with the network switched off, the workbench works."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.pages import PAGES

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip")
BUILT_FROM = ("workbench", "pyproject.toml", "README.md", "LICENSE")
TINY = ("--epsilon", "10", "--set", "num_features=100", "--set", "training.steps=4", "--set", "training.batch_size=20", "--device", "cpu")
ASKS = """
import http.client, re, subprocess, sys
process = subprocess.Popen([sys.argv[1], "app", "--port", "8765"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
said = ""
while "http://" not in said:
    line = process.stdout.readline()
    assert line, said
    said += line
token = re.search(r"token=([-\\w]+)", said)[1]
def ask(path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", 8765, timeout=60)
    connection.request("GET", path, headers=headers)
    return connection.getresponse()
assert ask("/").status == 403
let_in = ask(f"/?token={token}")
cookie = let_in.getheader("set-cookie").partition(";")[0]
for path in ("/", "/train", "/_stcore/host-config"):
    answer = ask(path, Cookie=cookie)
    assert answer.status == 200, (path, answer.status)
process.terminate()
print(process.wait(timeout=60))
"""
DRAWS = """
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash
from workbench.pages import PAGES
from workbench.server import start
start.guarded = True
for name, page in PAGES.items():
    app = AppTest.from_file(str(start.APP), default_timeout=120)
    app._page_hash = calc_hash(name)
    app.run()
    assert not app.exception, (name, app.exception[0].message)
    assert [title.value for title in app.title] == [page.title]
    assert not app.error, (name, app.error[0].value)
print("drawn:", *PAGES)
"""


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """`outside(*command)`: what a command of the clean environment prints, without a network where the machine can do so."""
    folder = tmp_path_factory.mktemp("outside")
    environment = installed(build(folder), folder)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    own = {"HOME": str(folder), "WORKBENCH_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1", "no_proxy": "127.0.0.1"}
    apart = without_network()

    def run(command: str, *arguments: str) -> str:
        words = [*apart, str(environment / "bin" / command), *arguments]
        done = subprocess.run(words, cwd=folder, env=kept | nowhere | own, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def build(folder: Path) -> Path:
    """The wheel, built from a copy of what it is made of."""
    copy = folder / "source"
    copy.mkdir()
    for name in BUILT_FROM:
        place = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(place, copy / name, ignore=ignored) if place.is_dir() else shutil.copy(place, copy / name)
    words = [*PIP, "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(folder), str(copy)]
    subprocess.run(words, check=True)
    shutil.rmtree(copy)
    (built,) = folder.glob("*.whl")
    return built


def installed(wheel: Path, folder: Path) -> Path:
    """An environment with the wheel; its dependencies are those of this one, which a .pth adds without what is installed for editing."""
    environment = folder / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    pip = [*PIP, "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment


def without_network() -> list[str]:
    """Words before a command that leave it the loopback alone; none where this machine does not allow it."""
    words = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    able = shutil.which("unshare") and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    return words if able else []


@pytest.mark.slow(depends=["workbench/**", "pyproject.toml"])
def test_the_wheel_works_without_the_checkout(outside: Callable[..., str], figures: dict[str, Any]) -> None:
    place = Path(outside("python", "-c", "import workbench; print(workbench.__file__)").strip())
    assert ROOT not in place.parents
    trained = outside("workbench", "train", "dp-merf", "--dataset", "digits", *TINY, "--wait").splitlines()[-1]
    assert json.loads(outside("workbench", "show", json.loads(trained)["run"], "--json"))["state"] == "done"
    assert "One run in a minute" in outside("workbench", "reproduce", "minute", "--json")
    assert "done" in outside("workbench", "example")
    assert outside("python", "-c", DRAWS).split() == ["drawn:", *PAGES]
    outside("python", "-c", ASKS, str(place.parents[4] / "bin" / "workbench"))
    figures["network"] = "off" if without_network() else "proxies to a dead port"
