"""A link fills the form with the request it is of, and the form makes that request again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages.conftest import train_in_process
from streamlit.testing.v1 import AppTest
from support.homes import here
from typer.testing import CliRunner

from workbench import datasets, experiment, runs
from workbench.cli import commands
from workbench.datasets.proposal import propose
from workbench.datasets.reference import DatasetRef
from workbench.planning import DECLARED_PUBLIC, make_plan
from workbench.request import Request
from workbench.runs.public_votes import votes_of
from workbench.runs.store import RunStore
from workbench.ui.choices import HOW_TO_CHOOSE
from workbench.ui.declaration_grid import proposed_rows
from workbench.ui.kept_drafts import Draft, keep_draft, kept_draft
from workbench.ui.links import link

CASES: dict[str, dict[str, Any]] = {
    "plain": {"method": "dp-merf", "epsilon": 10},
    "numbers to the bit": {
        "method": "dp-merf",
        "epsilon": 2.5,
        "delta": 1e-05,
        "target": "claim",
        "settings": {"training.steps": 20, "training.learning_rate": 1 / 3},
    },
    "nested settings": {"method": "nonprivate", "settings": {"network.channel_multipliers": [1, 1], "diffusion.schedule": "cosine"}},
    "nothing calibrated": {"method": "dp-merf", "settings": {"noise_multiplier": 3.0}, "target": "claim"},
    "left empty": {"method": "dp-merf", "epsilon": 10, "settings": {"noise_multiplier": None}},
    "empty texts": {"method": "nonprivate", "settings": {"network.attention_resolutions": [], "sampler.clip_x_start": False}},
}


def form_text(app: AppTest) -> str:
    """The canonical text that the page shows of its form's request."""
    assert not app.error, app.error[0].value
    return next(code.value for code in app.code if '"method"' in code.value)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_link_and_its_form_make_the_same_request(open_page: Callable[..., AppTest], case: dict[str, Any]) -> None:
    request = Request.of(dataset="digits", **case)
    assert form_text(open_page("train", "train_same", **link(request, "train_"))) == request.text


