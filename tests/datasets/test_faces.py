"""Drawn faces: repeatable, balanced, each attribute where it should be, the people the same, and the two styles apart."""

import numpy as np
import pytest
from support.homes import here

from workbench import datasets
from workbench.datasets import faces
from workbench.datasets.face_canvas import CARTOON, PAINTED, paint_faces
from workbench.datasets.face_features import ATTRIBUTES, draw_attributes, draw_faces
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.records import Records

SHAPE = (3, 32, 32)


def test_seed_and_style_decide_every_pixel() -> None:
    first, again, other = (faces.draw(faces.FACES, 70, (3, 16, 16), seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.records, again.records)
    assert (first.records != other.records).any(axis=(1, 2, 3)).all()
    cartoons = faces.draw(faces.CARTOONS, 70, (3, 16, 16), 3)
    assert (first.attributes["smile"] != cartoons.attributes["smile"]).any(), "a stream of its own"


def test_attributes_are_balanced_and_independent() -> None:
    attributes = draw_attributes(240, np.random.default_rng(0))
    assert list(attributes) == list(ATTRIBUTES)
    combined = np.stack([attributes[name] for name in ("smile", "glasses", "hair", "length")])
    assert np.unique(combined, axis=1, return_counts=True)[1].tolist() == [10] * 24
    assert np.bincount(attributes["identity"]).tolist() == [12] * 20
    assert np.unique(combined[:, :24], axis=1).shape[1] == 24, "already in the first 24"


@pytest.mark.parametrize("style", [PAINTED, CARTOON])
def test_an_attribute_changes_its_own_part_of_the_picture(style: object) -> None:
    assert style in (PAINTED, CARTOON)
    attributes = {name: np.zeros(20, np.int64) for name in ATTRIBUTES} | {"identity": np.arange(20)}

    def painted(**values: int) -> np.ndarray:
        changed = {name: np.full(20, value, np.int64) for name, value in values.items()}
        chosen = draw_faces(attributes | changed, np.random.default_rng(5))
        return paint_faces(chosen, 32, 32, style).astype(int)  # type: ignore[arg-type]

    plain = painted()
    rows = {
        name: np.abs(painted(**{name: 1}) - plain).sum(axis=(0, 1, 3)) / np.abs(painted(**{name: 1}) - plain).sum()
        for name in ("smile", "glasses", "length")
    }
    assert rows["smile"][17:27].sum() > 0.99
    assert rows["glasses"][8:20].sum() > 0.99
    assert rows["length"][16:].sum() > 0.5
    top = painted(hair=1)[:, :, 2:5, 14:18].mean(axis=(0, 2, 3)) - plain[:, :, 2:5, 14:18].mean(axis=(0, 2, 3))
    assert (top > [60, 50, 20]).all(), "blond is lighter than black, and least so in blue"


def test_a_person_stays_the_same_and_differs_from_others() -> None:
    records = faces.draw(faces.FACES, 480, SHAPE)
    chins = records.records[:, :, 16:19, 15:17].reshape(480, -1).astype(float)
    who = records.attributes["identity"]
    means = np.stack([chins[who == person].mean(axis=0) for person in range(20)])
    within = np.mean([chins[who == person].std(axis=0).mean() for person in range(20)])
    assert means.std(axis=0).mean() > 2 * within


@pytest.mark.parametrize("shape", [(3, 16, 16), (1, 16, 24), (3, 64, 64)])
def test_shape_and_type(shape: tuple[int, int, int]) -> None:
    for family in (faces.FACES, faces.CARTOONS):
        records = faces.draw(family, 30, shape)
        assert (records.records.shape, records.records.dtype, records.labels) == ((30, *shape), np.uint8, None)
        assert 60 < records.records.mean() < 190
        assert records.records.std(axis=(1, 2, 3)).min() > 8


@pytest.mark.parametrize(("family", "count"), [(faces.FACES_70, 84), (faces.FACES_90, 108)])
def test_uneven_faces_do_not_smile_as_often_as_their_name_says(family: faces.Family, count: int) -> None:
    records = faces.draw(family, 120, (3, 16, 16))
    assert np.bincount(records.attributes["smile"]).tolist() == [count, 120 - count]
    assert np.bincount(records.attributes["glasses"]).tolist() == [60, 60]


def test_only_cartoons_are_public_and_both_are_kept_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {family.name: faces.load(family, here(), (3, 16, 16), 40) for family in (faces.FACES, faces.CARTOONS)}
    assert [kept[name].facts.is_public for name in ("faces", "cartoons")] == [False, True]
    assert [(len(made.train), len(made.held_out)) for made in kept.values()] == [(40, 24)] * 2
    monkeypatch.setattr(faces, "draw", None)  # a second load must not draw
    again = faces.load(faces.FACES, here(), (3, 16, 16), 40)
    assert again.fingerprint(here().key) == kept["faces"].fingerprint(here().key)


def test_cartoons_take_the_label_of_faces() -> None:
    known = DatasetRef.parse("faces", resize="3,16,16", label="smile").facts()
    assert (known.classes, "smile" in known.attributes) == (("no", "yes"), False)
    public = faces.load(faces.CARTOONS, here(), (3, 16, 16), 40)
    alike = public.labelled_alike(known)
    assert alike.facts.classes == ("no", "yes")
    assert alike.train.labels is not None
    np.testing.assert_array_equal(alike.train.labels, public.train.attributes["smile"])
    assert public.labelled_alike(known.labelled_by("hair")) is public, "other attributes are another dataset"
    glyphs = datasets.load_public("glyphs", known.shape, 20)
    assert glyphs.labelled_alike(DatasetRef.parse("faces", resize="3,16,16", label="smile+hair").facts()) is glyphs, "digits have no smile"
    assert public.labelled_alike(datasets.facts("digits")) is public


def test_classes_may_combine_attributes_which_stay() -> None:
    known = DatasetRef.parse("faces", resize="3,16,16", label="smile+hair").facts()
    assert known.classes[:4] == ("smile no, hair black", "smile no, hair blond", "smile no, hair brown", "smile yes, hair black")
    assert (known.combined, set(known.attributes)) == (("smile", "hair"), set(ATTRIBUTES))
    public = faces.load(faces.CARTOONS, here(), (3, 16, 16), 40)
    alike = public.labelled_alike(known).train
    assert alike.labels is not None
    np.testing.assert_array_equal(alike.labels, 3 * public.train.attributes["smile"] + public.train.attributes["hair"])
    samples = Records(alike.records, alike.labels)
    for name in ("smile", "hair"):
        np.testing.assert_array_equal(known.relabelled(samples, name).labels, public.train.attributes[name])
    assert known.relabelled(samples, "glasses").labels is None
    assert known.labelled_by("hair").combined == (), "its class is one attribute's value again"


@pytest.mark.parametrize(("label", "message"), [("smile+hat", "Unknown attribute of faces 'hat'"), ("smile+smile", "that differ")])
def test_impossible_combinations_are_refused(label: str, message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        DatasetRef.parse("faces", label=label).facts()


@pytest.mark.parametrize(("shape", "num"), [((3, 15, 16), 40), ((2, 16, 16), 40), ((3, 65, 64), 40), ((3, 16, 16), 23)])
def test_impossible_faces_are_refused(shape: tuple[int, ...], num: int) -> None:
    with pytest.raises(WorkbenchError, match="Expected"):
        faces.load(faces.FACES, here(), shape, num)
