"""Public data are other people's: refused when planning, by name, place, link, copy."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel
from support.homes import here
from support.quick import QUICK

from workbench import experiment, runs
from workbench.datasets import DATASETS, facts, load, records_of
from workbench.datasets.whose import same_files
from workbench.errors import WorkbenchError
from workbench.methods import METHODS
from workbench.plan import Plan
from workbench.request import nested_model
from workbench.training_data import check_public

SAME = "which has the same people's records as"
ALONE = {"pretraining.dataset": ""}  # nothing else is public
PRETRAINED = ("dp-promise", "dp-sgd-dm", "dpdm", "dp-diffusion", "dp-ldm", "dp-lora", "dp-feta")
USED: dict[tuple[str, str], dict[str, Any]] = {  # every field that names public images, with what it takes for them to be used
    ("class-means", "dataset"): {},
    ("class-moments", "dataset"): {},
    ("dp-mepf", "features.dataset"): {},
    ("prior-moments", "dataset"): {},
    ("private-classifier", "dataset"): {},
    ("private-evolution", "selection.dataset"): {},
    ("votes-and-clusters", "selection.dataset"): {},
    ("selective-pretraining", "selection.dataset"): {},
    ("privimage", "query.dataset"): {},
    ("chu-dpdm", "public.dataset"): {"training.threshold": "public"},
    **{(name, "pretraining.dataset"): {} for name in ("dp-sad", *PRETRAINED)},
    **{(name, "selected.selection.dataset"): ALONE for name in PRETRAINED},
    ("dp-sad", "selected.selection.dataset"): {"pretraining.dataset": "the same", "selected.selection.records": 50},
}


def planned(method: str, field: str, public: str, private: Any = "digits") -> Plan:
    needed = {name: public if value == "the same" else value for name, value in USED[method, field].items()}
    settings = QUICK[method] | needed | {field: public}
    return experiment.make_plan(method, private, preset="selected" if "selected" in field else "default", epsilon=10.0, settings=settings)


def test_every_field_that_names_public_images_is_looked_at_here() -> None:
    def fields(model: type[BaseModel], outer: str = "") -> Iterator[str]:
        for name, field in model.model_fields.items():
            inner = nested_model(field)
            yield from fields(inner, f"{outer}{name}.") if inner else (f"{outer}{name}",)

    named = {(name, field) for name, method in METHODS.items() for field in fields(method.Config) if field.rpartition(".")[2] == "dataset"}
    assert named == USED.keys()


@pytest.mark.parametrize(("method", "field"), USED)
def test_the_same_people_s_images_are_public_nowhere(method: str, field: str) -> None:
    for private, public in (("digits", "permuted-digits"), ("permuted-digits", "digits-validation")):
        with pytest.raises(WorkbenchError, match=SAME):
            planned(method, field, public, private)


def test_facts_alone_tell_and_a_plan_of_before_is_not_launched() -> None:
    with pytest.raises(WorkbenchError, match=SAME):
        planned("dpdm", "pretraining.dataset", "permuted-digits", facts("digits"))
    plan = planned("dpdm", "pretraining.dataset", "glyphs")
    config = plan.config | {"pretraining": plan.config["pretraining"] | {"dataset": "permuted-digits"}}
    before = plan.model_copy(update={"config": config})
    with pytest.raises(WorkbenchError, match=SAME):
        check_public(before, here())
    with pytest.raises(WorkbenchError, match=SAME):
        runs.launch(here(), before)
    data = load("digits")
    with pytest.raises(WorkbenchError, match=SAME):
        next(experiment.fit(before, data, experiment.new_state(before, seed=0)))


def own_images(place: Path, seed: int = 0) -> Path:
    """A folder of two classes of small pictures."""
    rng = np.random.default_rng(seed)
    for name in ("a", "b"):
        (place / name).mkdir(parents=True)
        for number in range(30):
            Image.fromarray(rng.integers(256, size=(8, 8), dtype=np.uint8)).save(place / name / f"{number}.bmp")
    return place


def test_one_s_own_files_are_known_by_place_link_and_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private, other = own_images(tmp_path / "private"), own_images(tmp_path / "other", seed=1)
    (tmp_path / "link").symlink_to(private)
    shutil.copytree(private, tmp_path / "copy")
    monkeypatch.chdir(private)
    for public in ("../private", str(private / "."), str(tmp_path / "link"), str(tmp_path / "copy"), "./a", str(tmp_path)):
        assert same_files(Path(public), private), public
    for public in ("../private", str(tmp_path / "link"), str(tmp_path / "copy")):
        with pytest.raises(WorkbenchError, match=SAME):
            planned("dpdm", "pretraining.dataset", public, private)
    assert planned("dpdm", "pretraining.dataset", str(other), private).bound.is_finite
    by_facts = planned("dpdm", "pretraining.dataset", str(private), experiment.load(private).facts)
    with pytest.raises(WorkbenchError, match=SAME):
        runs.launch(here(), by_facts, private)


def test_a_place_is_known_by_the_file_system_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where names that differ in case, or mounts, are one place: nothing can be resolved there."""
    private, other = own_images(tmp_path / "private"), own_images(tmp_path / "other", seed=1)
    (tmp_path / "Private").symlink_to(private)
    monkeypatch.setattr(Path, "resolve", Path.absolute)
    assert same_files(tmp_path / "Private", private)
    assert same_files(tmp_path / "Private" / "a", private)
    assert same_files(private, tmp_path / "Private" / "a")
    assert not same_files(other, private)


