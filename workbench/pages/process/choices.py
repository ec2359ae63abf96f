"""What widgets say, as what a panel is asked for."""

from typing import Any, TypeVar

from pydantic import ValidationError

from workbench.errors import WorkbenchError, first_complaint
from workbench.teaching.base import PanelChoices

A = TypeVar("A", bound=PanelChoices)


def validated_choices(kind: type[A], **values: Any) -> A:
    """The choices, defaults in the place of what was left empty; a WorkbenchError names what does not fit."""
    try:
        return kind.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        raise WorkbenchError(first_complaint(error)) from None
