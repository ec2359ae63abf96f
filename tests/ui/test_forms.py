"""Forms: one widget a field, bounds from the constraints, overrides alone as the value, and a link that reproduces them."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field
from streamlit.testing.v1 import AppTest

from workbench.methods import METHODS
from workbench.ui.forms import bounds, form_parameters, parse_items, show_value


class Network(BaseModel):
    """A nested model."""

    base_channels: int = Field(default=32, ge=1, description="Channels of the first level.")
    channel_multipliers: tuple[int, ...] = (1, 2, 2)


class Config(BaseModel):
    """A field of every shape that a form draws."""

    noise_multiplier: float | None = Field(default=None, gt=0, description="Noise over the clipping norm.")
    steps: int = Field(default=100, ge=1, le=1000)
    targets: Literal["renoised", "paper"] = "renoised"
    frozen: bool = True
    name: str = "glyphs"
    network: Network = Network()


def draw() -> None:
    """The script under test: the form and its value."""
    import streamlit as st

    from tests.ui.test_forms import Config
    from workbench.ui.forms import config_form

    st.json(config_form(Config, Config().model_dump(), "x_"))


def value_of(app: AppTest) -> dict[str, Any]:
    """What the form returned."""
    import json

    assert not app.exception
    return json.loads(app.json[0].value)


def test_a_form_nobody_touched_overrides_nothing() -> None:
    app = AppTest.from_function(draw).run()
    assert value_of(app) == {}
    labels = {widget.label for kind in (app.number_input, app.selectbox, app.text_input) for widget in kind}
    assert labels == {"Noise multiplier", "Steps", "Targets", "Frozen", "Name", "Base channels", "Channel multipliers"}


def test_fields_carry_description_bounds_and_default() -> None:
    app = AppTest.from_function(draw).run()
    steps = app.number_input(key="x_steps")
    assert (steps.min, steps.max, steps.placeholder) == (1, 1000, "100")
    assert app.number_input(key="x_noise_multiplier").help == "Noise over the clipping norm."
    assert app.selectbox(key="x_targets").options == ["renoised", "paper"]


def test_a_link_reproduces_every_override() -> None:
    wanted = {
        "noise_multiplier": 0.5,
        "steps": 7,
        "targets": "paper",
        "frozen": False,
        "name": "other",
        "network": {"base_channels": 8, "channel_multipliers": [1, 2]},
    }
    app = AppTest.from_function(draw)
    for name, text in form_parameters(wanted, "x_").items():
        app.query_params[name] = text
    assert value_of(app.run()) == wanted


def test_clearing_a_field_gives_the_default_back() -> None:
    app = AppTest.from_function(draw).run()
    app.number_input(key="x_steps").set_value(5).run()
    assert value_of(app) == {"steps": 5}
    app.number_input(key="x_steps").set_value(None).run()
    assert value_of(app) == {}


def test_parameters_leave_out_what_is_not_set() -> None:
    assert form_parameters({"steps": 3, "seed": None, "network": {"base_channels": 2}}, "p_") == {
        "p_steps": "3",
        "p_network.base_channels": "2",
    }


@pytest.mark.parametrize(("text", "items"), [("1, 2, 2", [1, 2, 2]), ("(1,)", [1]), ("0.5 x", [0.5, "x"]), ("", [])])
def test_items_of_a_tuple(text: str, items: list[Any]) -> None:
    assert parse_items(text) == items


def test_bounds_come_from_the_constraints() -> None:
    assert bounds(Config.model_fields["steps"]) == (1, 1000)
    assert bounds(Config.model_fields["noise_multiplier"]) == (0, None)
    assert bounds(Config.model_fields["name"]) == (None, None)


def test_defaults_as_text() -> None:
    assert [show_value(value) for value in (None, True, (1, 2), 6e-4, 4096, "x")] == ["not set", "yes", "1, 2", "0.0006", "4096", "x"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_form(name: str) -> None:
    """Every field of a method's configuration has a widget of its own."""

    def draw_method(name: str) -> None:
        import streamlit as st

        from workbench.methods import METHODS
        from workbench.ui.forms import config_form

        st.json(config_form(METHODS[name].Config, {}, "m_"))

    app = AppTest.from_function(draw_method, args=(name,)).run()
    assert value_of(app) == {}
    drawn = {widget.key for kind in (app.number_input, app.selectbox, app.text_input) for widget in kind}
    assert drawn == {f"m_{path}" for path in leaf_fields(METHODS[name].Config)}


def leaf_fields(model: type[BaseModel]) -> set[str]:
    """Dotted names of all plain fields."""
    names: set[str] = set()
    for name, field in model.model_fields.items():
        inner = field.annotation
        nested = isinstance(inner, type) and issubclass(inner, BaseModel)
        names |= {f"{name}.{part}" for part in leaf_fields(inner)} if nested else {name}
    return names
