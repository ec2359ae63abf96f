"""The Process page: every panel shows, its choices are in the address, and each is a file that fetches nothing."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pages.reading import elements, text_of
from streamlit.testing.v1 import AppTest

from workbench.cli.commands import run
from workbench.pages.process.panels import PANELS, file_of
from workbench.teaching import attacking

OpenPage = Callable[..., AppTest]
QUICK = {"forward": {}, "step": {"noise_multiplier": "2"}, "reverse": {"steps": "4"}, "selection": {"rounds": "1"}, "attacker": {}}


pytestmark = pytest.mark.usefixtures("few_attacks")


@pytest.mark.usefixtures("workbench_home")
def test_a_panel_is_in_the_address_and_what_it_shows_is_described(open_page: OpenPage) -> None:
    app = open_page("process", process_panel="One private step", process_step_noise="4")
    assert "standard deviations" in text_of(app)
    assert "0.25" in text_of(app), "mu is one over the noise multiplier"
    charts = [element for element in elements(app.main) if element.type == "plotly_chart"]
    assert len(charts) == 2
    assert all(chart.proto.alt for chart in charts)
    app.number_input(key="process_step_record").set_value(5).run()
    assert "with and without record 5" in "\n".join(element.value for element in app.subheader)


@pytest.mark.usefixtures("workbench_home")
def test_guesses_are_in_the_address_and_can_be_undone(open_page: OpenPage) -> None:
    app = open_page("process", process_panel="You are the attacker")
    assert "Nothing guessed yet." in text_of(app)
    app.button(key="process_attacker_rate_5").click().run()
    app.button(key="process_attacker_rate_1").click().run()
    assert app.query_params["process_given"] == "51"
    truth = attacking.attack(attacking.AttackChoices()).took_part
    assert f"Right so far: {int(truth[0]) + int(not truth[1])} of 2" in text_of(app)
    app.button(key="process_attacker_undo").click().run()
    assert app.query_params["process_given"] == "5"
    app.number_input(key="process_attacker_seed").set_value(1).run()
    assert "process_given" not in app.query_params, "they were of other runs"


@pytest.mark.parametrize("name", PANELS)
def test_every_panel_is_a_file_that_may_fetch_nothing(name: str) -> None:
    text = file_of(name, QUICK[name])
    assert "default-src 'none'" in text
    assert not re.search(r'<(script|img|link|iframe)[^>]*(src|href)="(?!data:)', text)
    assert f"<h1>{PANELS[name].title}</h1>" in text
    assert "Computed on bundled digits." in text
    assert ("Plotly.newPlot" in text) == (name != "reverse")
    assert ('type="range"' in text) == (name in ("forward", "selection"))


def test_the_file_of_the_attacker_has_the_runs_and_their_truth() -> None:
    attacked, text = attacking.attack(attacking.AttackChoices()), file_of("attacker", {})
    inside = re.search(r'id="runs">(.*?)</script>', text)
    assert inside is not None
    runs = json.loads(inside.group(1))
    assert runs["truth"] == attacked.took_part[: attacking.SHOWN].tolist()
    assert len(runs["pictures"]) == attacking.SHOWN


def test_the_command_writes_a_panel_and_says_what_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "strip.html"
    assert run(["process", "reverse", "--out", str(place), "--set", "digit=5", "--set", "steps=4"]) == 0
    assert "From noise to a digit" in place.read_text()
    assert run(["process", "reverse", "--out", str(place), "--set", "digit=12"]) == 2
    assert "digit" in capsys.readouterr().err
    assert run(["process", "reverse", "--out", str(place), "--set", "number=5"]) == 2
    assert "Unknown choice of the panel reverse 'number'. Choose one of: digit, " in " ".join(capsys.readouterr().err.split())
    assert run(["process", "revers", "--out", str(place)]) == 2
    assert "Choose one of: reverse, forward, step" in capsys.readouterr().err
