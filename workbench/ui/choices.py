"""The choices that make a plan, drawn alike on the Budget and the Train page and bound to the address bar."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import streamlit as st

from workbench.datasets import DATASETS, DatasetFacts, account_name, is_csv, is_path
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.escaping import markdown, prose
from workbench.lazy import torch
from workbench.methods import METHODS
from workbench.methods.base import Method, usual_delta
from workbench.methods.proposed import Proposal, proposed_for_images
from workbench.plan import Plan
from workbench.planning import DECLARED_PUBLIC, DEFAULT_EPSILON, configure, default_delta
from workbench.request import Request, public_fields
from workbench.runs.public_votes import votes_of
from workbench.ui.forms import config_form, fields_that_may_be_empty
from workbench.ui.own_tables import declared_choice
from workbench.ui.session import cached_plan, facts_or_stop, publicly
from workbench.ui.words import explained
from workbench.workspace import Workspace

TARGET_TITLES = {  # a number to meet the epsilon, or which number a run rests on where nothing is calibrated
    "bound": "Proved bound",
    "claim": "Paper's claim",
    "none": "Nothing, as configured",
    "none, claim": "Nothing, on the paper's word",
}
HOW_TO_CHOOSE = "Which suit? A run of public-choice at a small epsilon, .1 say, asks the records."
SETTINGS = "set."  # before the names of a method's settings in keys and addresses: they may be those of a request's own fields
DEFAULT_METHOD = "dp-promise"
LARGEST = sys.float_info.max  # a finite number at most
GPU_DEVICES = ("/dev/nvidia*", "/dev/dxg", "/dev/kfd")  # of NVIDIA, of Windows below Linux, of AMD


@dataclass(frozen=True)
class Choices:
    """What the user chose; `delta` is None where the default stands, `target` one of `TARGET_TITLES`."""

    dataset: DatasetRef
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

    def request(self, settings: Mapping[str, Any] | None = None, public: str | None = None) -> Request:
        """What is asked for, with `settings` and `public` images; a WorkbenchError says what is wrong with it."""
        calibrated = not self.target.startswith("none") and takes_epsilon(self.method_class)
        request = Request.of(
            self.method,
            self.dataset,
            preset=self.preset,
            epsilon=(DEFAULT_EPSILON if self.epsilon is None else self.epsilon) if calibrated else None,
            delta=self.delta,
            target="claim" if self.target.endswith("claim") else "bound",
            settings=settings,
        )
        return publicly(request, public, self.facts) if public else request

    def plan(self, settings: Mapping[str, Any] | None = None, public: str | None = None) -> Plan:
        """The plan of these choices with `settings` and `public` images; a WorkbenchError says why there is none."""
        return cached_plan(self.request(settings, public), self.facts)

    def defaults(self) -> dict[str, Any]:
        """The configuration's values before calibration and settings."""
        return default_config(self.method_class, self.facts, self.preset)


def plan_choices(prefix: str) -> Choices:
    """Dataset, how it is read, method, preset, what is calibrated, epsilon and delta: a row of widgets keyed `{prefix}{choice}`.

    How files of one's own are read has a row of its own.
    """
    in_address = (
        {} if f"{prefix}method" in st.session_state else st.query_params.to_dict()
    )  # widgets drawn before have replaced what was wrong
    row, below = st.columns([1, 0.6, 1, 1, 1, 1, 1], vertical_alignment="bottom"), st.container()
    with row[0]:
        text = dataset_choice(f"{prefix}dataset")
    with below if is_path(text) else row[1]:
        dataset = reading_choice(text, f"{prefix}dataset_")
    facts = facts_or_stop(dataset)
    fitting = [name for name, method_class in METHODS.items() if facts.kind.name in method_class.kinds]
    if not fitting:
        st.error(f"No method here takes {facts.kind.name} data, which {markdown(facts.name)} is.")
        st.stop()
    proposal = proposed_method(dataset, facts, prefix, in_address.get(f"{prefix}epsilon", ""))
    index = fitting.index(proposal.method) if proposal.method in fitting else 0
    method = row[2].selectbox("Method", fitting, index, key=f"{prefix}method", bind="query-params", help="What to train.")
    if proposal.reason:
        below.caption(prose(f"Proposed for these images: {proposal.method}. {proposal.reason}"))
    method_class = METHODS[method]
    presets = list(method_class.presets)
    preset = row[3].selectbox(
        "Preset", presets, key=f"{prefix}preset", bind="query-params", help=preset_help(method_class), filter_mode=None
    )
    if preset not in method_class.presets:
        preset = presets[0]
    target, epsilon, delta = _privacy_choices(prefix, row[4:], method_class, facts, preset)
    for said in not_taken(in_address, prefix, fitting, presets):
        below.warning(said)
    return Choices(dataset, facts, method, preset, target, epsilon, delta)