def test_the_files_of_a_registered_dataset_are_not_public_beside_it() -> None:
    place = here().data / "celeba" / "img_align_celeba"
    place.mkdir(parents=True)
    for number in range(60):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(place / f"{number}.png")
    for private in ("celeba", "celeba-all"):
        with pytest.raises(WorkbenchError, match=SAME):
            planned("dpdm", "pretraining.dataset", str(place), facts(private))
    assert planned("dpdm", "pretraining.dataset", str(place), "digits").bound.is_finite


@pytest.mark.parametrize("folder", ["celeba", "CelebA"])
def test_the_folder_that_an_entry_reads_is_its_people_s_whatever_its_name_and_on_either_side(folder: str) -> None:
    place = own_images(here().data / folder / "img_align_celeba")
    with pytest.raises(WorkbenchError, match=SAME):
        planned("dpdm", "pretraining.dataset", str(place), facts("celeba-all"))
    with pytest.raises(WorkbenchError, match=SAME):
        planned("dpdm", "pretraining.dataset", "celeba-hair", place)
    assert planned("dpdm", "pretraining.dataset", "glyphs", place).bound.is_finite


@pytest.mark.parametrize("name", [name for name, entry in DATASETS.items() if not entry.is_unlimited])
def test_an_entry_that_reads_files_says_where_from(name: str) -> None:
    """Files are found in the data folder alone, so an entry that is not here, or not whole, without them names folders there."""
    entry, root = DATASETS[name], here().data
    assert bool(entry.folders(root)) == (not entry.is_local(here()))
    assert all(folder.is_relative_to(root) for folder in entry.folders(root))


def test_files_of_equal_bytes_are_the_same_people_s(tmp_path: Path) -> None:
    first, second, linked, third = (tmp_path / f"{name}.npz" for name in ("first", "second", "linked", "third"))
    first.write_bytes(bytes(1000))
    shutil.copy(first, second)
    linked.hardlink_to(first)
    third.write_bytes(bytes(999) + b"x")
    assert same_files(second, first)
    assert same_files(linked, first)
    assert not same_files(third, first)
    assert not same_files(tmp_path / "missing.npz", first)


@pytest.mark.parametrize("name", DATASETS)
def test_every_entry_names_whose_records_it_has(name: str) -> None:
    entry = DATASETS[name]
    assert DATASETS[entry.records_of].records_of == entry.records_of
    if entry.public_companion:
        assert records_of(entry.public_companion) != entry.records_of
