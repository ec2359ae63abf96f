"""The choices that make a plan, drawn alike on the Budget and the Train page and bound to the address bar."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from typing import Any

import streamlit as st

from workbench.datasets import DATASETS, DatasetFacts, account_name, is_path
from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.jobs.run import Run
from workbench.lazy import torch
from workbench.methods import METHODS
from workbench.methods.base import Method, Target
from workbench.plan import Plan
from workbench.planning import DEFAULT_EPSILON, configure, default_delta
from workbench.training.state import PerformanceSettings
from workbench.ui.forms import form_parameters
from workbench.ui.session import facts_or_stop, planned

TARGET_TITLES = {"bound": "Proved bound", "claim": "Paper's claim", "none": "Nothing, as configured"}
DEFAULT_METHOD = "dp-promise"
GPU_DEVICES = ("/dev/nvidia*", "/dev/dxg", "/dev/kfd")  # of NVIDIA, of Windows below Linux, of AMD


@dataclass(frozen=True)
class Choices:
    """What the user chose; `epsilon` and `delta` are None where the default stands, `target` "none" where nothing is calibrated."""

    dataset: str
    reading: dict[str, str | None]
    facts: DatasetFacts
    method: str
    preset: str
    target: str
    epsilon: float | None
    delta: float | None

    @property
    def method_class(self) -> type[Method]:
        """The method's class."""
        return METHODS[self.method]

    def plan(self, overrides: dict[str, Any] | None = None) -> Plan:
        """The plan of these choices with `overrides`; a WorkbenchError says why there is none."""
        calibrated = self.target != "none" and takes_epsilon(self.method_class)
        epsilon = None
        if calibrated:
            epsilon = DEFAULT_EPSILON if self.epsilon is None else self.epsilon
        target: Target = "claim" if self.target == "claim" else "bound"
        return planned(self.method, self.facts, epsilon, self.delta, self.preset, overrides or {}, target)

    def defaults(self) -> dict[str, Any]:
        """The configuration's values before calibration and overrides."""
        return default_config(self.method_class, self.facts, self.preset)

    def parameters(self, prefix: str) -> dict[str, str]:
        """The query parameters under which a page with `prefix` shows the same choices."""
        values = {"dataset": self.dataset, "method": self.method, "preset": self.preset, "target": TARGET_TITLES[self.target]}
        values |= {"epsilon": self.epsilon, "delta": self.delta} | {f"dataset_{field}": text for field, text in self.reading.items()}
        return form_parameters(values, prefix)


def plan_choices(prefix: str) -> Choices:
    """Dataset, how it is read, method, preset, what is calibrated, epsilon and delta: a row of widgets keyed `{prefix}{choice}`.

    How files of one's own are read has a row of its own.
    """
    row, below = st.columns([1, 0.6, 1, 1, 1, 1, 1], vertical_alignment="bottom"), st.container()
    with row[0]:
        dataset = dataset_choice(f"{prefix}dataset")
    with below if is_path(dataset) else row[1]:
        reading = reading_choice(dataset, f"{prefix}dataset_")
    facts = facts_or_stop(dataset, **reading)
    fitting = [name for name, method_class in METHODS.items() if facts.kind.name in method_class.kinds]
    if not fitting:
        st.error(f"No method here takes {facts.kind.name} data, which {markdown(facts.name)} is.")
        st.stop()
    index = fitting.index(DEFAULT_METHOD) if DEFAULT_METHOD in fitting else 0
    method = row[2].selectbox("Method", fitting, index, key=f"{prefix}method", bind="query-params", help="What to train.")
    method_class = METHODS[method]
    presets = list(method_class.presets)
    preset = row[3].selectbox(
        "Preset", presets, key=f"{prefix}preset", bind="query-params", help=preset_help(method_class), filter_mode=None
    )
    if preset not in method_class.presets:
        preset = presets[0]
    target, epsilon, delta = _privacy_choices(prefix, row[4:], method_class, facts, preset)
    return Choices(dataset, reading, facts, method, preset, target, epsilon, delta)


def dataset_choice(key: str) -> str:
    """A registered dataset, or the path of a folder of class subfolders or an .npz file."""
    help_text = "A registered dataset, or type the path of a folder with one subfolder a class, or of an .npz file."
    choice = st.selectbox("Dataset", list(DATASETS), key=key, bind="query-params", accept_new_options=True, help=help_text)
    return choice or next(iter(DATASETS))


STARTS = "A sixth of the records is held out. The guarantee starts after this split and is about the training records: "
FOLDER_STARTS = f"{STARTS}a file's name decides where it goes. The names and number of files, and of classes, are taken to be public."
ARRAYS_START = f"{STARTS}a record's position decides where it goes. The number of records and the classes' names are taken to be public."


