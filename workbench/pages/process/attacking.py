"""The panel in which the visitor is the attacker."""

import numpy as np
import pandas as pd
import streamlit as st
from PIL import Image

from workbench.evaluation.intervals import wilson
from workbench.pages.process.choices import validated_choices
from workbench.teaching.attacking import (
    AVERAGED,
    OTHERS,
    RUNS,
    SAMPLES,
    SHOWN,
    AttackChoices,
    AttackOutcome,
    attack,
    best_curve,
    bound_curve,
    right_at_most,
    visitor_rates,
)  # fmt: skip
from workbench.ui import charts
from workbench.ui.formats import deviations, number
from workbench.ui.gallery import picture, sheet
from workbench.ui.part_page import show_parts
from workbench.ui.parts import Beside, Chart, Guesses, Part, Words
from workbench.ui.theme import BLUE, GREEN, GREY, VERMILION
from workbench.ui.words import explained

TITLE = "You are the attacker"
LEAD = "Two data sets differ in one record. You see what a run shows: did the record take part?"
SAYS = (
    f"Every run trains class-moments, a method of this workbench without a network, on {OTHERS} zeros and, if a fair coin says so, the "
    "record that you see. {looks} Say how sure you are; your curve joins the others once you have seen runs of both kinds."
)
BEST = "the score of the best attack, which knows all other records and what the run released"
ON_PAGE = f"You may look at the mean of {AVERAGED} samples of each run, at {SAMPLES} of them, or at {BEST}."
IN_FILE = f"You see the mean of {AVERAGED} samples of each run beside {SAMPLES} of them, and after your guess {BEST}."
LOOKS = {"mean": "the samples' mean", "samples": "samples", "score": "a score"}
RATINGS = {"1": "Surely not", "2": "Rather not", "3": "Could be", "4": "Rather yes", "5": "Surely yes"}
GIVEN = "process_given"  # in the address: the ratings so far, a digit each
VISITOR = 4  # the trace of the visitor's curve


def choose(prefix: str) -> AttackChoices:
    """The epsilon of the runs and their seed; what was guessed of other runs is forgotten."""
    epsilon, seed, _ = st.columns([1, 1, 3])

    def forget() -> None:
        st.query_params.pop(GIVEN, None)

    return validated_choices(
        AttackChoices,
        epsilon=epsilon.number_input(
            "Epsilon of each run", 0.1, 1000.0, 10.0, 5.0, format="%g", key=f"{prefix}epsilon", bind="query-params", on_change=forget,
            help=explained("epsilon"),
        ),
        seed=seed.number_input("Runs number", 0, 10_000, 0, key=f"{prefix}seed", bind="query-params", on_change=forget),
    )  # fmt: skip


def show(choices: AttackChoices, prefix: str) -> None:
    """The run that is to be guessed, the answers to those before, and the curves."""
    trial, given = attack(choices), ratings()
    st.markdown(SAYS.format(looks=ON_PAGE))
    ask, curves = st.columns([1, 1.2])
    with ask:
        _ask(trial, given, prefix)
    with curves:
        show_parts([roc_chart(trial, given), Words(best_words(trial))], prefix)


def parts(choices: AttackChoices) -> list[Part]:
    """The same for a file, which asks by itself."""
    trial = attack(choices)
    pictures = [beside(mean, samples) for mean, samples in zip(trial.means, trial.samples, strict=True)]
    target = sheet(np.stack([trial.target, trial.others]), 2, 96)
    game = Guesses(pictures, trial.scores[:SHOWN].tolist(), trial.took_part[:SHOWN].tolist(), target, "attacking_roc", VISITOR)
    return [Words(SAYS.format(looks=IN_FILE)), Beside([[game], [roc_chart(trial, []), Words(best_words(trial))]])]


