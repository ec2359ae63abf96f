"""The pages of the dashboard, a folder each; the app draws the one that the address names. Adding one is a folder and a line."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import NoReturn

import streamlit as st


@dataclass(frozen=True)
class Page:
    """A page's title, its icon, and the sentence beside its heading; `public`: it shows nothing of anybody's records or runs."""

    title: str
    icon: str
    lead: str
    public: bool = False


SHOWS_PRIVATE = "shows_private"  # of a session: whether its visitor may see records and runs
VISITOR = "visitor"  # of a session: who its visitor is, as the proxy says; empty where nobody says it
PAGES: dict[str, Page] = {
    "start": Page("Start", "home", "Differentially private diffusion models: learn, budget, train, audit."),
    "budget": Page("Budget", "tune", "What a target epsilon costs, what it buys and what it means, before any record is touched."),
    "train": Page(
        "Train",
        "play_circle",
        "Choose a configuration, see what it costs before any record is touched, and launch it as a process of its own.",
    ),
    "runs": Page(
        "Runs",
        "list_alt",
        "Every run on this machine. Each is a process of its own: closing the browser or the dashboard does not touch it.",
    ),
    "gallery": Page(
        "Gallery",
        "photo_library",
        "Does the model repeat the records it was trained on? Look at its samples beside the real records that lie nearest.",
    ),
    "tables": Page(
        "Tables",
        "table_chart",
        "Do the drawn rows of a table look like the real ones? Columns and pairs of columns side by side, and the rows as files.",
    ),
    "audit": Page(
        "Audit",
        "policy",
        "How much can an attacker find out? Start an attack here as a background job, with its cost beside it. Its findings are kept.",
    ),
    "records": Page(
        "Records",
        "groups",
        "Am I in there? One record beside its nearest samples, and what tables show of each. Private: no guarantee.",
    ),
    "dossier": Page(
        "Dossier", "assignment", "What a data protection officer signs: what the workbench knows of a run, and what only people can say."
    ),
    "process": Page(
        "Process",
        "school",
        "What diffusion does to a record, and what privacy does to a step: computed here on public digits in seconds.",
        public=True,
    ),
    "claims": Page(
        "Claims",
        "fact_check",
        "Three numbers for every method, never one: what the paper claims, what is proved, what an audit measured.",
        public=True,
    ),
}


def entry(name: str, first: str = next(iter(PAGES))) -> st.Page:
    """The navigation's entry of a page, the `first` one at the root of the address.

    A page is a function of its module, imported when it is first drawn, and no script: nothing but the app can show it.
    """
    page = PAGES[name]

    def draw() -> None:
        import_module(f"workbench.pages.{name}.page").draw()

    return st.Page(draw, title=page.title, icon=f":material/{page.icon}:", url_path=name, default=name == first)


def go_to(name: str, parameters: Mapping[str, str | list[str]]) -> NoReturn:
    """Open another page with exactly these choices in its address."""
    st.switch_page(entry(name), query_params=parameters)
