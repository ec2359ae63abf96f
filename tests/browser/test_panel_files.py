"""A panel's file in a real browser without a network: it draws, its sliders move, and guesses become a curve."""

from pathlib import Path

import pytest
from browser.test_layout import assert_it_offers_no_upload
from playwright.sync_api import Browser, ConsoleMessage, Request, expect

from workbench.pages.process.panels import file_of
from workbench.teaching import attacking


@pytest.mark.usefixtures("few_attacks")
def test_files_work_offline_and_ask_for_nothing(browser: Browser, tmp_path: Path) -> None:
    truth = attacking.attack(attacking.AttackChoices()).took_part
    requests: list[Request] = []
    said: list[ConsoleMessage] = []
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    page = context.new_page()
    page.on("request", lambda request: requests.append(request))
    page.on("console", lambda message: said.append(message))

    (tmp_path / "attacker.html").write_text(file_of("attacker", {}))
    page.goto((tmp_path / "attacker.html").as_uri())
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    assert_it_offers_no_upload(page)
    both = int((truth != truth[0]).argmax()) + 1  # so many until runs of both kinds were seen
    expect(page.get_by_text("The best attack's score")).to_be_hidden()
    for _ in range(both):
        page.get_by_role("button", name="Surely yes").click()
    expect(page.get_by_text(f"Right so far: {int(truth[:both].sum())} of {both}")).to_be_visible()
    expect(page.get_by_text(f"The best attack's score of run {both}:")).to_be_visible()
    page.get_by_role("button", name="Could be").click()
    expect(page.get_by_text(f"Right so far: {int(truth[:both].sum())} of {both}")).to_be_visible()
    assert page.evaluate("document.getElementById('attacking_roc').data.at(-1).x.length") == 6

    (tmp_path / "selection.html").write_text(file_of("selection", {"rounds": "1"}))
    page.goto((tmp_path / "selection.html").as_uri())
    expect(page.get_by_text("After round 1:")).to_be_visible()
    slider = page.get_by_role("slider", name="After round")
    slider.fill("0")
    expect(page.get_by_text("Before the first vote")).to_be_visible()
    expect(page.get_by_text("After round 1:")).to_be_hidden()
    context.close()
    assert [request.url for request in requests if request.url.startswith("http")] == []
    assert [message.text for message in said if message.type == "error"] == []
