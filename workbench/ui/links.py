"""Requests as addresses: the query parameters under which a page's form makes the same request again."""

from typing import Any

from workbench.request import Request
from workbench.runs.run import Run
from workbench.training.state import PerformanceSettings
from workbench.ui.choices import SETTINGS, TARGET_TITLES
from workbench.ui.forms import form_parameters


def link(request: Request, prefix: str) -> dict[str, Any]:
    """The query parameters under which the form of a page with `prefix` makes this request."""
    place = request.place
    uncalibrated = {"bound": "none", "claim": "none, claim"}
    target = request.target if request.epsilon is not None else uncalibrated[request.target]
    values: dict[str, Any] = {
        "dataset": place.text,
        **{f"dataset_{name}": text for name, text in place.texts.items()},
        "dataset_split_seed": place.split_seed or None,
        "method": request.method,
        "preset": request.preset,
        "target": TARGET_TITLES[target],
        "epsilon": request.epsilon,
        "delta": request.delta,
    }
    empty = [name for name, value in request.settings.items() if value is None]
    chosen = form_parameters(values, prefix) | form_parameters(request.settings, f"{prefix}{SETTINGS}")
    return chosen | ({f"{prefix}empty": empty} if empty else {})


def clone_link(run: Run, prefix: str) -> dict[str, Any]:
    """The query parameters under which the Train page shows a run's request, and how it was run; a seed is not carried.

    What calibration found is no part of a request, so that another epsilon is calibrated anew.
    """
    standard = PerformanceSettings().model_dump()
    speed = {name: value for name, value in run.performance.items() if value != standard[name]}
    device = {"device": speed.pop("device")} if "device" in speed else {}
    return link(run.plan.request, prefix) | form_parameters(device | {"speed": speed}, prefix)
