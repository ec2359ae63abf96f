"""The panels of the Process page: what each is called, what it is asked for, and its parts. Adding one is a module and a line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import choose
from workbench.pages.process import attacking, forward, reverse, selecting, step
from workbench.pages.process.choices import validated_choices
from workbench.teaching.attacking import AttackChoices
from workbench.teaching.base import PanelChoices
from workbench.teaching.forward import ForwardChoices
from workbench.teaching.one_step import StepChoices
from workbench.teaching.reverse import ReverseChoices
from workbench.teaching.selecting import SelectionChoices
from workbench.ui.part_files import ON_DIGITS, panel_file
from workbench.ui.part_page import show_parts
from workbench.ui.parts import Part


@dataclass(frozen=True)
class Panel:
    """A panel: its title, the question that it answers, its choices, their widgets, its parts, and how a page shows them."""

    title: str
    lead: str
    choices_type: type[PanelChoices]
    choose: Callable[[str], Any]
    parts: Callable[[Any], list[Part]]
    show: Callable[[Any, str], None]

    def file(self, choices: PanelChoices) -> str:
        """The panel as an HTML file of its own."""
        return panel_file(self.title, self.lead, self.parts(choices), ON_DIGITS)


def _plainly(parts: Callable[[Any], list[Part]]) -> Callable[[Any, str], None]:
    return lambda choices, prefix: show_parts(parts(choices), prefix)


def _select(choices: SelectionChoices, prefix: str) -> None:
    show_parts(selecting.parts(choices, selecting.look(prefix, choices)), prefix)


PANELS: dict[str, Panel] = {
    "forward": Panel(forward.TITLE, forward.LEAD, ForwardChoices, forward.choose, forward.parts, _plainly(forward.parts)),
    "step": Panel(step.TITLE, step.LEAD, StepChoices, step.choose, step.parts, _plainly(step.parts)),
    "reverse": Panel(reverse.TITLE, reverse.LEAD, ReverseChoices, reverse.choose, reverse.parts, _plainly(reverse.parts)),
    "selection": Panel(selecting.TITLE, selecting.LEAD, SelectionChoices, selecting.choose, selecting.parts, _select),
    "attacker": Panel(attacking.TITLE, attacking.LEAD, AttackChoices, attacking.choose, attacking.parts, attacking.show),
}


def file_of(name: str, values: Mapping[str, Any]) -> str:
    """A panel with these choices as a file; a WorkbenchError names what does not fit."""
    choose(name, PANELS, "panel")
    for choice in values:
        choose(choice, PANELS[name].choices_type.model_fields, f"choice of the panel {name}")
    return PANELS[name].file(validated_choices(PANELS[name].choices_type, **values))