def beside(mean: np.ndarray, samples: np.ndarray) -> Image.Image:
    """The mean of a run's samples, and some of them, in one picture."""
    left, right = picture(mean, 130), sheet(samples, SAMPLES // 2, 64).convert("RGB")
    canvas = Image.new("RGB", (left.width + 12 + right.width, max(left.height, right.height)), GREY)
    canvas.paste(left.convert("RGB"), (0, 0))
    canvas.paste(right, (left.width + 12, 0))
    return canvas


def ratings() -> list[int]:
    """What has been guessed so far, as the address has it."""
    return [int(letter) for letter in st.query_params.get(GIVEN, "") if letter in RATINGS][:SHOWN]


def _ask(trial: AttackOutcome, given: list[int], prefix: str) -> None:
    by = st.segmented_control(
        "Look at", list(LOOKS), default="mean", required=True, key=f"{prefix}by", bind="query-params", format_func=LOOKS.__getitem__
    )
    run = len(given)
    record, others, seen = st.columns([1, 1, 2])
    record.image(picture(trial.target, 96), width=96, caption="The record", alt="The record that may have taken part", output_format="PNG")
    others.image(
        picture(trial.others, 96),
        width=96,
        caption="The others",
        alt=f"The mean of the other {OTHERS} records, which you know",
        output_format="PNG",
    )
    with seen:
        if run == SHOWN:
            st.success("You have guessed all runs.")
        elif by == "mean":
            words = f"Run {run + 1} of {SHOWN}: mean of {AVERAGED} samples"
            st.image(picture(trial.means[run], 128), width=128, caption=words, alt=words, output_format="PNG")
        elif by == "samples":
            shown = sheet(trial.samples[run], SAMPLES // 3, 48)
            st.image(
                shown,
                width=shown.width,
                caption=f"Run {run + 1} of {SHOWN}: {SAMPLES} samples",
                alt=f"Samples of run {run + 1}",
                output_format="PNG",
            )
        else:
            st.metric(f"Run {run + 1} of {SHOWN}: score of the best attack", f"{trial.scores[run]:.2f}", help="Above 0: rather yes.")
            st.caption(f"With the record it is {trial.mu**2 / 2:.2f} on average, without it {-(trial.mu**2) / 2:.2f}.")
    _buttons(given, prefix)
    st.markdown(answer_words(trial, given))


def _buttons(given: list[int], prefix: str) -> None:
    with st.container(horizontal=True, gap="small"):
        for rating, words in RATINGS.items():
            st.button(words, key=f"{prefix}rate_{rating}", on_click=_give, args=([*given, int(rating)],), disabled=len(given) == SHOWN)
    with st.container(horizontal=True, gap="small"):
        st.button("Undo", key=f"{prefix}undo", icon=":material/undo:", on_click=_give, args=(given[:-1],), disabled=not given)
        st.button("Start again", key=f"{prefix}again", icon=":material/restart_alt:", on_click=_give, args=([],), disabled=not given)


def _give(given: list[int]) -> None:
    st.query_params[GIVEN] = "".join(map(str, given))


def answer_words(trial: AttackOutcome, given: list[int]) -> str:
    """The truth about the last run, and how often the visitor was right."""
    if not given:
        return "Nothing guessed yet."
    truth = trial.took_part[: len(given)]
    said = [rating > 3 for rating in given if rating != 3]
    right = sum(guess == there for guess, there in zip(said, truth[[rating != 3 for rating in given]], strict=True))
    last = f"**Run {len(given)}**: you said “{RATINGS[str(given[-1])]}”. {'It took part.' if truth[-1] else 'It did not take part.'}"
    if not said:
        return last
    low, high = wilson(right / len(said), len(said))
    return f"{last} Right so far: {right} of {len(said)} ({low:.0%} to {high:.0%} at 95%), those that could be left out."


def best_words(trial: AttackOutcome) -> str:
    """What the best attack reaches, and what no attack exceeds."""
    right = float(((trial.scores > 0) == trial.took_part).mean())
    return (
        f"The bound is epsilon {number(trial.plan.bound.epsilon)} at delta {number(trial.plan.delta)}. The best attack on this record was "
        f"right on {right:.0%} of {2 * RUNS} runs; no attack on any record can be right on more than {right_at_most(trial.plan):.0%}. This "
        f"record moves the releases by {deviations(trial.mu)} of their noise. Guessing blindly is right on 50%. The "
        f"stepped line is of {RUNS} runs with the record and as many without: by chance it may cross a curve."
    )


def roc_chart(trial: AttackOutcome, given: list[int]) -> Chart:
    """Bound, best attack in theory and over the runs, blind guessing, and the visitor; the last trace is `VISITOR`."""
    figure = charts.empty_figure("False-positive rate", "True-positive rate")
    rates, most = bound_curve(trial.plan)
    theory, measured, own = best_curve(trial.mu)[1], trial.best, visitor_rates(given, trial.took_part.tolist())
    figure.add_scatter(x=[0, 1], y=[0, 1], name="blind guessing", mode="lines", line={"color": GREY, "dash": "dash", "width": 2})
    figure.add_scatter(x=rates.tolist(), y=most.tolist(), name="no attack exceeds", mode="lines", line={"color": BLUE, "width": 2.5})
    line = {"color": GREEN, "dash": "dot", "width": 2.5}
    figure.add_scatter(x=rates.tolist(), y=theory.tolist(), name="best attack on this record", mode="lines", line=line)
    line = {"color": GREEN, "width": 1.5, "shape": "hv"}
    figure.add_scatter(x=[x for x, _ in measured], y=[y for _, y in measured], name="the same, on these runs", mode="lines", line=line)
    marker = {"size": 11, "symbol": "diamond", "color": VERMILION}
    figure.add_scatter(
        x=[x for x, _ in own], y=[y for _, y in own], name="you", mode="lines+markers", marker=marker, line={"color": VERMILION, "width": 2}
    )
    figure.update_traces(hovertemplate="%{y:.3g}")
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%").update_yaxes(range=[0, 1.02], tickformat=".0%")
    figure.update_layout(height=380)
    table = pd.DataFrame({"false-positive rate": rates, "no attack exceeds": most, "best attack on this record": theory})
    alt = f"ROC curves at epsilon {number(trial.plan.bound.epsilon)}: the bound's, the best attack's, and yours after {len(given)} guesses"
    return Chart("attacking_roc", figure, alt, table)
