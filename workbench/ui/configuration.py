"""The same configuration as a command, a script, a notebook and a request, wherever a plan is shown."""

from functools import partial

import streamlit as st

from workbench.request import Request
from workbench.runs.scripts import command_line, notebook, script
from workbench.ui.on_demand import on_demand


def same_configuration(request: Request, prefix: str) -> None:
    """A command to copy, and files to take along; each makes this very request."""
    on_demand("The same as a command, script or notebook", f"{prefix}same", partial(_forms, request, prefix))


def _forms(request: Request, prefix: str) -> None:
    st.code(command_line(request), language=None, wrap_lines=True)
    st.caption("Each of them makes this request, and so the same plan. `workbench train --request FILE` takes the request itself.")
    with st.container(horizontal=True):
        name = f"{request.method}-{request.preset}"
        st.download_button("Script", script(request), f"{name}.py", "text/x-python", key=f"{prefix}script", on_click="ignore")
        st.download_button(
            "Notebook", notebook(request), f"{name}.ipynb", "application/x-ipynb+json", key=f"{prefix}notebook", on_click="ignore"
        )
        st.download_button("Request", request.text, f"{name}.json", "application/json", key=f"{prefix}request", on_click="ignore")
    st.code(request.text, language=None, wrap_lines=True)
