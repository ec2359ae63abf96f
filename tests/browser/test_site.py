"""The site of documents builds without a warning, and its own search, in a browser without a server, answers what new users ask."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
QUESTIONS = {
    "which epsilon?": "concepts/epsilon",
    "may I send the samples?": "guide/release",
    "why is my bound infinite?": "concepts/epsilon",
    'what is "replace special"?': "concepts/neighbours",
    "which method?": "guide/choose",
    "what is delta not?": "concepts/epsilon",
    "a table of your own": "start/own-table",
    "images of your own": "start/own-images",
    "can an attack contradict the bound?": "guide/audit",
    "are settings tuned on test records?": "guide/tune",
    "who can see the pages?": "start/install",
    "against whom does this protect?": "concepts/threat-model",
    "which environment variables?": "reference/environment",
}


@pytest.fixture(scope="module")
def site() -> Path:
    """The site as `make docs` builds it, lessons not carried out."""
    built = subprocess.run([sys.executable, "-m", "docs.site"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    return ROOT / "build" / "site" / "html"


@pytest.fixture(scope="module")
def search(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    yield page
    page.close()


def test_it_has_no_warning_and_asks_nothing_of_the_network(site: Path) -> None:
    index = (site / "index.html").read_text()
    assert 'src="http' not in index
    assert 'rel="stylesheet" href="http' not in index
    assert (site / "methods/dp-merf.html").exists()
    assert (site / "lessons/02_epsilon_itself.html").exists()
    assert (site / "proofs/10.html").exists()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items())
def test_the_first_hit_answers(site: Path, search: Page, question: str, answer: str) -> None:
    search.goto(f"{(site / 'search.html').as_uri()}?q={quote(question)}")
    first = search.locator("#search-results ul.search li a").first
    first.wait_for(timeout=60_000)
    assert (first.get_attribute("href") or "").startswith(f"{answer}.html"), search.locator("#search-results").inner_text()[:1000]
