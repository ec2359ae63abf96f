"""The method that a page begins with: for images of one's own the one that public facts propose, said beside it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from streamlit.testing.v1 import AppTest
from support.shapes import folder_of_arrays, shapes

OpenPage = Callable[..., AppTest]


def said(app: AppTest) -> bool:
    return any("Proposed for these images: private-classifier" in caption.value for caption in app.caption)


def test_the_proposal_is_for_the_epsilon_of_the_address_and_then_for_the_one_chosen(open_page: OpenPage, tmp_path: Path) -> None:
    np.savez(tmp_path / "shapes.npz", **folder_of_arrays(shapes(400, 60)))  # type: ignore[arg-type]
    own = str(tmp_path / "shapes.npz")
    app = open_page("budget", budget_dataset=own, budget_epsilon="3")
    assert any("at epsilon 3 leave" in caption.value for caption in app.caption)
    app.selectbox(key="budget_dataset").options.append(own)  # a typed one, which AppTest does not know
    app.number_input(key="budget_epsilon").set_value(2.0).run()
    assert any("at epsilon 2 leave" in caption.value for caption in app.caption)


def test_images_of_ones_own_begin_with_what_is_proposed_and_a_choice_stays(open_page: OpenPage, tmp_path: Path) -> None:
    np.savez(tmp_path / "shapes.npz", **folder_of_arrays(shapes(400, 60)))  # type: ignore[arg-type]
    own = str(tmp_path / "shapes.npz")
    app = open_page("budget", budget_dataset=own)
    assert app.selectbox(key="budget_method").value == "private-classifier"
    assert said(app)
    chosen = open_page("budget", budget_dataset=own, budget_method="dp-merf")
    assert chosen.selectbox(key="budget_method").value == "dp-merf"
    assert said(chosen)
    usual = open_page("budget")
    assert usual.selectbox(key="budget_method").value == "dp-promise"
    assert not said(usual)
    app.selectbox(key="budget_dataset").set_value("digits").run()
    assert app.selectbox(key="budget_method").value == "dp-promise", "what nobody chose follows the dataset"
