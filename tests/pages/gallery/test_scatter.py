"""All samples at once, one enlarged, and how many must be seen: exact numbers, and a page that shows them."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from pages.conftest import train_in_process
from pages.reading import elements, text_of
from scipy import stats
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.quick import QUICK
from support.tables import toy_table

from workbench.datasets import load
from workbench.evaluation import Neighbours
from workbench.pages.gallery.queue import in_order
from workbench.pages.gallery.scatter import difference, differing_columns, largest_share, must_see, ratios, seen_in_order
from workbench.runs.finished import copying_run, neighbours_run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.runs.verdicts import Verdict, Verdicts

OpenPage = Callable[..., AppTest]


def test_so_many_samples_without_a_copy_say_that_fewer_are_copies() -> None:
    for share, confidence in ((0.01, 0.95), (0.001, 0.99), (0.5, 0.5)):
        needed = must_see(share, confidence)
        assert (1 - share) ** needed <= 1 - confidence < (1 - share) ** (needed - 1)
    assert must_see(0.01, 0.95) == 299


def test_ratios_are_of_the_nearest_records_and_a_copy_has_none() -> None:
    far = np.array([2.0, 4.0, 0.0, 0.0])
    near = Neighbours("pixels", np.zeros((4, 1), int), np.array([[1.0], [0.0], [0.0], [3.0]]), np.zeros(4, int), far)
    assert ratios(near).tolist() == [0.5, 0.0, 1.0, np.inf]


def test_samples_that_no_point_can_show_are_counted() -> None:
    def draw() -> None:
        import numpy as np

        from workbench.evaluation import Neighbours
        from workbench.pages.gallery.scatter import scatter

        far, near = np.array([2.0, 0.0, 0.0]), np.array([[1.0], [0.0], [3.0]])
        scatter(Neighbours("pixels", np.zeros((3, 1), int), near, np.zeros(3, int), far), "key")

    captions = [caption.value for caption in AppTest.from_function(draw).run().caption]
    assert any(caption.startswith("1 of 3 samples lie on a held-out record") for caption in captions)


def test_the_difference_is_white_where_images_agree_and_black_where_they_differ_most() -> None:
    one, other = np.zeros((3, 1, 3), np.uint8), np.zeros((3, 1, 3), np.uint8)
    one[0, 0], other[2, 0, 2] = (0, 10, 0), 20
    assert difference(one, other).tolist() == [[[255, 128, 0]]]
    assert difference(one, one).tolist() == [[[255, 255, 255]]]


def test_of_a_table_the_columns_that_differ_come_first() -> None:
    table = toy_table()
    one = table.train.records[0]
    other = one.copy()
    other[1] = (other[1] + 1) % len(table.facts.kind.columns[1].categories)  # type: ignore[union-attr]
    frame = differing_columns(one, other, table)
    assert frame["same"].tolist() == [False] + [True] * (len(one) - 1)


@pytest.mark.usefixtures("home_with_runs")
def test_the_gallery_enlarges_a_sample_and_tells_how_many_must_be_seen(open_page: OpenPage) -> None:
    app = open_page("gallery", gallery_all="true", gallery_share="5")
    said = text_of(app)
    assert not app.exception
    assert "Look at **59 samples**" in said
    assert "There are 40: draw more." in said
    assert "difference, sample" in " ".join(image.alt for one in elements(app.main) if one.type == "image" for image in one.proto.imgs)
    typed = next(field for field in app.number_input if field.label == "Sample")
    typed.set_value(7).run()
    assert "**Enlarged: sample 7 beside training record" in text_of(app)


def images(app: AppTest) -> list[str]:
    return [image.alt for one in elements(app.main) if one.type == "image" for image in one.proto.imgs]


def test_a_sample_of_a_diffusion_model_is_shown_coming_back_from_noise(open_page: OpenPage) -> None:
    run = train_in_process("nonprivate", load("digits"), None, **QUICK["nonprivate"])
    sample_set(here(), run.id).records(6)
    neighbours_run(here(), run.id, num_samples=6)
    copying_run(here(), run.id, num_samples=6)
    app = open_page("gallery", gallery_run=run.id, gallery_all="true", gallery_returning="true")
    assert re.search(r"Sample \d noised to 6 time steps, and denoised from each", " ".join(images(app)))
    assert "path from noise is not kept" in text_of(app)
    other = next(run.id for run in RunStore(here()).list() if run.method == "dp-merf")
    app = open_page("gallery", gallery_run=other, gallery_all="true", gallery_returning="true")
    assert "noised to" not in " ".join(images(app)), "dp-merf has no denoiser"


def test_only_verdicts_without_a_gap_allow_a_statement_and_copies_count() -> None:
    def judged(words: dict[int, str]) -> dict[int, Verdict]:
        return {place: Verdict(run="abcd2345", sample=place, verdict=word, time=0.0) for place, word in words.items()}  # type: ignore[arg-type]

    given = judged(dict.fromkeys(range(59), "fine") | {70: "copied"})
    assert len(seen_in_order(given, 100)) == 59
    assert largest_share(0, 59, 0.95) == pytest.approx(1 - 0.05 ** (1 / 59))
    assert largest_share(0, 59, 0.95) < 0.05 < largest_share(0, 58, 0.95), "the number that the page asks for"
    assert largest_share(1, 59, 0.95) == pytest.approx(stats.beta.ppf(0.95, 2, 58))
    assert largest_share(3, 3, 0.95) == 1.0
    picked = judged(dict.fromkeys(range(50, 100), "fine"))
    assert len(seen_in_order(picked, 100)) < 10, "the most suspicious first are no beginning"
    blind = judged(dict.fromkeys(in_order(range(100), is_blinded=True)[:30], "fine"))
    assert len(seen_in_order(blind, 100)) == 30


@pytest.mark.usefixtures("home_with_runs")
def test_a_copy_among_the_first_is_in_the_statement(open_page: OpenPage) -> None:
    verdicts, run = Verdicts(here().verdicts), RunStore(here()).list()[0].id
    for place in range(20):
        verdicts.judge(run, place, "copied" if place == 4 else "fine")
    said = text_of(open_page("gallery", gallery_run=run))
    assert "The first 20 samples, all judged, with 1 called copied or unsure, allow to say: fewer than 21.6 %." in said
