"""Gallery: every generated record beside its nearest training records and its nearest held-out record, with a person's verdict."""

import streamlit as st

from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.evaluation import FEATURES, OUTSIDE_GUARANTEE
from workbench.jobs import verdicts
from workbench.jobs.finished import same_records
from workbench.plan import Plan
from workbench.ui.cards import run_marks
from workbench.ui.copying import copying_numbers, distance_chart, find_now
from workbench.ui.gallery import class_name
from workbench.ui.gallery_page import ORDERS, PAGE_SIZES, chosen_samples, review_bar, show_page
from workbench.ui.runs import example_notice, known_runs, run_choice
from workbench.ui.session import loaded_for

PREFIX = "gallery_"

st.warning(OUTSIDE_GUARANTEE, icon=":material/lock:")

finished = [run for run in known_runs() if run.state == "done"]
if not finished:
    st.info("No run has finished yet. Train one on the Train page, then come back.")
    example_notice()
    st.stop()

chosen, feature, order, klass, verdict, size = st.columns([1.7, 1, 1.4, 1, 1, 0.7])
with chosen:
    run_id = run_choice(f"{PREFIX}run", runs=finished)
assert run_id is not None
run = next(run for run in finished if run.id == run_id)
facts = Plan.model_validate(run.plan).facts
run_marks(run)

spaces = [name for name, entry in FEATURES.items() if facts.kind in entry.kinds]
about = "\n".join(f"- **{name}**: {FEATURES[name].description}" for name in spaces)
space = feature.selectbox("Feature space", spaces, key=f"{PREFIX}features", bind="query-params", help=about)
ordering = order.selectbox("Order", list(ORDERS), key=f"{PREFIX}order", bind="query-params")
class_names = [class_name(facts, label) for label in range(facts.num_classes)]
classes = klass.multiselect("Class", class_names, key=f"{PREFIX}class", bind="query-params", placeholder="all classes")
judged = verdict.multiselect("Verdict", ["none yet", *verdicts.JUDGEMENTS], key=f"{PREFIX}verdict", bind="query-params", placeholder="any")
page_size = size.selectbox("On a page", PAGE_SIZES, key=f"{PREFIX}size", bind="query-params")

try:
    dataset = same_records(run, loaded_for(run))
    samples, neighbours = find_now(run_id, space)
except WorkbenchError as error:
    st.error(markdown(error))
    st.stop()

copying_numbers(run_id, space, len(samples))
given = verdicts.verdicts(run_id)
review_bar(run_id, given, len(samples), PREFIX)
wanted = chosen_samples(samples, neighbours, facts, ORDERS[ordering], classes, judged, given)
if not wanted:
    st.info("No sample fits these filters.")
    st.stop()
pages = -(-len(wanted) // page_size)
page = st.pagination(pages, key=f"{PREFIX}page", bind="query-params") if pages > 1 else 1
shown = wanted[(page - 1) * page_size : page * page_size]
show_page(run_id, shown, samples, dataset, neighbours, given)
with st.expander("Distances of all samples"):
    distance_chart(neighbours, f"{PREFIX}distances")
