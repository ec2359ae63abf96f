"""Pages that show samples say what may stand in the place of the records."""

from collections.abc import Callable

import pytest
from pages.conftest import train_in_process
from pages.reading import text_of
from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench.datasets import load
from workbench.runs.finished import copying_run, neighbours_run
from workbench.runs.nearest_samples import nearest_samples_run
from workbench.runs.samples import sample_set
from workbench.runs.samples.cautions import EQUAL_SHARES

OpenPage = Callable[..., AppTest]
NUM_SAMPLES = 300  # of 100 the cosine of covariances is below .9 once in a thousand trainings, though they are the prior's


@pytest.mark.usefixtures("home_with_runs")
def test_samples_that_look_like_the_prior_are_not_shown_without_a_word(open_page: OpenPage) -> None:
    run = train_in_process("prior-moments", load("digits"), 0.1, records=500)
    assert "Not compared yet with public images of glyphs" in text_of(open_page("train", train_run=run.id)), "beside the preview"
    samples = sample_set(here(), run.id)
    samples.records(NUM_SAMPLES)
    neighbours_run(here(), run.id, num_samples=NUM_SAMPLES)
    copying_run(here(), run.id, num_samples=NUM_SAMPLES)
    nearest_samples_run(here(), run.id, num_samples=NUM_SAMPLES)
    for page, name in (("gallery", "gallery_run"), ("runs", "runs_chosen"), ("records", "records_run")):
        shown = text_of(open_page(page, **{name: run.id}))
        assert "These samples look like the public prior" in shown, page
        assert EQUAL_SHARES in shown, page
