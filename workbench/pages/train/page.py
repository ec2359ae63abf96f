"""The Train page from top to bottom."""

import os
from typing import Any

import streamlit as st

from workbench.errors import WorkbenchError
from workbench.escaping import prose
from workbench.jobs.launchers import DEFAULT, LAUNCHERS
from workbench.pages.train.start import LaunchRequest, launch_button, launched_run
from workbench.pages.train.sweep_form import sweep_form
from workbench.pages.train.sweep_results import sweeps_section
from workbench.pages.train.watch import watch
from workbench.plan import Plan
from workbench.privacy.attacks.canaries import KINDS, AuditDesign
from workbench.training.state import PerformanceSettings
from workbench.ui.cards import plan_details, plan_numbers
from workbench.ui.choices import Choices, device_choice, plan_choices, public_choice, settings_form
from workbench.ui.configuration import same_configuration
from workbench.ui.example import example_notice
from workbench.ui.expected import show_expectation
from workbench.ui.forms import config_form
from workbench.ui.runs import is_asked_for, run_choice
from workbench.ui.session import launch_warnings
from workbench.ui.words import explained

PREFIX, SWEEP_PREFIX = "train_", "train_sweep_"


def draw() -> None:
    """A run to watch, above all where it is asked for; choices, settings and speed; what the plan costs; launch; sweeps."""
    arrival, above, form = st.container(), st.container(), st.container()
    with arrival:
        launched = launched_run(PREFIX)
    asked_for = is_asked_for(f"{PREFIX}run", launched)
    # Before anything that takes time: a run that was watched below is gone from there, and else stays, or the page would jump up meanwhile.
    below = st.empty() if asked_for else st.container()
    with above:
        if asked_for:  # who asked for a run, or has just launched one, sees it at once
            watch_section(launched)
    with form:
        if asked_for:
            st.header("Plan another", anchor=False)
        plan_form()
    if not asked_for:
        with below:
            watch_section(launched)
    sweeps_section(SWEEP_PREFIX)
    example_notice(PREFIX)


def plan_form() -> None:
    """Choices, settings, speed and audit; what the plan costs and takes; launch."""
    choices = plan_choices(PREFIX)
    public = public_choice(choices, PREFIX)
    with st.expander("Method settings", expanded=False):
        st.caption("An empty field leaves the default it shows. Every setting that affects the guarantee is here.")
        settings = settings_form(choices, PREFIX)
    with st.expander("Device and speed", expanded=False):
        performance, seed = speed_choices()
    with st.expander("Audit", expanded=False):
        audit = audit_choices()
    with st.container():  # one place on the page, however much is said of the plan: what is open below stays open
        plan = show_plan(choices, settings, public)
    place = place_choice()
    beginning, expected = st.columns([1, 4])  # side by side: what comes to be expected moves no button under a press
    if plan is not None:
        with expected:
            show_expectation(plan, PerformanceSettings.model_validate(performance), PREFIX)
    with beginning:
        launch_button(None if plan is None else LaunchRequest(plan, performance, seed, audit, place), PREFIX)
    with st.expander("Sweep: several methods, epsilons, settings and seeds", expanded=False):
        sweep_form(choices, performance, place, SWEEP_PREFIX)


def watch_section(launched: str | None) -> None:
    """The run that is launched, picked or named in the address, else the newest."""
    st.header("Watch a run", anchor=False)
    watched = run_choice(f"{PREFIX}run", launched=launched)
    if watched:
        watch(watched, PREFIX)
    else:
        st.caption("No run has been started yet.")


def speed_choices() -> tuple[dict[str, Any], int | None]:
    """Fields of `PerformanceSettings`, and the seed, if there shall be one."""
    st.caption("Nothing here can change the guarantee.")
    device = device_choice(f"{PREFIX}device")
    speed = config_form(PerformanceSettings, PerformanceSettings().model_dump(), f"{PREFIX}speed.", leave_out={"device"})
    seed = st.number_input(
        "Seed", min_value=0, value=None, step=1, key=f"{PREFIX}seed", bind="query-params", placeholder="none: noise nobody can repeat",
        help=explained("seed"),
    )  # fmt: skip
    if seed is not None:
        st.warning("A seeded run is repeatable and not releasable: its noise can be drawn again.")
    return {"device": device, **speed}, seed


def place_choice() -> str | None:
    """Where a run trains: asked only where an engine can be reached; None leaves it to `WORKBENCH_LAUNCHER`, which comes first."""
    usable = [name for name, launcher in LAUNCHERS.items() if not launcher.missing()]
    if len(usable) < 2:
        return None
    usable.sort(key=lambda name: name != os.environ.get("WORKBENCH_LAUNCHER", DEFAULT))
    return st.selectbox(
        "Where", usable, key=f"{PREFIX}on", bind="query-params", help="local is this machine; an engine starts it in its own turn."
    )


def audit_choices() -> AuditDesign | None:
    """Canaries to put among the records, as `--audit-canaries` does; None where no number of them is given."""
    st.caption("What an attack on this very training proves at least. All of it is fixed before training.")
    number, kind, seed = st.columns(3)
    canaries = number.number_input(
        "Canaries", min_value=2, value=None, step=1, key=f"{PREFIX}audit_canaries", bind="query-params", placeholder="none: no audit",
        help=explained("canary", "They take places of training records. More of them can prove more."),
    )  # fmt: skip
    chosen = kind.selectbox(
        "Kind", KINDS, KINDS.index("patterns"), key=f"{PREFIX}audit_kind", bind="query-params", disabled=canaries is None,
        help="labels: real records under other labels; blank: images of one grey; patterns: records drawn evenly from all there can be.",
    )  # fmt: skip
    drawn = seed.number_input(
        "Seed of the canaries", min_value=0, value=None, step=1, key=f"{PREFIX}audit_seed", bind="query-params", disabled=canaries is None,
        placeholder="drawn for this run", help="Of their places, coins and contents. Audits that share a seed share their coins.",
    )  # fmt: skip
    if canaries is None:
        return None
    st.warning("Do not release the audited run: canaries are among its records. Its lower bound appears with every run of the same plan.")
    return AuditDesign(num_canaries=int(canaries), kind=chosen, **({} if drawn is None else {"seed": int(drawn)}))


def show_plan(choices: Choices, settings: dict[str, Any], public: str | None) -> Plan | None:
    """The plan with its numbers and warnings, or why there is none."""
    plan = None
    try:
        plan = choices.plan(settings, public)
        plan_numbers(plan)
        plan_details(plan, PREFIX)
        same_configuration(plan.request, PREFIX)
        for warning in launch_warnings(plan):
            st.warning(prose(warning))
    except WorkbenchError as error:
        st.error(prose(error))
    return plan
