"""Public images in one word: they fill whatever a method takes, are kept by name and content, and are refused where they changed."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.homes import here
from support.quick import QUICK
from typer.testing import CliRunner

from workbench import experiment
from workbench.cli.commands import app
from workbench.datasets.whose import named_by_content
from workbench.errors import WorkbenchError
from workbench.methods import METHODS
from workbench.methods.fields import value_at
from workbench.planning import DECLARED_PUBLIC, make_plan, with_public
from workbench.request import Request, public_fields
from workbench.runs.release.export import restated_plan
from workbench.training_data import check_public

TAKES = {name for name, method in METHODS.items() if public_fields(method.Config)}


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """A folder of 60 pictures without classes."""
    (tmp_path / "pets").mkdir()
    for number in range(60):
        pixels = np.random.default_rng(number).integers(256, size=(9, 10), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "pets" / f"{number}.png")
    return tmp_path / "pets"


@pytest.mark.parametrize("name", sorted(TAKES))
def test_every_field_is_filled_with_as_many_as_there_are(name: str, pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pets)
    request = with_public(Request.of(name, "digits", epsilon=10.0), "../pets/.")
    config = make_plan(request).build().config
    for field in public_fields(METHODS[name].Config):
        assert value_at(config, field) == str(pets), field
        outer = field.rpartition(".")[0]
        part = value_at(config, outer) if outer else config
        assert getattr(part, "records", 50) <= 50, "a sixth of 60 is held out"
    assert make_plan(request).build().public_dataset == str(pets)


def test_what_is_set_by_hand_stays() -> None:
    request = Request.of("private-evolution", "digits", epsilon=10.0, settings={"selection.records": 700})
    assert with_public(request, "processes").settings == {"selection.dataset": "processes", "selection.records": 700}
    by_hand = Request.of("private-evolution", "digits", epsilon=10.0, settings={"selection.dataset": "glyphs"})
    assert with_public(by_hand, "processes").settings == {"selection.dataset": "glyphs"}


def test_a_relative_path_that_is_set_by_hand_becomes_absolute(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pets.parent)
    settings = {"selection.dataset": "./pets", "selection.records": 50}
    request = Request.of("private-evolution", "digits", epsilon=10.0, settings=settings)
    assert request.settings["selection.dataset"] == str(pets)
    nested = Request.of("private-evolution", "digits", epsilon=10.0, settings={"selection": {"dataset": "pets/../pets"}})
    assert nested.settings["selection.dataset"] == str(pets)
    monkeypatch.chdir("/")
    assert make_plan(request).build().public_dataset == str(pets), "wherever the run is at work"
    assert Request.of("private-evolution", "digits", settings={"selection.dataset": "glyphs"}).settings == {"selection.dataset": "glyphs"}


def test_a_preset_that_declares_images_public_says_so_too() -> None:
    made = make_plan("dp-promise", "mnist", preset="published")
    assert made.build().public_dataset == "fashion-mnist"
    assert any(text.startswith("Public images: fashion-mnist.") and DECLARED_PUBLIC in text for text in made.warnings)
    assert not any("Public images" in text for text in make_plan("private-evolution", "digits", epsilon=5.0).warnings), "drawn ones are"


@pytest.mark.parametrize(
    ("method", "settings", "public", "sentence"),
    [
        ("dp-merf", {}, "processes", "Expected a method that takes public images, got dp-merf"),
        ("dpdm", {"pretraining.steps": 0}, "processes", "Expected a configuration that uses public images"),
        ("dpdm", {}, "prozesses", "Unknown dataset"),
        ("dpdm", {}, "./nowhere", "a path that exists"),
    ],
)
def test_what_takes_none_says_so(method: str, settings: dict[str, Any], public: str, sentence: str) -> None:
    with pytest.raises(WorkbenchError, match=sentence):
        with_public(Request.of(method, "digits", epsilon=10.0, settings=settings), public)


def printed(*words: str) -> dict[str, Any]:
    """The plan that a command prints as JSON."""
    result = CliRunner().invoke(app, ["plan", "private-evolution", "--epsilon", "5", "--json", *words], catch_exceptions=False)
    return json.loads(result.stdout)


def test_the_command_line_says_what_declaring_means_and_asks_for_the_same(pets: Path) -> None:
    made = printed("--dataset", "digits", "--public", str(pets))
    assert Request.model_validate(made["request"]) == with_public(Request.of("private-evolution", "digits", epsilon=5.0), str(pets))
    assert made["public"] == named_by_content(pets)
    assert any(DECLARED_PUBLIC in warning and made["public"] in warning for warning in made["warnings"])
    drawn = printed("--dataset", "digits", "--public", "processes")
    assert (drawn["public"], drawn["warnings"]) == ("", []), "public by themselves"
    declared = printed("--dataset", "digits", "--public", "mnist")
    assert any(DECLARED_PUBLIC in warning for warning in declared["warnings"])
    mixed = CliRunner().invoke(app, ["plan", "--request", "-", "--public", "processes"], input=json.dumps(made["request"]))
    assert "not both" in str(mixed.exception)


@pytest.mark.parametrize("spelling", ["{0}/", "{0}/../private", "{1}/link", "../{2}/private/./"])
def test_the_private_folder_is_refused_by_whatever_spelling(spelling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir()
    for number in range(20):
        Image.new("L", (8, 8), number).save(private / f"{number}.png")
    (tmp_path / "link").symlink_to(private)
    monkeypatch.chdir(tmp_path)
    public = spelling.format(private, tmp_path, tmp_path.name)
    with pytest.raises(WorkbenchError, match="other than the private one"):
        make_plan(with_public(Request.of("private-evolution", private, epsilon=5.0), public))


@pytest.mark.parametrize(("method", "field"), [("private-evolution", "selection"), ("dp-promise", "selected.selection")])
def test_a_classifier_of_public_images_needs_their_classes(method: str, field: str) -> None:
    rounds: dict[str, Any] = {f"{field}.rounds": 2, "pretraining.steps": 0} if method == "dp-promise" else {}
    by_classifier = {f"{field}.space": "classifier"} | rounds
    for public, is_refused in (("processes", True), ("glyphs", False)):
        settings = QUICK[method] | by_classifier | {f"{field}.dataset": public}
        plan = experiment.make_plan(method, "digits", epsilon=5.0, settings=settings)
        with pytest.raises(WorkbenchError, match="public images of the classes of digits") if is_refused else nullcontext():
            check_public(plan, here())
    in_pixels = QUICK[method] | rounds | {f"{field}.dataset": "processes"}
    check_public(experiment.make_plan(method, "digits", epsilon=5.0, settings=in_pixels), here())


def test_files_that_changed_since_are_refused_and_an_export_names_what_was_planned_with(pets: Path) -> None:
    settings = {**QUICK["class-moments"], "dataset": str(pets), "records": 40}
    plan = experiment.make_plan("class-moments", "digits", epsilon=5.0, settings=settings)
    before = named_by_content(pets)
    assert plan.public == before
    check_public(plan, here())
    Image.new("L", (10, 9), 7).save(pets / "0.png")
    with pytest.raises(WorkbenchError, match="Expected the public images that were planned with"):
        check_public(plan, here())
    data = experiment.load("digits")
    with pytest.raises(WorkbenchError, match="Plan again"):
        next(experiment.fit(plan, data, experiment.new_state(plan, seed=0), here()))
    restated = restated_plan(plan)
    assert (restated.public, restated.config["dataset"], restated.request.settings["dataset"]) == (before, before, before)
    assert restated_plan(restated) == restated
