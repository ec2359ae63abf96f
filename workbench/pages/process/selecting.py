"""The panel of a private selection."""

import numpy as np
import pandas as pd
import streamlit as st

from workbench.pages.process.choices import validated_choices
from workbench.teaching.selecting import OF_EACH, PUBLIC, SHOWN, Round, SelectionChoices, select
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.gallery import sheet
from workbench.ui.parts import Beside, Chart, Frames, Part, Pictures, Words
from workbench.ui.theme import BLUE, ORANGE
from workbench.ui.words import explained

TITLE = "A private selection"
LEAD = "Records vote for public drawings; only noisy votes are published. What do a few rounds of that learn?"
SAYS = (
    f"Round 0 shows drawn digits, which cost nothing: {OF_EACH} candidates of each class out of {PUBLIC:,}. In a round every record votes "
    "for the candidates nearest to it, noise is added to the counts, and the next candidates are drawn from those with votes, and varied. "
    f"Above: of each class the {SHOWN} with the most noisy votes."
)


def choose(prefix: str) -> SelectionChoices:
    """Epsilon, rounds, noise, and the round that is looked at."""
    epsilon, rounds, seed, _ = st.columns([1, 1, 1, 2])
    return validated_choices(
        SelectionChoices,
        epsilon=epsilon.number_input(
            "Epsilon of all rounds", 0.05, 100.0, 2.0, 1.0, format="%g", key=f"{prefix}epsilon", bind="query-params",
            help=explained("epsilon"),
        ),
        rounds=rounds.number_input("Rounds", 1, 8, 4, key=f"{prefix}rounds", bind="query-params"),
        seed=seed.number_input("Noise number", 0, 10_000, 0, key=f"{prefix}seed", bind="query-params"),
    )  # fmt: skip


def look(prefix: str, choices: SelectionChoices) -> int:
    """The round that is looked at, the last unless another is chosen."""
    rounds = list(range(choices.rounds + 1))
    left, _ = st.columns(2)
    return left.select_slider("After round", rounds, rounds[-1], key=f"{prefix}after", bind="query-params")


def parts(choices: SelectionChoices, after: int | None = None) -> list[Part]:
    """The favourites after a round, its noisy votes, and what the rounds have cost."""
    rounds = select(choices)
    chosen = len(rounds) - 1 if after is None else min(after, len(rounds) - 1)

    def seen(place: int) -> list[Part]:
        one = rounds[place]
        picture = Pictures([("", sheet(one.images, 2 * SHOWN, 44))], f"Favourites of each class after round {one.number}")
        return [Words(words(one)), picture]

    votes, spent = rounds[max(1, chosen)], spending_chart(rounds)
    return [
        Frames("After round", [f"round {one.number}" for one in rounds], chosen, seen),
        Words(SAYS),
        Beside(
            [
                [Words(f"Noisy votes of round {votes.number}", is_heading=True), votes_chart(votes)],
                [Words("What the rounds have cost", is_heading=True), spent],
            ]
        ),
    ]


def words(one: Round) -> str:
    """What a round has found and what has been spent."""
    if one.number == 0:
        return "Before the first vote: public drawings, epsilon 0."
    return (
        f"After round {one.number}: {one.above:.0%} of the candidates stand above the noise; proved epsilon so far {number(one.epsilon)}."
    )


def votes_chart(one: Round) -> Chart:
    """How many votes candidates have, sorted within all classes together."""
    counts = np.sort(one.votes.ravel())[::-1]
    figure = charts.empty_figure("Candidate, by its noisy votes", "Noisy votes")
    figure.add_bar(x=list(range(1, len(counts) + 1)), y=counts.tolist(), marker={"color": BLUE, "line": {"width": 0}}, showlegend=False)
    figure.update_traces(hovertemplate="%{x}: %{y:.1f}<extra></extra>")
    figure.update_layout(height=300, bargap=0)
    table = pd.DataFrame({"candidate": range(1, len(counts) + 1), "noisy votes": counts})
    return Chart("selecting_votes", figure, f"Noisy votes of {len(counts)} candidates after round {one.number}, sorted", table)


def spending_chart(history: tuple[Round, ...]) -> Chart:
    """Proved epsilon over the rounds."""
    figure = charts.empty_figure("Rounds", "Proved epsilon")
    rounds, spent = [one.number for one in history], [one.epsilon for one in history]
    figure.add_scatter(x=rounds, y=spent, mode="lines+markers", line={"color": ORANGE, "width": 2.5}, marker={"size": 9}, showlegend=False)
    figure.update_traces(hovertemplate="%{y:.3g}<extra></extra>")
    figure.update_xaxes(tickmode="linear", tick0=0, dtick=1).update_yaxes(rangemode="tozero")
    figure.update_layout(height=300)
    alt = f"Proved epsilon over rounds, {number(spent[-1])} after {rounds[-1]}"
    return Chart("selecting_spent", figure, alt, pd.DataFrame({"round": rounds, "proved epsilon": spent}))
