"""Screenshots of every page, light and dark, on a projector and a telephone, to be looked at; and the pictures of the documents.

`WORKBENCH_SCREENSHOTS=FOLDER make test-slow ARGS="tests/browser/test_screenshots.py --rerun"` keeps them in FOLDER; those in its folder
`pictures` are docs/images.
"""

import io
import os
import re
from pathlib import Path
from typing import Any

import pytest
from browser.conftest import let_in, trained
from browser.test_accessibility import DEPENDS, PAGES
from browser.test_layout import PROJECTOR, SETTLED
from PIL import Image
from playwright.sync_api import Browser, Page
from ui.test_pictures import LARGEST, PICTURES

FOLDER = os.environ.get("WORKBENCH_SCREENSHOTS")
SIZES = {"projector": (1280, 720), "telephone": (390, 844)}
TALLEST = 12_000
WHOLE = """() => { const main = document.querySelector('[data-testid="stMain"]');
  return {height: main.scrollHeight, beyond: main.scrollWidth - main.clientWidth}; }"""
ENOUGH = {"training.steps": "300"}  # for digits that can be read, in seconds
SEARCH = "Draw samples and search their neighbours"
BROKEN = '[data-testid="stException"]'
SHOWN = {  # by picture: the address, and the words at whose heading or text it begins (the top of the page, if none) with its height
    "start": ("", "", 720),
    "budget": ("budget?budget_method=dp-promise&budget_epsilon=1", "", 900),
    "every-method": ("budget?budget_method=dp-promise&budget_epsilon=1", "Claim, bound and lower bound of every method", 1130),
    "process": ("process", "", 900),
    "gallery": ("gallery?gallery_run={run}", "Below each record stands its distance", 830),
    "dossier": ("dossier?dossier_run={run}", "", 720),
}


def settled(page: Page, address: str) -> None:
    """Open a page, and wait until nothing of it is missing."""
    page.goto(address)
    page.wait_for_function("document.querySelector('h1') !== null", timeout=90_000)
    page.wait_for_function(SETTLED, timeout=90_000)
    page.wait_for_load_state("networkidle")  # widgets whose code comes late
    page.wait_for_function(SETTLED, timeout=90_000)


def whole(page: Page, width: int) -> bytes:
    """The page from top to bottom: Streamlit scrolls within it, so the window grows until nothing is left to scroll."""
    page.set_viewport_size({"width": width, "height": min(TALLEST, page.evaluate(WHOLE)["height"])})
    page.wait_for_timeout(500)  # charts take their new size
    return page.screenshot()


@pytest.mark.slow(depends=DEPENDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_page_is_whole_and_no_wider_than_its_window(
    page: Page, server: str, finished_run: str, size: str, scheme: Any, tmp_path: Path, figures: dict[str, Any]
) -> None:
    folder = Path(FOLDER or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    width, height = SIZES[size]
    page.emulate_media(color_scheme=scheme)
    wide, empty = {}, []
    for name, address in PAGES.items():
        page.set_viewport_size({"width": width, "height": height})
        settled(page, f"{server}/{address.format(run=finished_run)}")
        assert page.locator(BROKEN).count() == 0, name
        wide |= {name: beyond} if (beyond := page.evaluate(WHOLE)["beyond"]) > 0 else {}
        (folder / f"{name}-{size}-{scheme}.png").write_bytes(taken := whole(page, width))
        empty += [name] if len(Image.open(io.BytesIO(taken)).convert("RGB").getcolors(1 << 24) or ()) < 50 else []
    figures |= {"pages": len(PAGES), "wider than the window": len(wide)}
    assert (wide, empty) == ({}, [])


@pytest.mark.slow(depends=DEPENDS)
def test_the_pictures_of_the_documents(browser: Browser, app_address: str, home: Path, tmp_path: Path, figures: dict[str, Any]) -> None:
    assert set(SHOWN) == PICTURES
    folder = Path(FOLDER or tmp_path) / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    page = browser.new_page(viewport=PROJECTOR)
    server, run, sizes = let_in(page, app_address), trained(home, ENOUGH), {}
    for name, (address, begins, height) in SHOWN.items():
        page.set_viewport_size(PROJECTOR)
        settled(page, f"{server}/{address.format(run=run)}")
        if name == "gallery":
            page.get_by_role("button", name=SEARCH).click()
            page.get_by_role("img", name=re.compile("Nearest held-out record")).first.wait_for(timeout=120_000)
            page.wait_for_function(SETTLED, timeout=120_000)
        path = folder / f"{name}.png"
        small(picture(page, begins, height)).save(path, optimize=True)
        sizes[name] = path.stat().st_size
    page.close()
    figures["largest (kB)"] = round(max(sizes.values()) / 1000)
    assert {name: size for name, size in sizes.items() if size > LARGEST} == {}


def picture(page: Page, begins: str, height: int) -> Image.Image:
    """So much of a page, from the words with which it begins."""
    taken = Image.open(io.BytesIO(whole(page, PROJECTOR["width"]))).convert("RGB")
    top = 0
    if begins:
        box = page.get_by_text(begins).first.bounding_box()
        assert box is not None
        top = max(0, round(box["y"]) - 20)
    return taken.crop((0, top, taken.width, min(taken.height, top + height)))


def small(image: Image.Image) -> Image.Image:
    """In as many colours as a page has: text stays as sharp as it is, and the file is a third."""
    return image.quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
