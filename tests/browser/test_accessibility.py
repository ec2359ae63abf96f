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
MOST_STOPS = 400
# Marks where Tab has stopped; its name, and whether it stands before the last stop (a table's cells are one).
# None where Tab has left the page, or begins anew.
STOP = """number => {
  const one = document.activeElement, last = document.querySelector(`[data-stop="${number - 1}"]`)
  if (!one || one === document.body) return null
  const name = `${one.tagName} ${one.getAttribute('aria-label') || one.innerText || ''}`.slice(0, 80)
  if (one.dataset.stop === '1' && number > 2) return null
  const back = one !== last && (one.dataset.stop || (last && one.compareDocumentPosition(last) & Node.DOCUMENT_POSITION_FOLLOWING))
  one.dataset.stop = number
  return [name, !!back]
}"""
# What can be pressed and was not reached. In a group of buttons Tab stops once, and arrows go on.
MISSED = """() => [...document.querySelectorAll(
    ['button', 'a[href]', 'input:not([type=hidden])', 'textarea'].map(one => `[data-testid=stMain] ${one}:not([data-stop])`).join(', '))]
  .filter(one => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .filter(one => !one.disabled && one.tabIndex >= 0 && one.type !== 'radio')
  .filter(one => !one.closest('[data-testid=stButtonGroup]')?.querySelector('[data-stop]'))
  .map(one => `${one.tagName} ${one.getAttribute('aria-label') || one.innerText}`.slice(0, 80))"""


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
    broken_rules = {}
    for name, address in PAGES.items():
        page.goto(f"{server}/{address.format(run=finished_run)}")
        page.wait_for_function("document.querySelector('h1') !== null", timeout=90_000)
        page.wait_for_function(SETTLED, timeout=90_000)
        if rules := findings(page):
            broken_rules[name] = rules
    figures |= {"pages": len(PAGES), "with a serious finding": len(broken_rules)}
    assert broken_rules == {}


@pytest.mark.slow(depends=DEPENDS)
def test_tab_stops_at_everything_in_the_order_of_the_page(page: Page, server: str, finished_run: str, figures: dict[str, Any]) -> None:
    stops = {}
    for name, address in PAGES.items():
        page.goto(f"{server}/{address.format(run=finished_run)}")
        page.wait_for_function("document.querySelector('h1') !== null", timeout=90_000)
        page.wait_for_function(SETTLED, timeout=90_000)
        reached = stops_of(page)
        assert [stop for stop, back in reached if back] == [], f"{name}: Tab goes back"
        assert page.evaluate(MISSED) == [], f"{name}: Tab does not reach this"
        stops[name] = len(reached)
    figures |= {"pages": len(stops), "stops": sum(stops.values())}
    assert min(stops.values()) > 5


def stops_of(page: Page) -> list[tuple[str, bool]]:
    """The names of what Tab stops at from the top of the page to its end, and whether each stands before the one before it."""
    page.evaluate("document.activeElement.blur()")
    reached: list[tuple[str, bool]] = []
    for number in range(1, MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP, number)
        if stop is None:
            return reached
        reached.append((stop[0], stop[1]))
    raise AssertionError(f"Tab comes to no end: {reached[-5:]}")
