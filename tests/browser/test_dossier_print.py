"""A dossier on paper: Chromium prints it to PDF with every section, and nothing is wider than an A4 page."""

import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser

from workbench.runs.dossier.sections import PARTS

ROOT = Path(__file__).parents[2]
A4 = (794, 1123)  # pixels of CSS at 96 an inch
MARGIN = 68  # 18 mm, as the file says
TOO_WIDE = """width => [...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > width + 1)
                         .map(one => one.tagName + ': ' + one.textContent.slice(0, 60))"""


def test_it_prints_on_pages_of_a4_with_nothing_cut_off(browser: Browser, home: Path, finished_run: str, tmp_path: Path) -> None:
    dossier = tmp_path / "dossier.html"
    environment = {**os.environ, "WORKBENCH_HOME": str(home / "home"), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "workbench.cli", "dossier", finished_run, "--out", str(dossier)]
    subprocess.run(command, env=environment, capture_output=True, check=True)
    context = browser.new_context(viewport={"width": A4[0] - 2 * MARGIN, "height": A4[1]}, offline=True)
    page = context.new_page()
    page.goto(dossier.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate(TOO_WIDE, A4[0] - 2 * MARGIN) == []
    headings = page.locator("h2").all_inner_texts()
    assert [re.match(r"\d+", heading) is not None for heading in headings].count(True) == len(PARTS)
    assert page.evaluate("[...document.querySelectorAll('details')].every(one => one.open)"), "what is folded is not printed"
    printed = page.pdf(prefer_css_page_size=True)
    context.close()
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", printed))
    assert printed.startswith(b"%PDF")
    assert 3 <= pages <= 20
