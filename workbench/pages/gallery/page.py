"""The Gallery page from top to bottom."""

from dataclasses import dataclass

import streamlit as st

from workbench.datasets import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.evaluation import FEATURES, OUTSIDE_GUARANTEE
from workbench.jobs.run import Run
from workbench.jobs.trained import same_records
from workbench.jobs.verdicts import JUDGEMENTS, Verdicts
from workbench.pages.gallery.cards import ORDERS, PAGE_SIZES, chosen_samples, review_bar, show_page
from workbench.pages.gallery.copying import copying_numbers, distance_chart, find_now
from workbench.ui.cards import run_marks
from workbench.ui.example import example_notice
from workbench.ui.gallery import class_name
from workbench.ui.runs import known_runs, run_choice
from workbench.ui.session import loaded_for
from workbench.workspace import Workspace

PREFIX = "gallery_"


@dataclass(frozen=True)
class Look:
    """What to look at: a run's samples in a feature space, in which order, of which classes and verdicts, how many on a page."""

    run: Run
    facts: DatasetFacts
    features: str
    order: str
    classes: list[str]
    judged: list[str]
    page_size: int


def draw() -> None:
    """What to look at, how near the samples are altogether, and a page of cards to judge."""
    st.warning(OUTSIDE_GUARANTEE, icon=":material/lock:")
    finished = [run for run in known_runs() if run.state == "done"]
    if not finished:
        st.info("No run has finished yet. Train one on the Train page, then come back.")
        example_notice()
        return
    look = look_choices(finished)
    try:
        dataset = same_records(Workspace.default(), look.run, loaded_for(look.run))
        samples, neighbours = find_now(look.run.id, look.features)
    except WorkbenchError as error:
        st.error(markdown(error))
        return
    copying_numbers(look.run.id, look.features, len(samples))
    verdicts = Verdicts(Workspace.default().verdicts)
    given = verdicts.of(look.run.id)
    review_bar(verdicts, look.run.id, given, len(samples), PREFIX)
    wanted = chosen_samples(samples, neighbours, look.facts, look.order, look.classes, look.judged, given)
    if not wanted:
        st.info("No sample fits these filters.")
        return
    pages = -(-len(wanted) // look.page_size)
    page = st.pagination(pages, key=f"{PREFIX}page", bind="query-params") if pages > 1 else 1
    shown = wanted[(page - 1) * look.page_size : page * look.page_size]
    show_page(verdicts, look.run.id, shown, samples, dataset, neighbours, given)
    with st.expander("Distances of all samples"):
        distance_chart(neighbours, f"{PREFIX}distances")


def look_choices(finished: list[Run]) -> Look:
    """A row of widgets, and the marks of the chosen run."""
    chosen, feature, order, klass, verdict, size = st.columns([1.7, 1, 1.4, 1, 1, 0.7])
    with chosen:
        run_id = run_choice(f"{PREFIX}run", runs=finished)
    run = next(run for run in finished if run.id == run_id)
    facts = run.plan.facts
    run_marks(run)
    spaces = [name for name, entry in FEATURES.items() if facts.kind.name in entry.kinds]
    about = "\n".join(f"- **{name}**: {FEATURES[name].description}" for name in spaces)
    names = [class_name(facts, label) for label in range(facts.num_classes)]
    return Look(
        run=run,
        facts=facts,
        features=feature.selectbox("Feature space", spaces, key=f"{PREFIX}features", bind="query-params", help=about),
        order=ORDERS[order.selectbox("Order", list(ORDERS), key=f"{PREFIX}order", bind="query-params")],
        classes=klass.multiselect("Class", names, key=f"{PREFIX}class", bind="query-params", placeholder="all classes"),
        judged=verdict.multiselect("Verdict", ["none yet", *JUDGEMENTS], key=f"{PREFIX}verdict", bind="query-params", placeholder="any"),
        page_size=size.selectbox("On a page", PAGE_SIZES, key=f"{PREFIX}size", bind="query-params"),
    )
