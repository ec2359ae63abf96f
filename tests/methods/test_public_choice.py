"""A choice of public images: votes go to the nearest image's dataset, one record moves them as far as stated, the best wins."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.quick import quick_plan

from workbench import datasets
from workbench.datasets import Dataset, load_public
from workbench.datasets.whose import named_by_content
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.methods.public_choice import PublicChoiceConfig, training
from workbench.methods.public_choice.method import CHOICE
from workbench.plan import Plan
from workbench.planning import make_plan, with_public
from workbench.records import Records
from workbench.request import Request
from workbench.runs.release.export import restated_plan
from workbench.training.state import State
from workbench.training_data import check_public, public_dataset
from workbench.workspace import Workspace

SHAPE = (1, 16, 16)


def records_like(name: str, count: int = 240) -> Dataset:
    """Images of a public dataset drawn by another seed, in the place of private ones."""
    drawn = load_public(name, SHAPE, count, seed=77)
    facts = drawn.facts.model_copy(update={"name": "mine", "is_public": False, "classes": ("a", "b"), "attributes": {}})
    labels = np.arange(count, dtype=np.int64) % 2
    return Dataset(facts, Records(drawn.train.records, labels), Records(drawn.held_out.records[:2], np.arange(2)))


def chosen(data: Dataset, **settings: Any) -> tuple[Plan, State]:
    """A plan at bound .5, carried out."""
    plan = make_plan("public-choice", data.facts, epsilon=0.5, delta=1e-4, settings={"records": 100, **settings})
    state = new_state(plan, seed=0)
    for _ in fit(plan, data, state):
        pass
    return plan, state


@pytest.mark.parametrize("name", ["glyphs", "processes", "cartoons"])
def test_records_choose_the_dataset_that_they_are_like_at_little_cost(name: str) -> None:
    data = records_like(name)
    plan, state = chosen(data)
    assert (plan.build().public_dataset, plan.bound.epsilon <= 0.5) == ("glyphs+processes+cartoons", True)
    config = plan.build().config
    assert isinstance(config, PublicChoiceConfig)
    votes = state.tensors["votes"].numpy()
    assert config.candidates[int(votes.argmax())] == name
    assert abs(votes.sum() - len(data.train)) < 6 * 3**0.5 * float(config.noise_multiplier or 0)
    drawn = sample(plan, state, 30)
    public = training.images_of(state)[config.candidates.index(name)].numpy()
    assert {image.tobytes() for image in drawn.records} <= {image.tobytes() for image in public}


def test_votes_are_for_the_dataset_of_the_nearest_image() -> None:
    data = records_like("processes", 60)
    plan, state = chosen(data, blur=0.0)
    config = plan.build().config
    assert isinstance(config, PublicChoiceConfig)
    images = training.images_of(state).numpy().reshape(300, -1).astype(float)
    distances = np.square(data.train.records.reshape(60, 1, -1) - images[None]).sum(-1)
    expected = np.bincount(distances.argmin(axis=1) // 100, minlength=3)
    np.testing.assert_array_equal(training.counts(config, data.train, state), expected)


def test_one_record_moves_the_counts_as_far_as_stated() -> None:
    data = records_like("glyphs", 60)
    plan, state = chosen(data)
    config = plan.build().config
    assert isinstance(config, PublicChoiceConfig)
    stated = next(stage for stage in plan.stages if stage.name == CHOICE).distances
    assert stated is not None
    before = training.counts(config, data.train, state)
    assert before.sum() == 60
    null = training.counts(config, data.train.without(3), state)
    assert np.linalg.norm(null - before) / float(config.noise_multiplier or 0) == pytest.approx(stated.zero_out)
    moved = []
    for image in training.images_of(state)[:, 0].numpy():
        other = data.train.records.copy()
        other[3] = image
        moved.append(np.linalg.norm(training.counts(config, Records(other, data.train.labels), state) - before))
    assert max(moved) / float(config.noise_multiplier or 0) == pytest.approx(stated.replace_one)
    relabelled = Records(data.train.records, 1 - np.asarray(data.train.labels))
    np.testing.assert_array_equal(training.counts(config, relabelled, state), before)


def test_candidates_suit_the_size_and_differ_from_the_private_ones() -> None:
    assert make_plan("public-choice", "digits", epsilon=1).build().public_dataset == "glyphs+processes", "cartoons have 16 pixels at least"
    with pytest.raises(WorkbenchError, match="at least two candidates"):
        make_plan("public-choice", "digits", epsilon=1, settings={"candidates": ["glyphs"]})
    with pytest.raises(WorkbenchError, match="last names differ"):
        make_plan("public-choice", "digits", epsilon=1, settings={"candidates": ["glyphs", "processes", "glyphs"]})
    with pytest.raises(WorkbenchError, match="public datasets that are drawn to order"):
        make_plan("public-choice", "digits", epsilon=1, settings={"candidates": ["glyphs", "mnist"]})
    with pytest.raises(WorkbenchError, match="the same people's records"):
        make_plan("public-choice", "glyphs", epsilon=1)


def test_joined_datasets_come_in_turn() -> None:
    joined = load_public("glyphs+processes", SHAPE, 41)
    assert joined.facts.classes == ("glyphs", "processes")
    assert datasets.facts("glyphs+processes", SHAPE).is_public
    for number, name in enumerate(joined.facts.classes):
        alone = load_public(name, SHAPE, 21).train.records
        np.testing.assert_array_equal(joined.train.records[number::2], alone[: len(joined.train.records[number::2])])
    plan = quick_plan("public-choice")
    dataset = public_dataset(plan, Workspace.default())
    assert dataset is not None
    assert len(dataset.train) == 60


def a_folder(place: Path, name: str, seed: int) -> Path:
    """A folder of 30 grey pictures of 16x16, with nothing said of classes."""
    (place / name).mkdir(parents=True)
    for number, image in enumerate(load_public("processes", SHAPE, 30, seed=seed).train.records):
        Image.fromarray(image[0]).save(place / name / f"{number:02}.png")
    return place / name


def test_folders_of_ones_own_are_candidates_named_by_their_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mine, data = a_folder(tmp_path, "mine", 5), records_like("processes")
    candidates, settings = ("glyphs", "mine"), {"records": 25}
    plan, state = chosen(data, **settings, candidates=candidates)
    assert plan.public == f"glyphs+{named_by_content(mine)}"
    assert any(warning.startswith("Public images: glyphs+mine (SHA-256") for warning in plan.warnings)
    kept = training.images_of(state).numpy()
    own = load_public(mine, SHAPE, 25, declared_public=True).train.records
    assert np.array_equal(kept[1], own)
    assert state.tensors["votes"][1] > state.tensors["votes"][0]
    restated = restated_plan(plan)
    assert (restated.public, restated.config["candidates"]) == (plan.public, plan.public.split("+"))
    assert str(tmp_path) not in restated.model_dump_json()
    votes = make_plan(with_public(Request.of("private-evolution", "digits", epsilon=1.0), "glyphs+./mine"))
    assert votes.config["selection"]["dataset"] == f"glyphs+{mine}"
    assert restated_plan(votes).config["selection"]["dataset"] == votes.public == plan.public
    Image.fromarray(np.zeros((16, 16), np.uint8)).save(mine / "one_more.png")
    with pytest.raises(WorkbenchError, match="that were planned with, glyphs\\+mine"):
        list(fit(plan, data, new_state(plan, seed=0)))


def test_a_candidate_that_is_the_private_folder_or_has_too_few_pictures_is_refused(tmp_path: Path) -> None:
    mine, other = a_folder(tmp_path, "mine", 5), a_folder(tmp_path / "else", "other", 6)
    settings = {"records": 20, "candidates": ["glyphs", str(tmp_path / "else" / ".." / "mine")]}
    with pytest.raises(WorkbenchError, match="same people's records"):
        make_plan("public-choice", str(mine), epsilon=1.0, settings=settings)
    data = records_like("processes")
    plan = make_plan("public-choice", data.facts, epsilon=1.0, settings={"records": 40, "candidates": ["glyphs", str(other)]})
    with pytest.raises(WorkbenchError, match="Expected 1 to 50 public records of glyphs\\+other in equal shares, got 80"):
        check_public(plan, Workspace.default())
    with pytest.raises(WorkbenchError, match="last names differ"):
        chosen(data, candidates=(str(mine), str(tmp_path / "else" / "mine")))