def reading_choice(dataset: str, key: str) -> dict[str, str | None]:
    """How the dataset is read: the name its account goes by, the size of its images, its classes; None where the default stands."""
    own = is_path(dataset)
    common: dict[str, Any] = {"value": None, "bind": "query-params"}
    resizing: dict[str, Any] = {"key": f"{key}resize", "placeholder": "C,H,W, as 1,28,28", **common}
    if not own:
        with st.popover("Size", help="The size its images are read at."):
            return {"name": None, "resize": st.text_input("Resize to", **resizing), "classes": None}
    with st.expander("Name, size and classes of your own files", expanded=True):
        name, resize, classes = st.columns(3)
        shape = resize.text_input("Resize to", **resizing)
        help_text = "All runs under this name are on one account in the ledger, whatever version of the records they were on."
        given = name.text_input("Name", key=f"{key}name", placeholder=account_name(dataset), help=help_text, **common)
        named = classes.text_input("Classes", key=f"{key}classes", placeholder="as in the file, or cat,dog", **common)
        st.caption(ARRAYS_START if dataset.endswith(".npz") else FOLDER_STARTS)
    return {"name": given, "resize": shape, "classes": named}


def read_parameters(run: Run) -> dict[str, str]:
    """The fields of `reading_choice` under which a run's dataset is read as it was planned."""
    facts = run.plan.facts
    size = ",".join(map(str, facts.shape))
    if is_path(run.dataset):
        return {"dataset_name": facts.name, "dataset_resize": size, "dataset_classes": json.dumps(facts.classes)}
    entry = DATASETS.get(run.dataset)
    return {} if entry is None or entry.facts().shape == facts.shape else {"dataset_resize": size}


def device_choice(key: str) -> str:
    """auto, cpu, or one of the GPUs that are here."""
    gpus = visible_gpus()
    seen = ", ".join(f"{name} is {title}" for name, title in gpus.items()) or "no GPU is visible here"
    return st.selectbox(
        "Device", ["auto", "cpu", *gpus], key=key, bind="query-params", help=f"auto takes a GPU where there is one; {seen}."
    )


def visible_gpus() -> dict[str, str]:
    """Titles of the GPUs here by device; torch, which takes seconds to import, is asked only where there may be one."""
    if sys.platform == "linux" and not any(glob(pattern) for pattern in GPU_DEVICES):
        return {}
    return {f"cuda:{index}": torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())}


def takes_epsilon(method_class: type[Method]) -> bool:
    """Whether the method can be calibrated to an epsilon at all."""
    return method_class.calibrated.__func__ is not Method.calibrated.__func__  # type: ignore[attr-defined]


def default_config(method_class: type[Method], facts: DatasetFacts, preset: str) -> dict[str, Any]:
    """The configuration of a preset for a dataset, before calibration."""
    try:
        return configure(method_class, facts, method_class.presets[preset].values(facts)).model_dump(mode="json")
    except WorkbenchError:
        return {}


def preset_help(method_class: type[Method]) -> str:
    """What each preset is, a line each."""
    return "\n".join(f"- **{name}**: {preset.description}" for name, preset in method_class.presets.items())


def run_parameters(run: Run, prefix: str) -> dict[str, str]:
    """The query parameters under which the Train page shows a run's plan: its choices, and what was set by hand.

    What calibration found is left out, so that another epsilon is calibrated anew. A seed is not carried.
    """
    plan = run.plan
    calibrated = plan.target_epsilon is not None
    values: dict[str, Any] = {
        "dataset": run.dataset,
        **read_parameters(run),
        "method": run.method,
        "preset": plan.preset,
        "target": TARGET_TITLES[plan.target if calibrated else "none"],
        "epsilon": plan.target_epsilon,
        "delta": None if plan.delta == default_delta(METHODS[plan.method], plan.facts, plan.preset) else plan.delta,
    }
    standard = PerformanceSettings().model_dump()
    speed = {name: value for name, value in run.performance.items() if value != standard[name]}
    device = {"device": speed.pop("device")} if "device" in speed else {}
    return form_parameters(values | plan.request.settings | device | {"speed": speed}, prefix)


def _privacy_choices(
    prefix: str, row: Sequence[Any], method_class: type[Method], facts: DatasetFacts, preset: str
) -> tuple[str, float | None, float | None]:
    able = takes_epsilon(method_class)
    with row[0]:
        target = st.selectbox(
            "Calibrate to epsilon",
            list(TARGET_TITLES),
            key=f"{prefix}target",
            bind="query-params",
            format_func=TARGET_TITLES.__getitem__,
            disabled=not able,
            help="Which number shall meet the target. Only the proved bound is a guarantee.",
        )
    epsilon = row[1].number_input(
        "Target epsilon",
        min_value=0.0,
        value=DEFAULT_EPSILON,
        step=1.0,
        format="%g",
        key=f"{prefix}epsilon",
        bind="query-params",
        disabled=not able or target == "none",
        help="The privacy loss to stay under; smaller protects more.",
    )
    delta = row[2].number_input(
        "Delta",
        min_value=0.0,
        max_value=1.0,
        value=None,
        step=None,
        format="%g",
        key=f"{prefix}delta",
        bind="query-params",
        placeholder=f"{default_delta(method_class, facts, preset):.3g}",
        help="The probability with which the bound may fail. Default: the preset's, else 1 / (2 · records). Keep it below 1 / records.",
    )
    return target, epsilon, delta
