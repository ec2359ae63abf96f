"""A privacy value as a card: what is claimed, what is proved, what an audit measured, side by side and never mixed."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from workbench.datasets.base import DatasetFacts
from workbench.escaping import markdown, prose
from workbench.methods import METHODS
from workbench.methods.protocols import offered_features
from workbench.plan import Plan
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.values import PrivacyValue
from workbench.runs.audits import audit_of
from workbench.runs.run import Run
from workbench.runs.samples import SampleSet
from workbench.ui.choices import default_config
from workbench.ui.formats import number, words
from workbench.ui.forms import show_value
from workbench.ui.on_demand import on_demand
from workbench.ui.theme import CLAIM_WORDS, STATE_COLOURS, STATUS_COLOURS, STATUS_WORDS
from workbench.ui.words import explained, explained_all
from workbench.workspace import Workspace

MOST_NUMBERS = 4
REPLACED = "The epsilon of the same releases where one record is replaced by another, which tells more than that one is absent."
GUARANTEES = ("proved", "approximation")  # statuses that need no reason in sight: the first is one, the second says what it is


def three_numbers(
    claim: PrivacyValue, bound: PrivacyValue, audit: PrivacyValue | None = None, replace_one: PrivacyValue | None = None, ceiling: str = ""
) -> None:
    """The paper's claim, the proved upper bound and the measured lower bound in three cards of equal weight.

    `replace_one` is the bound's value where one record is replaced by another, as large as the headline beside it; `ceiling` is what the
    audit could have said at most. A lower bound above the upper one is an alarm.
    """
    claimed, proved, measured = st.columns(3)
    with claimed:
        value_card("Paper's claim", claim, explained("claim", "Not a guarantee by itself."), words=CLAIM_WORDS)
    with proved:
        beside = replace_one is not None and replace_one.neighboring_relation != bound.neighboring_relation
        meaning = explained("bound", "This is the smallest that this workbench can prove.")
        value_card("Upper bound", bound, meaning, other=replace_one if beside else None)
    with measured:
        if audit is None:
            empty_card(
                "Audit", "No audit of this configuration has been run. An audit measures a lower bound by attacking a trained model."
            )
        else:
            value_card("Audit", audit, explained("lower bound"), note=ceiling)
            if audit.epsilon > bound.epsilon:
                st.error(prose(audit.reason))


def planned_numbers(plan: Plan, claim: PrivacyValue, bound: PrivacyValue, replace_one: PrivacyValue | None) -> None:
    """The three numbers where there is a plan: the third is of the newest audit of an equal one, with its run's id.

    Whom they speak of stands above them.
    """
    st.caption(protects(plan.facts))
    audit = audit_of(Workspace.default(), plan)
    if audit is None:
        three_numbers(claim, bound, replace_one=replace_one)
    else:
        ceiling = f"run {audit.run}; this audit could say {number(audit.ceiling)} at most"
        three_numbers(claim, bound, audit.value, replace_one, ceiling)


def protects(facts: DatasetFacts) -> str:
    """Whom a bound speaks of, a record or a person with several rows, in a sentence of Markdown."""
    if facts.persons is not None:
        return markdown(f"Every epsilon here protects {facts.unit}; {facts.persons.number:,} persons take part.")
    row = ", which is one row: somebody with several rows is protected less" if facts.kind.name == "table" else ""
    return markdown(f"Every epsilon here protects {facts.unit}{row}.")


def value_card(
    heading: str,
    value: PrivacyValue,
    meaning: str,
    note: str = "",
    other: PrivacyValue | None = None,
    words: Mapping[str, str] = STATUS_WORDS,
) -> None:
    """One epsilon with its status in words, delta, accountant and neighboring relation; behind a button, sampling, reason and source.

    `meaning` says what kind of epsilon it is, in Markdown. A value that is no guarantee says why on the card itself. `other` is the
    value where one record is replaced.
    """
    with st.container(border=True, height="stretch", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{heading}**", width="content")
            st.badge(words[value.status], color=STATUS_COLOURS[value.status])
        with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
            st.metric("Epsilon", epsilon_text(value), help=meaning, width="content")
            if other is not None:
                st.metric("One record replaced", epsilon_text(other), help=explained("neighbours", REPLACED), width="content")
            _grounds(value)
        facts = {"delta": f"delta {number(value.delta)}", "accountant": value.accountant, "neighbours": relation_words(value)}
        shown = {word: fact for word, fact in facts.items() if fact and fact != "none"}
        st.caption(" · ".join(shown.values()), help=explained_all(*shown))
        if note:
            st.caption(markdown(note))
        if value.reason and value.status not in GUARANTEES:
            st.caption(markdown(value.reason))


def _grounds(value: PrivacyValue) -> None:
    """Sampling assumption, reason and source behind a button."""
    grounds = {"Sampling": value.sampling, "Reason": value.reason, "Source": value.source}
    given = [f"**{name}**: {markdown(text)}" for name, text in grounds.items() if text and text != "none"]
    if given:
        with st.popover("Why"):
            st.markdown("\n\n".join(given))


def empty_card(heading: str, text: str) -> None:
    """A card of the same shape that says why no lower bound was measured."""
    with st.container(border=True, height="stretch", gap="xsmall"):
        st.markdown(f"**{heading}**")
        st.metric("Epsilon", "–", help=explained("lower bound"))
        st.caption(text)


def epsilon_text(value: PrivacyValue, digits: int = 4) -> str:
    """The number, or what stands in its place: ∞ where there is no finite bound, a dash where nothing was evaluated."""
    return "–" if value.status == "not_evaluated" else number(value.epsilon, digits)


def releasable_mark(releasable: bool, reason: str = "") -> None:
    """Whether something may leave the room, in a badge with what marks mean and the reason on hover."""
    about = explained("mark", reason)
    if releasable:
        st.badge("samples and weights may be released", icon=":material/lock_open:", color="green", help=about)
    else:
        st.badge("do not share", icon=":material/lock:", color="orange", help=about)


def run_marks(run: Run) -> None:
    """Badges of one run in one line: what it is, its state, claim only, example, releasable."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"**{run.id}** · {run.method} on {markdown(run.dataset)}")
        st.badge(run.state, color=STATE_COLOURS[run.state])
        if run.claim_only:
            st.badge("claim only", color="red", help=explained("claim", "No finite bound is proved for this run."))
        if run.example:
            st.badge("example", color="violet", help="A small run made on first use so that no page is empty.")
        if run.audit is not None:
            st.badge(
                "audited",
                color="orange",
                help=explained("audit", "This run has canaries among its records: train another by the same plan to release."),
            )
        if run.seed is not None:
            st.badge(f"seed {run.seed}", color="orange", help=explained("seed"))
        releasable_mark(run.may_be_released, run.release_reason)


