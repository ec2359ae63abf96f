"""The Gallery's attribute: what cards tell of it, what is chosen, and where the scores by it are kept."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from streamlit.testing.v1 import AppTest
from support.drawn_faces import toy_faces

from workbench.datasets import facts
from workbench.pages.gallery.cards import value_told
from workbench.pages.gallery.page import attribute_choice
from workbench.records import Records
from workbench.runs.samples.sets import SampleSet


def test_a_record_tells_its_value_and_one_without_tells_nothing() -> None:
    faces = toy_faces()
    smiles = faces.train.attributes["smile"]
    for position in (0, 1, 2):
        expected = f"smile {('no', 'yes')[smiles[position]]}"
        assert value_told(faces.train, position, faces.facts, "smile") == expected
    assert value_told(faces.train, 0, faces.facts, None) == ""
    assert value_told(Records(faces.train.records), 0, faces.facts, "smile") == "", "samples of a method that steers nothing"


def drawn_choice(known: Any) -> AppTest:
    def draw(known: object) -> None:
        import streamlit as st

        from workbench.pages.gallery.page import attribute_choice

        st.text(repr(attribute_choice(known)))  # type: ignore[arg-type]

    return AppTest.from_function(draw, args=(known,)).run()


def test_the_class_comes_first_and_an_attribute_may_take_its_place() -> None:
    app = drawn_choice(toy_faces().facts)
    assert app.text[0].value == "None"
    assert app.selectbox(key="gallery_attribute").options[:3] == ["the class", "smile", "hair"]
    app.selectbox(key="gallery_attribute").set_value("hair").run()
    assert app.text[0].value == "'hair'"
    assert attribute_choice(facts("digits")) is None


def test_scores_by_an_attribute_are_kept_apart_whatever_it_is_called(tmp_path: Path) -> None:
    samples: Any = SimpleNamespace(folder=tmp_path)
    paths = [SampleSet.copying_file(samples, "pixels", 9, attribute) for attribute in (None, "smile", "../hair")]
    assert paths[0].name == "copying-pixels-9.json"
    assert len(set(paths)) == 3
    assert {path.parent for path in paths} == {tmp_path}
