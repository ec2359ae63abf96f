"""The example run, where there is nothing to look at yet."""

import subprocess
from itertools import count

import streamlit as st

from workbench.jobs.example import begin_example, is_wanted
from workbench.jobs.store import RunStore
from workbench.workspace import Workspace

EXAMPLE_POLL_SECONDS = 4.0  # later than a measurement of the pace, which a reader of the Budget page waits for


def example_notice() -> None:
    """Where no run has finished, a small example: begun once the page has settled; its end draws the page anew.

    The first pass belongs to the page itself, which shares the processor with whatever it starts.
    """
    if not is_wanted(Workspace.default(), RunStore(Workspace.default()).list()):
        return
    passes = count()

    @st.fragment(run_every=EXAMPLE_POLL_SECONDS)
    def waiting() -> None:
        if not is_wanted(Workspace.default(), RunStore(Workspace.default()).list()):
            st.rerun()
        elif next(passes) == 0 or _example_at_work().poll() is None:
            st.caption("A small example run is being made, once, so that there is something to look at …")
        else:
            st.caption("The example run could not be made; `workbench example` says why.")

    waiting()


@st.cache_resource
def _example_at_work() -> "subprocess.Popen[bytes]":
    """The process that makes the example, begun once."""
    return begin_example(Workspace.default())