def not_taken(in_address: Mapping[str, str], prefix: str, methods: Collection[str], presets: Collection[str]) -> list[str]:
    """What an address asks for that the widgets cannot show, a sentence each."""
    names: dict[str, Collection[str]] = {"method": methods, "preset": presets, "target": TARGET_TITLES.values()}
    most = {"epsilon": LARGEST, "delta": 1.0}
    texts = {field: text for field in (*names, *most) if (text := in_address.get(f"{prefix}{field}"))}
    wrong = [field for field, text in texts.items() if not (text in names[field] if field in names else _is_within(text, most[field]))]
    return [
        f"The address asks for {field} {markdown(texts[field])}, which cannot be chosen here: the default takes its place."
        for field in wrong
    ]


def _is_within(text: str, most: float) -> bool:
    try:
        return 0.0 <= float(text) <= most
    except ValueError:
        return False


def proposed_method(dataset: DatasetRef, facts: DatasetFacts, prefix: str, epsilon_in_address: str = "") -> Proposal:
    """The method that the page begins with: for images of one's own by a rule over public facts, else the workbench's usual one.

    A method that nobody changed follows the dataset; one that was chosen stays. The widget below takes `epsilon_in_address`
    only after this.
    """
    key, last = f"{prefix}method", f"{prefix}proposed_method"
    first = float(epsilon_in_address) if _is_within(epsilon_in_address, LARGEST) else DEFAULT_EPSILON
    epsilon = st.session_state.get(f"{prefix}epsilon", first) or DEFAULT_EPSILON
    is_own_image = bool(dataset.path) and facts.kind.name == "image"
    proposal = proposed_for_images(facts, epsilon, usual_delta(facts)) if is_own_image else Proposal(DEFAULT_METHOD, "")
    if st.session_state.get(key) == st.session_state.get(last, proposal.method) != proposal.method:
        st.session_state[key] = proposal.method
    st.session_state[last] = proposal.method
    return proposal


def dataset_choice(key: str) -> str:
    """A registered dataset, or the path of a folder of class subfolders, an .npz or a .csv file."""
    help_text = "A registered dataset, or type the path of a folder with one subfolder a class, of an .npz or of a .csv file."
    known: dict[str, Any] = {"bind": "query-params", "accept_new_options": True, "help": help_text}
    choice = st.selectbox("Dataset or path", list(DATASETS), key=key, **known)
    return choice or next(iter(DATASETS))


STARTS = "A sixth of the records is held out. The guarantee starts after this split and is about the training records: "
FOLDER_STARTS = f"{STARTS}a file's name decides where it goes. The names and number of files, and of classes, are taken to be public."
ARRAYS_START = f"{STARTS}a record's position decides where it goes. The number of records and the classes' names are taken to be public."

TABLE_APART = (
    "All rows of the table are trained on, and the guarantee is about them: those of the other file are held out, and nothing protects "
    "them. The number of training rows is taken to be public, and what is declared above."
)
TABLE_STARTS = f"{STARTS}a row's position decides where it goes. The number of rows is taken to be public, and what is declared above."


