"""Samples judged one at a time: what comes next, whose verdicts count, undo, and an order that tells nothing."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench.pages.gallery.queue import KEYS, UNDO_KEY, in_order
from workbench.runs.store import RunStore
from workbench.runs.verdicts import JUDGEMENTS, Verdicts

OpenPage = Callable[..., AppTest]


def test_every_verdict_has_a_key_of_its_own() -> None:
    assert tuple(KEYS) == JUDGEMENTS
    assert len({*KEYS.values(), UNDO_KEY}) == len(JUDGEMENTS) + 1


def test_a_blinded_order_is_the_same_for_all_and_for_whatever_order_was_wanted() -> None:
    assert in_order([3, 1, 2], is_blinded=False) == [3, 1, 2]
    wanted = list(range(50))
    assert in_order(wanted, is_blinded=True) == in_order(wanted[::-1], is_blinded=True) != wanted
    assert sorted(in_order(wanted, is_blinded=True)) == wanted


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
    assert any(f"Sample {first[2]}" in element.value for element in app.markdown)
    app.button(key="gallery_queue_undo").click().run()
    assert list(kept.of(run)) == [first[0]]
