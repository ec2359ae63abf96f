"""Delta beside what others take: 1/n, 1/n^2, the default here and what papers publish, and what each costs the same plan."""

import math
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from workbench.escaping import prose
from workbench.plan import Plan
from workbench.privacy import proved_bound
from workbench.serialization import dumps
from workbench.ui.formats import number

PUBLISHED = 1e-5  # what most papers of this workbench print, whatever the number of their records
NIST = (
    "[NIST SP 800-226](https://doi.org/10.6028/NIST.SP.800-226) takes epsilon and delta together, as parameters of one guarantee, beside "
    "the unit of privacy and the neighbours; the dossier follows its order. The workbench holds no copy of its text and quotes no number "
    "from it: read what it says of these parameters before you sign."
)
SAYS = (
    "A mechanism that publishes each record with chance delta, and nothing else, has epsilon 0 at that delta: n times delta is how many "
    "whole records the bound allows to be published on average. At 1/n that is one."
)


def delta_section(plan: Plan) -> None:
    """A row for each convention, with the proved epsilon of this very plan at it."""
    frame = delta_frame(dumps(plan))
    st.dataframe(frame, hide_index=True, alt=f"Proved epsilon of the plan at {len(frame)} values of delta")
    st.caption(prose(SAYS))
    st.caption(NIST)


def conventions(num_records: int) -> Mapping[str, float]:
    """Delta by what it is called, for n records."""
    return {
        "1/n: too large, for comparison": 1 / num_records,
        "1/(n ln n): the default here": 1 / (num_records * math.log(num_records)),
        "1e-5: as most papers print it": PUBLISHED,
        "1/n²: no record at all": num_records**-2.0,
    }


@st.cache_data(max_entries=60, show_spinner="Bounding at other deltas …")
def delta_frame(plan_json: str) -> pd.DataFrame:
    """Columns Delta, Value, Proved epsilon, Times n; the plan's own first."""
    plan = Plan.model_validate_json(plan_json)
    known = {"this plan": plan.delta} | dict(conventions(plan.num_records))
    return pd.DataFrame(
        [
            {
                "Delta": name,
                "Value": number(delta),
                "Proved epsilon": number(proved_bound(plan.stages, delta).epsilon, 4),
                "Times n": number(delta * plan.num_records),
            }
            for name, delta in known.items()
        ]
    )