def test_files_of_ones_own_too_and_a_clone_of_their_run(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    np.savez(tmp_path / "digits.npz", images=draw.integers(0, 256, (40, 8, 8, 1), dtype=np.uint8), labels=np.arange(40) % 2)
    place = DatasetRef.parse(tmp_path / "digits.npz", "scans", "1,4,4", '["cat", "dog, big"]', 3)
    request = Request.of("dp-merf", place, epsilon=5, settings={"training.steps": 20})
    assert form_text(open_page("train", "train_same", **link(request, "train_"))) == request.text
    run = runs.register(here(), make_plan(request))
    app = open_page("runs", "train_same", runs_chosen=f"{run.id} · dp-merf · {place.path}")
    app.button(key=f"runs_{run.id}_clone").click().run()
    assert form_text(app) == RunStore(here()).get(run.id).plan.request.text == request.text


def test_public_images_fill_what_the_method_takes(open_page: Callable[..., AppTest]) -> None:
    app = open_page("train", "train_same", train_method="dpdm", train_public="processes")
    request = Request.parse(form_text(app))
    assert request.settings == {"pretraining.dataset": "processes", "selected.selection.dataset": "processes"}
    assert any(caption.value == DECLARED_PUBLIC for caption in app.caption)
    assert form_text(open_page("train", "train_same", **link(request, "train_"))) == request.text
    none = open_page("train", "train_same", train_method="dp-merf", train_public="processes")
    assert "settings" not in form_text(none), "a method that takes none has no such choice"
    assert not any(caption.value == DECLARED_PUBLIC for caption in none.caption)


def test_the_page_tells_which_public_images_the_records_voted_for(open_page: Callable[..., AppTest]) -> None:
    before = [caption.value for caption in open_page("train", train_method="dpdm").caption]
    assert HOW_TO_CHOOSE in before
    run = train_in_process("public-choice", experiment.load("digits"), 5.0, records=30)
    votes = votes_of(here(), datasets.facts("permuted-digits"))
    assert votes is not None
    assert (votes.run, list(votes.votes)) == (run.id, ["glyphs", "processes"])
    assert votes.best == "glyphs", "digits are like drawn digits"
    assert votes_of(here(), datasets.facts("mnist")) is None
    shown = CliRunner().invoke(commands.app, ["show", run.id, "--json"], catch_exceptions=False).stdout
    assert json.loads(shown)["public_votes"] == votes.words
    page = open_page("train", train_method="dpdm")
    said = [caption.value for caption in page.caption]
    assert any(f"by run {run.id}" in words and "Choose glyphs, which has most." in words for words in said)
    assert page.selectbox(key="train_public").value == "glyphs", "chosen beforehand"
    assert not page.error
    without = open_page("train", train_method="dp-sad", train_preset="eq15")
    assert without.selectbox(key="train_public").value is None, "whose preset pre-trains on nothing"
    assert not any("Leave them out" in error.value for error in without.error)


def press(app: AppTest, key: str, path: str) -> None:
    """Press a button beside a dataset that was typed: streamlit's tests know no value that is not an option."""
    app.selectbox(key="train_dataset").options.append(path)
    app.button(key=key).click().run()


def test_a_draft_of_other_columns_than_the_file_has_is_left_where_it_is(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("size,ill\n" + "".join(f"{number % 30},{'yes' if number % 3 else 'no'}\n" for number in range(90)))
    keep_draft(path, Draft(rows=proposed_rows(path)[0]))
    assert any("Confirming makes" in text.value for text in open_page("train", train_dataset=str(path), train_method="mst").markdown)
    path.write_text(path.read_text().replace("size", "weight"))
    app = open_page("train", "train_same", train_dataset=str(path), train_method="mst")
    assert not app.exception
    assert not any("Confirming makes" in text.value for text in app.markdown)


def test_a_table_of_ones_own_is_proposed_declared_and_planned(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("size,ill\n" + "".join(f"{number % 30},{'yes' if number % 3 else 'no'}\n" for number in range(90)))
    app = open_page("train", "train_same", train_dataset=str(path), train_method="mst", train_epsilon=5)
    assert [error.value for error in app.error] == []
    assert "Nothing is declared yet" in app.info[0].value
    assert not any("private rows" in warning.value for warning in app.warning)
    press(app, "train_dataset_propose", str(path))
    assert any("private rows" in warning.value for warning in app.warning)
    assert any("Confirming makes all that stands in this grid public" in text.value for text in app.markdown)
    assert any("Nothing is declared yet" in info.value for info in app.info), "a proposal declares nothing"
    press(app, "train_dataset_draft_left", str(path))
    (left,) = [frame.value for frame in app.dataframe if "order kept" in frame.value.columns]
    assert left["column"].tolist() == ["size", "ill"], "private, and of what stands in the grid"
    again = open_page("train", "train_same", train_dataset=str(path), train_method="mst", train_epsilon=5)
    assert any("Confirming makes" in text.value for text in again.markdown), "a reload goes on with the grid"
    assert any("Nothing is declared yet" in info.value for info in again.info)
    press(app, "train_dataset_confirm", str(path))
    again.selectbox(key="train_dataset").options.append(str(path))
    again.run()
    assert kept_draft(path) is None, "another browser, in which nothing was changed, does not bring it back"
    after = open_page("train", "train_same", train_dataset=str(path), train_method="mst", train_epsilon=5)
    assert not any("Confirming makes" in text.value for text in after.markdown), "a confirmed draft is forgotten"
    request = Request.parse(form_text(app))
    assert request.place.declared == propose(path)
    assert any("position decides" in caption.value for caption in app.caption)
    press(app, "train_dataset_change", str(path))
    assert any("Confirming makes" in text.value for text in app.markdown), "what is declared can be changed in the same grid"
    press(app, "train_dataset_discard", str(path))
    assert not any("Confirming makes" in text.value for text in app.markdown)
    assert form_text(open_page("train", "train_same", **link(request, "train_"))) == request.text