def import_marks(samples: SampleSet) -> None:
    """Badges of samples made elsewhere in one line: what they are, that no epsilon is known of them, that they stay in the room."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"**{samples.owner}** · {markdown(samples.summary)}, for {markdown(samples.facts.name)}")
        st.badge("epsilon: none known", color="red", help=samples.release_reason)
        releasable_mark(samples.releasable, samples.release_reason)


def price_of_samples(bound: PrivacyValue) -> None:
    """That drawing samples is to be paid for, and the run's bound with them."""
    st.warning(markdown(f"Drawing these samples touches private records: the run is at epsilon {number(bound.epsilon)} with them."))


def plan_numbers(plan: Plan) -> None:
    """A plan's three numbers and its warnings."""
    planned_numbers(plan, plan.claim, plan.bound, plan.replace_one)
    for warning in plan.warnings:
        st.warning(prose(warning))
    if plan.claim_only:
        st.warning("Claim only: a finite claim without a finite bound. Nothing made with this configuration is releasable.")


def plan_details(plan: Plan, prefix: str) -> None:
    """What a plan sets and what it will release, before any record is touched; what its method offers that is no DP.

    Keys of widgets begin with `prefix`.
    """
    calibrated_line(plan)
    if lines := offered_features(plan.build()):
        st.caption("  \n".join(f"Not protected: {line}" for line in lines))
    on_demand("What will be released, and what each accountant says", f"{prefix}releases", partial(_releases, plan))
    said = "Every value of the configuration"
    on_demand("Calibrated configuration", f"{prefix}calibrated", partial(configuration_table, plan.config, said))


def _releases(plan: Plan) -> None:
    st.dataframe(stage_table(plan), hide_index=True, alt="Releases of the plan in order")
    st.dataframe(accountant_table(plan.accountants), hide_index=True, alt="Epsilon of the plan by accountant")


def configuration_table(config: Mapping[str, Any], alt: str) -> None:
    """Every value of a configuration, in a table that a reader scrolls through."""
    st.dataframe(config_table(config), hide_index=True, alt=alt, height=320)


def calibrated_line(plan: Plan) -> None:
    """What calibration and overrides have set, each as a number of its own."""
    changed = config_table(differing_values(plan.config, default_config(METHODS[plan.method], plan.facts, plan.preset)))[:MOST_NUMBERS]
    if changed:
        st.markdown("**Calibrated and chosen settings**")
        for column, row in zip(st.columns(MOST_NUMBERS), changed, strict=False):
            column.metric(words(row["Field"]), row["Value"])


def differing_values(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The entries of `values` that differ from `defaults`, nested dicts compared entry by entry."""
    changed: dict[str, Any] = {}
    for name, value in values.items():
        default = defaults.get(name)
        if isinstance(value, dict) and isinstance(default, dict):
            inner = differing_values(value, default)
            if inner:
                changed[name] = inner
        elif value != default:
            changed[name] = value
    return changed


def stage_table(plan: Plan) -> list[dict[str, Any]]:
    """A row for each release: what it costs, how often, how it samples, and why the event describes it."""
    spends = {"once": "once", "per_step": "every step", "free": "nothing"}
    drawn = () if plan.sampling is None else plan.sampling.releases
    rows = [(stage, stage.name, spends[stage.spent]) for stage in plan.releases]
    rows += [(stage, f"{stage.name} (drawing samples)", f"{spends[stage.spent]}, for each part drawn") for stage in drawn]
    return [
        {"Stage": name, "Spends": spent, "Steps": stage.steps, "Sampling": stage.sampling, "Why": stage.reason}
        for stage, name, spent in rows
    ]


def config_table(config: Mapping[str, Any], prefix: str = "") -> list[dict[str, str]]:
    """A configuration as rows of field and value, nested fields by dotted name."""
    rows: list[dict[str, str]] = []
    for name, value in config.items():
        if isinstance(value, Mapping):
            rows += config_table(value, f"{prefix}{name}.")
        else:
            rows.append({"Field": f"{prefix}{name}", "Value": show_value(value)})
    return rows


def accountant_table(accountants: Mapping[str, Any]) -> list[dict[str, str]]:
    """Rows of what each accountant says: a number, or that it refused and why."""
    return [
        {
            "Accountant": ACCOUNTANTS[name].title,
            "Epsilon": "refused" if isinstance(value, Mapping) else number(float(value), 4),
            "Note": str(value["refused"]) if isinstance(value, Mapping) else ACCOUNTANTS[name].meaning,
        }
        for name, value in accountants.items()
    ]


def relation_words(value: PrivacyValue) -> str:
    """Which two data sets a value compares: "replace special"; empty where it does not say."""
    return value.neighboring_relation.lower().replace("_", " ")
