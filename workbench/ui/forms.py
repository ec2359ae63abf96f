"""A form from a configuration: one widget a field, empty until the user overrides the default it shows.

An empty widget means "leave the default", so a form's value is the set of overrides alone, the address bar carries just
those, and a change of dataset or preset moves the defaults without touching what the user chose.
"""

import types
from collections.abc import Collection, Mapping
from typing import Any, Literal, Union, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from workbench.request import nested_model
from workbench.ui.formats import words

YES_NO = {"yes": True, "no": False}
NOTHING = "none"  # stands in a text field for an empty value: an empty field leaves the default


def config_form(
    config_class: type[BaseModel], defaults: Mapping[str, Any], prefix: str, columns: int = 3, leave_out: Collection[str] = ()
) -> dict[str, Any]:
    """Draw the fields of `config_class` and return what the user has overridden, nested models as nested dicts.

    `defaults` are the values in force without an override, shown in each empty field. Widgets are keyed
    `{prefix}{field}` (nested: `{prefix}{model}.{field}`) and bound to the address bar under the same name.
    Fields named in `leave_out` are drawn elsewhere.
    """
    fields = {name: field for name, field in config_class.model_fields.items() if name not in leave_out}
    plain = {name: field for name, field in fields.items() if nested_model(field) is None}
    overrides: dict[str, Any] = {}
    with st.grid(columns=columns, vertical_alignment="bottom"):
        for name, field in plain.items():
            value = field_widget(name, field, defaults.get(name), f"{prefix}{name}")
            if value is not None:
                overrides[name] = value
    for name, field in fields.items():
        model = nested_model(field)
        if model is not None:
            inner = _nested_form(name, field, model, defaults.get(name), prefix)
            if inner:
                overrides[name] = inner
    return overrides


def field_widget(name: str, field: FieldInfo, default: Any, key: str) -> Any:
    """The widget of one plain field; its value, or None where the default stands."""
    annotation = _without_none(field.annotation)
    common: dict[str, Any] = {"key": key, "help": field.description, "bind": "query-params", "placeholder": show_value(default)}
    if get_origin(annotation) is Literal:
        return st.selectbox(words(name), get_args(annotation), index=None, **common)
    if annotation is bool:
        return _yes_no(name, common)
    if annotation in (int, float):
        return _number(name, field, annotation, common)
    text = st.text_input(words(name), value=None, **common)
    items = get_origin(annotation) in (tuple, list)
    if text == NOTHING:
        return [] if items else ""
    return parse_items(text) if text and items else (text or None)


def show_value(value: Any) -> str:
    """A default as the text of an empty field."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (tuple, list)):
        return ", ".join(show_value(item) for item in value) or NOTHING
    return f"{value:g}" if isinstance(value, float) else str(value) or NOTHING


def parse_items(text: str) -> list[int | float | str]:
    """Items of a text like `1, 2, 2`: numbers where they read as numbers, words otherwise."""
    return [_item(part) for part in text.replace("(", " ").replace(")", " ").replace(",", " ").split()]


def form_parameters(overrides: Mapping[str, Any], prefix: str) -> dict[str, str]:
    """The query parameters under which `config_form` with the same `prefix` shows `overrides`; None values are left out."""
    parameters: dict[str, str] = {}
    for name, value in overrides.items():
        if isinstance(value, Mapping):
            parameters |= form_parameters(value, f"{prefix}{name}.")
        elif value is not None:
            parameters[f"{prefix}{name}"] = _parameter(value)
    return parameters


def fields_that_may_be_empty(config_class: type[BaseModel], prefix: str = "") -> list[str]:
    """The fields that admit no value at all, by dotted name."""
    names = []
    for name, field in config_class.model_fields.items():
        if (model := nested_model(field)) is not None:
            names += fields_that_may_be_empty(model, f"{prefix}{name}.")
        elif type(None) in get_args(field.annotation):
            names.append(f"{prefix}{name}")
    return names


def bounds(field: FieldInfo) -> tuple[float | None, float | None]:
    """The smallest and largest value a number field admits, None where it is open.

    An exclusive bound is returned as it is: the configuration itself refuses the end point with its own words.
    """
    low = high = None
    for constraint in field.metadata:
        if isinstance(constraint, (annotated_types.Ge, annotated_types.Gt)):
            low = constraint.ge if isinstance(constraint, annotated_types.Ge) else constraint.gt
        elif isinstance(constraint, (annotated_types.Le, annotated_types.Lt)):
            high = constraint.le if isinstance(constraint, annotated_types.Le) else constraint.lt
    return low, high  # type: ignore[return-value]


def _nested_form(name: str, field: FieldInfo, model: type[BaseModel], default: Any, prefix: str) -> dict[str, Any]:
    with st.expander(words(name)):
        if field.description:
            st.caption(field.description)
        values = default.model_dump() if isinstance(default, BaseModel) else (default or {})
        return config_form(model, values, f"{prefix}{name}.")


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        kept = [item for item in get_args(annotation) if item is not type(None)]
        return kept[0] if len(kept) == 1 else annotation
    return annotation


def _yes_no(name: str, common: dict[str, Any]) -> bool | None:
    choice = st.selectbox(words(name), list(YES_NO), index=None, **common)
    return None if choice is None else YES_NO[choice]


def _number(name: str, field: FieldInfo, number_type: type, common: dict[str, Any]) -> float | int | None:
    low, high = (None if bound is None else number_type(bound) for bound in bounds(field))
    layout = {"step": 1} if number_type is int else {"step": None, "format": "%g"}
    return st.number_input(words(name), min_value=low, max_value=high, value=None, **layout, **common)


def _item(text: str) -> int | float | str:
    for number_type in (int, float):
        try:
            return number_type(text)
        except ValueError:
            continue
    return text


def _parameter(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)) or NOTHING