def reading_choice(dataset: str, key: str) -> DatasetRef:
    """The dataset as it is read: the name its account goes by, the size of its images, its classes, its split; empty is the default.

    What is wrong with these ends the page with its reason.
    """
    common: dict[str, Any] = {"value": None, "bind": "query-params"}
    resizing: dict[str, Any] = {"label": "Resize to", "key": f"{key}resize", "placeholder": "C,H,W, as 1,28,28", **common}
    seeding: dict[str, Any] = {"label": "Split seed", "min_value": 0, "step": 1, "key": f"{key}split_seed", "placeholder": "0", **common}
    labelling: dict[str, Any] = {"label": "Label", "key": f"{key}label", "placeholder": "its own, or an attribute", **common}
    given, named, shape, declared, held_out = None, None, None, None, None
    if is_path(dataset) and is_csv(Path(dataset)):
        with st.expander("Name and columns of your own table", expanded=True):
            name, apart, split = st.columns([3, 3, 1])
            help_text = "All runs under this name are on one account in the ledger, whatever version of the rows they were on."
            given = name.text_input("Name", key=f"{key}name", placeholder=account_name(dataset), help=help_text, **common)
            seed, attribute = split.number_input(**seeding), None
            held_out = apart.text_input("Held-out rows", key=f"{key}held_out", placeholder="a sixth of them, or a .csv file", **common)
            declared = declared_choice(dataset, key, **common)
            st.caption(TABLE_APART if held_out else TABLE_STARTS)
    elif is_path(dataset):
        with st.expander("Name, size and classes of your own files", expanded=True):
            name, resize, classes, label, split = st.columns(5)
            shape = resize.text_input(**resizing)
            help_text = "All runs under this name are on one account in the ledger, whatever version of the records they were on."
            given = name.text_input("Name", key=f"{key}name", placeholder=account_name(dataset), help=help_text, **common)
            named = classes.text_input("Classes", key=f"{key}classes", placeholder="as in the file, or cat,dog", **common)
            attribute = label.text_input(**labelling)
            seed = split.number_input(**seeding)
            st.caption(ARRAYS_START if dataset.endswith(".npz") else FOLDER_STARTS)
    else:
        with st.popover("Size", help="The size its images are read at."):
            shape = st.text_input(**resizing)
            is_drawn = dataset in DATASETS and DATASETS[dataset].draw is not None
            attribute = st.text_input(**labelling)
            seed = st.number_input(**seeding) if is_drawn else None
    try:
        return DatasetRef.parse(dataset, given, shape, named, int(seed or 0), attribute, declared=declared or None, held_out=held_out)
    except WorkbenchError as error:
        st.error(prose(error))
        st.stop()


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
    return bool(method_class.calibrated_fields)


def default_config(method_class: type[Method], facts: DatasetFacts, preset: str) -> dict[str, Any]:
    """The configuration of a preset for a dataset, before calibration."""
    try:
        return configure(method_class, facts, method_class.presets[preset].values(facts)).model_dump(mode="json")
    except WorkbenchError:
        return {}


def preset_help(method_class: type[Method]) -> str:
    """What each preset is, a line each."""
    return "\n".join(f"- **{name}**: {preset.description}" for name, preset in method_class.presets.items())


def settings_form(choices: Choices, prefix: str) -> dict[str, Any]:
    """The fields of the method's configuration, and those to be left to calibration whatever a preset sets: what is set by hand."""
    settings = config_form(choices.method_class.Config, choices.defaults(), f"{prefix}{SETTINGS}")
    if optional := fields_that_may_be_empty(choices.method_class.Config):
        help_text = "Fields that a preset sets and calibration shall find; the others without a value are found anyway."
        empty = st.multiselect("Leave to calibration", optional, key=f"{prefix}empty", bind="query-params", help=help_text, placeholder="")
        settings |= dict.fromkeys(empty)
    return settings


def public_choice(choices: Choices, prefix: str) -> str | None:
    """Public images for a method that takes some, by name or path; None where it takes none, or its default stands.

    Beside it stands which the records voted for, where a run has asked them; these are chosen beforehand where a plan can take them.
    """
    if not public_fields(choices.method_class.Config):
        return None
    workspace = Workspace.located()
    datasets = {name: facts for name, entry in DATASETS.items() if (facts := entry.known_facts(workspace)) is not None}
    known = [name for name, facts in datasets.items() if facts.is_public and facts.kind.name == "image"]
    votes = votes_of(Workspace.default(), choices.facts)
    if votes and votes.best not in known:  # a folder of one's own
        known.append(votes.best)
    voted = known.index(votes.best) if votes and _can_take(choices, votes.best) else None
    chosen = st.selectbox(
        "Public images", known, voted, key=f"{prefix}public", bind="query-params", accept_new_options=True,
        placeholder="as in the settings below", help="Wherever the method takes some: a name, or type the path of a folder of your own.",
    )  # fmt: skip
    st.caption(DECLARED_PUBLIC)
    st.caption(prose(votes.words if votes else HOW_TO_CHOOSE))
    return chosen


def _can_take(choices: Choices, public: str) -> bool:
    """Whether these choices with their defaults can be planned with these public images."""
    try:
        return bool(choices.plan(public=public))
    except WorkbenchError:
        return False


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
            help=explained("epsilon", "Which number shall meet the target: only the proved bound is a guarantee."),
        )
    epsilon = row[1].number_input(
        "Target epsilon",
        min_value=0.0,
        value=DEFAULT_EPSILON,
        step=1.0,
        format="%g",
        key=f"{prefix}epsilon",
        bind="query-params",
        disabled=not able or target.startswith("none"),
        help=explained("epsilon", "The run stays under this; smaller protects more."),
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
        help=explained("delta", "Where the preset has a delta of its own, it is the default."),
    )
    return target, epsilon, delta
