"""Samples judged one at a time: what comes next, whose verdicts count, undo, and an order that tells nothing."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
from pages.reading import text_of
from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench.datasets import load
from workbench.evaluation.features import pixels
from workbench.pages.gallery.queue import KEYS, UNDO_KEY, in_order
from workbench.runs.controls import CONTROLS, altered_records, planted_controls
from workbench.runs.store import RunStore
from workbench.runs.verdicts import JUDGEMENTS, Verdicts
from workbench.server import start
from workbench.server.access import Access

OpenPage = Callable[..., AppTest]


def test_every_verdict_has_a_key_of_its_own() -> None:
    assert tuple(KEYS) == JUDGEMENTS
    assert len({*KEYS.values(), UNDO_KEY}) == len(JUDGEMENTS) + 1


def test_a_blinded_order_is_the_same_for_all_and_for_whatever_order_was_wanted() -> None:
    assert in_order([3, 1, 2], is_blinded=False) == [3, 1, 2]
    wanted = list(range(50))
    assert in_order(wanted, is_blinded=True) == in_order(wanted[::-1], is_blinded=True) != wanted
    assert sorted(in_order(wanted, is_blinded=True)) == wanted
    assert in_order(wanted[::3], is_blinded=True) == [place for place in in_order(range(90), is_blinded=True) if place in wanted[::3]]


def test_a_verdict_leads_to_the_next_sample_and_undo_back(open_page: OpenPage) -> None:
    run = RunStore(here()).list()[0].id
    app = open_page("gallery", gallery_run=run, gallery_queue="true", gallery_blinded="true", gallery_reviewer="Ada")
    assert "suspicion" not in "".join(element.value for element in app.markdown if element.value.startswith("**Sample"))
    first = in_order(range(40), is_blinded=True)
    app.button(key="gallery_queue_fine").click().run()
    app.button(key="gallery_queue_copied").click().run()
    assert not app.exception
    kept = Verdicts(here().verdicts)
    assert {index: (one.verdict, one.reviewer) for index, one in kept.of(run).items()} == {
        first[0]: ("fine", "Ada"),
        first[1]: ("copied", "Ada"),
    }
    assert not any("Sample 1" in element.value for element in app.markdown), "no number is told"
    app.button(key="gallery_queue_undo").click().run()
    assert list(kept.of(run)) == [first[0]]


def test_where_a_proxy_says_who_looks_verdicts_are_in_that_name(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = "ana@hospital.example"
    monkeypatch.setattr(start, "access", Access(names=("workbench.example",), header="X-User", holders=(holder,)))
    monkeypatch.setattr(st, "context", SimpleNamespace(headers={"X-User": holder}))
    run = RunStore(here()).list()[0].id
    app = open_page("gallery", gallery_run=run, gallery_queue="true", gallery_reviewer="Ada")
    assert "gallery_reviewer" not in [field.key for field in app.text_input]
    app.button(key="gallery_queue_fine").click().run()
    assert not app.exception
    assert [one.reviewer for one in Verdicts(here().verdicts).of(run).values()] == [holder]


def test_nothing_tells_what_to_expect_while_samples_are_judged_blinded(open_page: OpenPage) -> None:
    run = RunStore(here()).list()[0].id
    explanation = "A ratio of 1 says that both lie equally far"
    app = open_page("gallery", gallery_run=run, gallery_queue="true", gallery_all="true")
    assert explanation in text_of(app)
    assert "*Suspicion* is" in text_of(app)
    app.checkbox(key="gallery_blinded").check().run()
    assert not app.exception
    assert explanation not in text_of(app)
    assert "*Suspicion* is" not in text_of(app)
    assert "hidden while you judge blinded" in text_of(app)


def test_a_link_shows_the_enlarged_sample_and_a_number_that_is_too_large_shows_the_first(open_page: OpenPage) -> None:
    run = RunStore(here()).list()[0].id
    assert "Enlarged: sample 7 beside" in text_of(open_page("gallery", gallery_run=run, gallery_all="true", gallery_sample="7"))
    app = open_page("gallery", gallery_run=run, gallery_all="true", gallery_sample="4000")
    assert not app.exception
    assert "Enlarged: sample " in text_of(app)


def test_planted_controls_stand_unmarked_among_the_samples_and_tell_what_verdicts_are_worth(open_page: OpenPage) -> None:
    run = RunStore(here()).list()[0].id
    app = open_page(
        "gallery", gallery_run=run, gallery_queue="true", gallery_blinded="true", gallery_planted="true", gallery_reviewer="Ada"
    )
    kept, order = Verdicts(here().verdicts), in_order(range(60), is_blinded=True)
    assert "0 of 60 judged" in app.get("progress")[1].proto.text
    place = next(place for place, position in enumerate(order) if position >= 40)
    for _ in range(place + 1):
        app.button(key="gallery_queue_unsure").click().run()
    assert list(kept.of(run, CONTROLS)) == [order[place] - 40]
    assert len(kept.of(run)) == place, "a control is no sample"
    app.button(key="gallery_queue_undo").click().run()
    assert kept.of(run, CONTROLS) == {}
    assert len(kept.of(run)) == place
    for control in range(20):
        assert not [info.value for info in app.info if "planted copies" in info.value]
        kept.judge(run, control, "copied" if control in (0, 1, 2, 15) else "fine", samples=CONTROLS, reviewer="Ada")
        if control in (18, 19):
            app.run()
    (said,) = [info.value for info in app.info if "planted copies" in info.value]
    assert "3 of 10 planted copies copied (95 %: 0.0667 to 0.652), and 1 of 10 records that nothing was trained on" in said


def test_a_control_lies_beside_the_record_that_it_is_a_copy_of_and_never_beside_itself() -> None:
    dataset = load("digits")
    controls = planted_controls(dataset, pixels(dataset), k=3)
    assert controls.copied.tolist() == [True] * 10 + [False] * 10
    nearest = dataset.train.records[controls.neighbours.indices[:, 0]].astype(int)
    apart = np.abs(nearest - controls.records.records).mean((1, 2, 3))
    assert (apart[:10] < 10).all()
    assert (apart[:10] > 0).all(), "a copy to the bit would be too easy"
    assert (controls.neighbours.held_out_distances > 0).all()
    beside = dataset.held_out.records[controls.neighbours.held_out_indices]
    assert not (beside[10:] == controls.records.records[10:]).all((1, 2, 3)).any()


def test_a_copied_row_differs_in_one_column() -> None:
    dataset = load("breast-cancer")
    positions = np.arange(50)
    changed = altered_records(dataset, positions, np.random.default_rng(0)).records != dataset.train.records[positions]
    assert changed.sum(1).max() == 1
    assert 20 < changed.sum() < 50
