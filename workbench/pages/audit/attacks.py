"""Attacks on membership by a run's model: scores with their ROC, and the game of dp-promise's Definition 4."""

import pandas as pd
import streamlit as st

from workbench.evaluation.membership import SCORES
from workbench.methods.protocols import Denoising
from workbench.pages.audit.costs import of_trainings
from workbench.pages.runs.attacks import show_attacks
from workbench.runs.games import kept_games
from workbench.runs.memberships import CALIBRATED, SHADOWS, kept_attacks, kept_file
from workbench.runs.run import Run
from workbench.ui.formats import number
from workbench.ui.jobs import needed_job
from workbench.ui.words import explained
from workbench.workspace import Workspace

COSTS = {
    "quantile": "Costs as much as `loss`, and a regression of seconds.",
    "lira": f"Costs {SHADOWS} trainings of this run's plan.",
}
PASSES = "Costs some tens of passes of the model over at most 1,000 training and 1,000 held-out records."
GAME = (
    "A coin is tossed: on heads the adversary sees a training record, on tails another one. It knows the model and says which. "
    "Advantage 0 is guessing, 1 is always right."
)
NO_MODEL = "This method's model makes no prediction for a given record, so there is no score. An audit by canaries takes any method."
AUDITED = "Some training records of an audited run took no part. Score its canaries instead."


def attackable(run: Run) -> bool:
    """Whether scores can be taken of a run; says why where they cannot."""
    refusal = AUDITED if run.audit is not None else "" if isinstance(run.plan.build(), Denoising) else NO_MODEL
    if refusal:
        st.info(refusal)
    return not refusal


def membership_section(run: Run, prefix: str) -> None:
    """A score, the job that takes it, and the curves of all that were taken."""
    if not attackable(run):
        return
    names = [*SCORES, *CALIBRATED]
    about = explained("membership inference", "The score tells members from others.")
    score = st.selectbox("Score", names, key="audit_score", bind="query-params", help=about)
    path = kept_file(Workspace.default(), run.id, f"{score}-{SHADOWS}" if score == "lira" else score, 0)
    if not path.exists():
        st.caption(COSTS.get(score, PASSES) + (of_trainings(run, SHADOWS) if score == "lira" else ""))
        request = {"score": score, "seed": 0, **({"shadows": SHADOWS} if score == "lira" else {})}
        needed_job("membership", run.id, request, f"{prefix}membership_", "Attack")
    if kept_attacks(Workspace.default(), run.id):
        show_attacks(run.id, prefix)


def game_section(run: Run, prefix: str) -> None:
    """How many games, the job that plays them, and what came of all that were played."""
    st.caption(GAME, help=explained("membership inference"))
    if not attackable(run):
        return
    score, count = st.columns(2)
    by = score.selectbox("Score", list(SCORES), key="audit_game_score", bind="query-params")
    games = count.number_input("Games", 10, 1_000_000, 200, step=10, key="audit_games", bind="query-params")
    results = kept_games(Workspace.default(), run.id)
    if not any(one.score == by and one.games == games for one in results):
        st.caption(PASSES)
        needed_job("game", run.id, {"score": by, "games": int(games), "seed": 0}, f"{prefix}game_", "Play")
    if results:
        rows = [
            {
                "Score": one.score,
                "Games": one.games,
                "Right (private)": one.right,
                "Advantage (private)": f"{number(one.advantage)} ({number(one.interval[0])} to {number(one.interval[1])})",
                "The bound leaves at most": number(one.most),
            }
            for one in results
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True, alt=f"{len(rows)} series of games on run {run.id}")
        st.caption("Intervals are Clopper and Pearson's at 95 %, over the games on this one training.")
