"""The Gallery page from top to bottom."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from workbench.datasets import Dataset, DatasetFacts
from workbench.errors import WorkbenchError
from workbench.escaping import prose
from workbench.evaluation import FEATURES, OUTSIDE_GUARANTEE, Neighbours
from workbench.evaluation.feature_files import feature_name, is_file
from workbench.evaluation.features import IMAGES
from workbench.pages.gallery.cards import BLINDED, ORDERS, PAGE_SIZES, chosen_samples, review_bar, show_page
from workbench.pages.gallery.copying import copying_numbers, distance_chart, search_results
from workbench.pages.gallery.queue import queue
from workbench.pages.gallery.returning import show_returning
from workbench.pages.gallery.scatter import READ, how_many, scatter, zoom
from workbench.records import Records
from workbench.runs.run import Run
from workbench.runs.samples import SampleSet
from workbench.runs.samples.imported import imports
from workbench.runs.verdicts import JUDGEMENTS, Verdicts
from workbench.ui.cards import import_marks, run_marks
from workbench.ui.example import example_notice
from workbench.ui.gallery import class_name
from workbench.ui.runs import known_runs, run_choice, set_choice, show_cautions
from workbench.ui.session import loaded_dataset
from workbench.workspace import Workspace

CARDS_SAY = (
    "Below each record stands its distance from the sample. *Suspicion* is h / (t + h), with t and h the distances to the nearest training "
    "and the nearest held-out record: 1 for a copy, one half where both are as near. More training than held-out records lift it a little "
    "without any copying: it sorts, it proves nothing."
)
HIDDEN = "Cards, distances and the enlarged sample are hidden while you judge blinded: they would tell what to expect."
PREFIX = "gallery_"
OWN_NETWORK = "a network of your own"
OF_OWN = "What a network in a file makes of an image: TorchScript (.pt) or an ExportedProgram (.pt2). Loading a file runs what is in it."


@dataclass(frozen=True)
class Look:
    """What to look at: a set of samples in a feature space, in which order, of which classes and verdicts, how many on a page.

    `attribute` is what the privacy score judges by and what cards tell, None for the class.
    """

    samples: SampleSet
    facts: DatasetFacts
    features: str
    order: str
    classes: list[str]
    judged: list[str]
    page_size: int
    attribute: str | None


def draw() -> None:
    """What to look at, how near the samples are altogether, and a page of cards to judge."""
    st.warning(OUTSIDE_GUARANTEE, icon=":material/lock:")
    finished = [run for run in known_runs() if run.state == "done"]
    elsewhere = imports(Workspace.default())
    if not finished and not elsewhere:
        st.info("No run has finished yet. Train one on the Train page, then come back.")
        example_notice(PREFIX)
        return
    try:
        look = look_choices(finished, elsewhere)
        if not look.features:
            st.info("Type where the file of your network is: on the machine that runs the workbench.")
            return
        dataset = look.samples.same_records(loaded_dataset(look.samples.place, look.facts))
        result = search_results(look.samples, look.features, look.attribute)
    except WorkbenchError as error:
        st.error(prose(error))
        return
    if result is None:
        return
    samples, neighbours, measured = result
    show_cautions(look.samples.cautions)
    copying_numbers(measured, len(samples))
    verdicts = Verdicts(Workspace.default().verdicts)
    given = verdicts.of(look.samples.owner, look.samples.id)
    review_bar(verdicts, look.samples, given, len(samples), PREFIX)
    with st.expander("How many samples must I look at?"):
        how_many(given, len(samples), PREFIX)
    wanted = chosen_samples(samples, neighbours, look.facts, look.order, look.classes, look.judged, given)
    if not wanted:
        st.info("No sample fits these filters.")
        return
    with st.expander("One at a time, by keyboard", key=f"{PREFIX}queue", bind="query-params") as one:
        if one.open:  # its keys are taken only while it is open
            queue(verdicts, look.samples, wanted, samples, dataset, neighbours, look.features)
    if one.open and st.session_state.get(BLINDED):
        st.caption(HIDDEN)
        return
    with st.expander("All samples at once, and one enlarged", key=f"{PREFIX}all", bind="query-params") as every:
        if every.open:  # thousands of points take a second to send
            enlarged(samples, neighbours, look, dataset)
    pages = -(-len(wanted) // look.page_size)
    page = st.pagination(pages, key=f"{PREFIX}page", bind="query-params") if pages > 1 else 1
    shown = wanted[(page - 1) * look.page_size : page * look.page_size]
    st.caption(CARDS_SAY)
    show_page(verdicts, look.samples, shown, samples, dataset, neighbours, given, look.attribute)
    with st.expander("Distances of all samples", key=f"{PREFIX}spread", bind="query-params") as spread:
        if spread.open:
            distance_chart(neighbours, f"{PREFIX}distances")


def enlarged(samples: Records, neighbours: Neighbours, look: Look, dataset: Dataset) -> None:
    """The chart of all samples, and one of them beside its nearest training record: the one that was clicked or typed last."""
    shown = f"{PREFIX}{look.samples.owner}_{look.samples.id}_{look.features}_{len(samples)}"  # another set has other numbers
    clicked, key, seen = scatter(neighbours, f"{shown}_scatter"), f"{PREFIX}sample", f"{shown}_clicked"
    if clicked is not None and clicked != st.session_state.get(seen):
        st.session_state[key] = clicked
    st.session_state[seen] = clicked
    if st.session_state.get(key, 0) >= len(samples):  # of a larger set
        st.session_state[key] = 0
    typed = int(st.number_input("Sample", 0, len(samples) - 1, int(neighbours.order()[0]), key=key, bind="query-params"))
    zoom(typed, samples, dataset, neighbours)
    show_returning(typed, samples, look.samples, dataset, int(neighbours.indices[typed, 0]), PREFIX)
    st.caption(READ)


def look_choices(finished: list[Run], elsewhere: Sequence[SampleSet]) -> Look:
    """A row of widgets, and the marks of the chosen run or import."""
    chosen, feature, order, klass, verdict, size = st.columns([1.7, 1, 1.4, 1, 1, 0.7])
    with chosen:
        owner = run_choice(f"{PREFIX}run", runs=finished, imports=elsewhere)
        assert owner is not None
        samples = set_choice(f"{PREFIX}samples", owner)
    facts = samples.facts
    run = next((run for run in finished if run.id == owner), None)
    run_marks(run) if run else import_marks(samples)

    def called(space: str) -> str:
        """The records themselves are compared under their kind's own name."""
        return facts.kind.feature_label if space == "pixels" else space

    spaces = [name for name, entry in FEATURES.items() if facts.kind.name in entry.kinds]
    spaces += [OWN_NETWORK] * (facts.kind.name in IMAGES)
    about = "\n".join(f"- **{called(name)}**: {FEATURES[name].description if name in FEATURES else OF_OWN}" for name in spaces)
    names = [class_name(facts, label) for label in range(facts.num_classes)]
    attribute = attribute_choice(facts)
    space = feature.selectbox("Feature space", spaces, key=f"{PREFIX}features", bind="query-params", format_func=called, help=about)
    return Look(
        samples=samples,
        facts=facts,
        features=own_network() if space == OWN_NETWORK else space,
        order=ORDERS[order.selectbox("Order", list(ORDERS), key=f"{PREFIX}order", bind="query-params")],
        classes=klass.multiselect("Class", names, key=f"{PREFIX}class", bind="query-params", placeholder="all classes"),
        judged=verdict.multiselect("Verdict", ["none yet", *JUDGEMENTS], key=f"{PREFIX}verdict", bind="query-params", placeholder="any"),
        page_size=size.selectbox("On a page", PAGE_SIZES, key=f"{PREFIX}size", bind="query-params"),
        attribute=attribute,
    )


def own_network() -> str:
    """The name of the feature space of a file that is typed in, "" until one is; never from the address, as loading a file runs it."""
    place, trust = st.columns([3, 2], vertical_alignment="bottom")
    path = place.text_input("Network's file", key=f"{PREFIX}network", placeholder="features.pt", help=OF_OWN)
    public = trust.checkbox("No private record trained it", key=f"{PREFIX}network_public", help="Else its features count as private.")
    if not path:
        return ""
    if not is_file(path):
        raise WorkbenchError(f"Expected a network in TorchScript form (.pt) or an ExportedProgram (.pt2), got {path!r}.")
    return feature_name(path, public=public)


def attribute_choice(facts: DatasetFacts) -> str | None:
    """What the privacy score judges by, where the records have attributes: one of them, or the class (None)."""
    if not facts.attributes:
        return None
    own = ["the class"] if facts.classes else []
    help_text = "The privacy score asks whether a sample and its nearest training record agree in this; each card shows it."
    chosen = st.selectbox("Attribute", [*own, *facts.attributes], key=f"{PREFIX}attribute", bind="query-params", help=help_text)
    return None if chosen == "the class" and facts.classes else chosen
