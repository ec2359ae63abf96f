"""axe-core looks at every page, light and dark, on a wide screen, a projector and a telephone: nothing serious of our making."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.test_layout import SETTLED
from playwright.sync_api import Page

PAGES = {
    "start": "",
    "budget": "budget?budget_method=dp-merf",
    "train": "train?train_run={run}",
    "runs": "runs?runs_chosen={run}",
    "gallery": "gallery?gallery_run={run}",
    "tables": "tables",
    "records": "records",
    "claims": "claims",
    "audit": "audit",
    "dossier": "dossier?dossier_run={run}",
    "process": "process",
}
SIZES = {"wide": (1440, 900), "projector": (1280, 720), "telephone": (390, 844)}
SERIOUS = ("serious", "critical")
DEPENDS = ["workbench/pages/**", "workbench/ui/**", "workbench/server/**"]


def findings(page: Page) -> dict[str, list[str]]:
    """What axe-core calls serious or critical, by rule: the elements."""
    response: dict[str, Any] = Axe().run(page).response
    return {
        one["id"]: [" ".join(map(str, node["target"])) + " " + node["html"][:160] for node in one["nodes"]]
        for one in response["violations"]
        if one["impact"] in SERIOUS
    }


@pytest.mark.slow(depends=DEPENDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_page_has_a_serious_finding(page: Page, server: str, finished_run: str, size: str, scheme: Any, figures: dict[str, Any]) -> None:
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    page.set_content("<main><h1>Bad</h1><img src='data:,'></main>")
    assert "image-alt" in findings(page), "what is wrong is found"
    found = {}
    for name, address in PAGES.items():
        page.goto(f"{server}/{address.format(run=finished_run)}")
        page.wait_for_function("document.querySelector('h1') !== null", timeout=90_000)
        page.wait_for_function(SETTLED, timeout=90_000)
        if rules := findings(page):
            found[name] = rules
    figures |= {"pages": len(PAGES), "with a serious finding": len(found)}
    assert found == {}
