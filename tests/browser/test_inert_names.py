"""Names that a stranger wrote into a file show as letters in a real browser: no picture is fetched, nothing is a link."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

FETCHED = "http://127.0.0.1:9/fetched.png"
NAMES = (f"![x]({FETCHED})", f'<img src="{FETCHED}">')
ROOT = Path(__file__).parents[2]

expect.set_options(timeout=90_000)


@pytest.fixture(scope="module")
def evil_run(home: Path) -> str:
    """A finished run, by the command line, on a file whose class names and file name are image links."""
    generator = np.random.default_rng(0)
    path = home / "![x](y).npz"
    images, labels = generator.integers(0, 256, (60, 8, 8, 1), np.uint8), np.arange(60) % 2
    np.savez(path, images=images, labels=labels, classes=np.array(NAMES))
    settings = ["--set", "num_features=50", "--set", "training.steps=3", "--set", "training.batch_size=8"]
    command = ["train", "dp-merf", "--dataset", str(path), "--epsilon", "10", *settings, "--wait"]
    environment = {**os.environ, "WORKBENCH_HOME": str(home / "home"), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", "workbench.cli", *command], env=environment, capture_output=True, text=True, check=False)
    match = re.search(r'\{"run": "([a-z0-9]{8})"\}', done.stdout)
    assert match is not None, done.stdout + done.stderr
    return match.group(1)


def test_an_image_link_in_a_name_is_not_fetched(page: Page, server: str, evil_run: str) -> None:
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    for address, word in (
        (f"{server}/gallery?gallery_run={evil_run}", "class ![x]("),
        (f"{server}/runs?runs_chosen={evil_run}", "![x](y).npz"),
    ):
        page.goto(address)
        if "/gallery" in address:
            page.get_by_role("button", name="Draw samples and search their neighbours").click()
        expect(page.get_by_text(word).first).to_be_visible()
        assert page.locator("img[src*='fetched'], a[href*='fetched'], a[href='y'], img[src='y']").count() == 0
    assert [url for url in urls if "fetched" in url] == []
