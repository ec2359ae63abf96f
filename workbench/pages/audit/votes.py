"""What PATE's analysis gives by the teachers' true votes, beside the worst case and the proved bound: for whoever holds the records."""

import streamlit as st

from workbench.escaping import prose
from workbench.privacy.not_dp.vote_gaps import VoteGapEpsilon
from workbench.runs.run import Run
from workbench.runs.vote_gaps import NONE, OF_WHAT, PRIVATE, kept_votes, offering, tells_votes
from workbench.ui.formats import number
from workbench.ui.jobs import needed_job
from workbench.ui.privacy_charts import OnAxis, numbers_on_axis
from workbench.workspace import Workspace

COSTS = "Costs seconds: the votes of all rounds were kept with the run, and nothing is trained."


def votes_section(run: Run, prefix: str) -> None:
    """The job that reads the votes, and the three numbers."""
    if not tells_votes(run.plan):
        st.info(prose(f"This method has no votes of teachers. Methods that have: {', '.join(offering())}. {NONE}"))
        return
    kept = kept_votes(Workspace.default(), run.id)
    if kept is None:
        st.caption(COSTS)
        needed_job("votes", run.id, {}, f"{prefix}votes_", "Look at the votes")
        return
    st.error(PRIVATE)
    numbers_on_axis(on_axis(run, kept), f"{prefix}votes_axis")
    st.caption(f"{kept.queries:,} votes, all numbers at delta {number(kept.delta)}. {OF_WHAT}")


def on_axis(run: Run, votes: VoteGapEpsilon) -> list[OnAxis]:
    """The proved bound, and both numbers of the analysis."""
    return [
        OnAxis("upper bound", run.bound.epsilon),
        OnAxis("same formulas, at worst", votes.worst_case),
        OnAxis("by true votes (private)", votes.epsilon),
    ]
