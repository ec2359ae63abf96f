"""What an address asks for and a page cannot show is said, not silently replaced."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

OpenPage = Callable[..., AppTest]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("method", "dp-promis"),
        ("preset", "papers"),
        ("target", "bound"),
        ("epsilon", "-1"),
        ("epsilon", "two"),
        ("epsilon", "inf"),
        ("delta", "2"),
    ],
)
def test_what_cannot_be_chosen_is_named_beside_its_default(open_page: OpenPage, field: str, text: str) -> None:
    app = open_page("budget", **{f"budget_{field}": text})
    said = [warning.value for warning in app.warning if "The address asks for" in warning.value]
    assert said == [f"The address asks for {field} {text}, which cannot be chosen here: the default takes its place."]
    app.selectbox(key="budget_preset").set_value(app.selectbox(key="budget_preset").options[-1]).run()
    assert not [warning.value for warning in app.warning if "The address asks for" in warning.value], "what somebody chose is no address"


def test_an_address_that_can_be_shown_is_shown_without_a_word(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="dp-merf", budget_epsilon="2", budget_delta="1e-05", budget_target="Proved bound")
    assert not app.warning
    assert (app.selectbox(key="budget_method").value, app.number_input(key="budget_epsilon").value) == ("dp-merf", 2.0)
