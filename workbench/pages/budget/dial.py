"""The epsilon dial: any epsilon on a logarithmic scale, in plain sentences."""

import math

import streamlit as st

from workbench.ui.bound_words import sentences

STEPS = tuple(float(f"{10 ** (power / 8):.2g}") for power in range(-16, 17))  # .01 to 100, eight to a power of ten


def dial_section(delta: float, start: float, prefix: str) -> None:
    """A slider over epsilons, which moves to the one nearest to `start` when that changes, and what the chosen one allows at `delta`."""
    first = min(STEPS, key=lambda step: abs(math.log(step / start))) if 0 < start < math.inf else 1.0
    key, before = f"{prefix}dial", f"{prefix}dial_of_the_plan"
    if st.session_state.get(before, first) != first:  # another plan: the dial follows it
        st.session_state[key] = first
    st.session_state[before] = first
    epsilon = st.select_slider(
        "Epsilon", STEPS, first, key=key, bind="query-params", format_func=lambda step: f"{step:g}",
        help="Turn it to see what other epsilons mean; the plan stays as it is.",
    )  # fmt: skip
    st.markdown("\n".join(f"- {sentence}" for sentence in sentences(epsilon, delta)))
