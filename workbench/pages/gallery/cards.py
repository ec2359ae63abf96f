"""One page of the gallery: which samples it shows, their cards, and the verdicts given so far."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from workbench.datasets import Dataset, DatasetFacts
from workbench.escaping import markdown
from workbench.evaluation import Neighbours
from workbench.pages import VISITOR
from workbench.pages.gallery.parts import Picture, neighbour_card, verdict_controls
from workbench.records import Records, TableKind
from workbench.runs.samples import DEFAULT, SampleSet, sample_set
from workbench.runs.verdicts import JUDGEMENTS, LONGEST_NAME, Verdict, Verdicts
from workbench.ui.actions import errors_shown
from workbench.ui.formats import number
from workbench.ui.gallery import class_name
from workbench.ui.words import explained

ORDERS = {"most suspicious first": "suspicion", "nearest to training first": "distance", "as drawn": "drawn"}
PAGE_SIZES = (12, 24, 48)
KEPT_NAME = "It is kept, with the day, beside each verdict that you give."
BLINDED = "gallery_blinded"  # whether samples are judged without knowing how suspicious they are


def chosen_samples(
    samples: Records,
    neighbours: Neighbours,
    facts: DatasetFacts,
    order: str,
    classes: Sequence[str],
    judged: Sequence[str],
    given: dict[int, Verdict],
) -> list[int]:
    """Indices of the samples of the wanted classes and verdicts (empty: all), in the wanted order."""
    orders = {"suspicion": neighbours.order, "distance": lambda: np.argsort(neighbours.distances[:, 0], kind="stable")}
    positions = orders[order]().tolist() if order in orders else list(range(len(samples)))
    if classes and samples.labels is not None:
        positions = [index for index in positions if class_name(facts, samples.labels[index]) in classes]
    if judged:
        positions = [index for index in positions if (given[index].verdict if index in given else "none yet") in judged]
    return positions


def reviewer_of(prefix: str) -> str:
    """The reviewer's name: who the proxy says is looking, else as it was typed; empty where nobody said."""
    return str(st.session_state.get(VISITOR) or st.session_state.get(f"{prefix}reviewer") or "").strip()[:LONGEST_NAME]


def review_bar(verdicts: Verdicts, chosen: SampleSet, given: dict[int, Verdict], total: int, prefix: str) -> None:
    """Whose verdicts are given; how many samples have one, of which kind; take back the last, and export all; how far reviewers agree."""
    counts = Counter(verdict.verdict for verdict in given.values())
    summary = ", ".join(f"{counts[judgement]} {judgement}" for judgement in JUDGEMENTS)
    with st.container(horizontal=True, vertical_alignment="center"):
        reviewer_choice(prefix)
        st.progress(len(given) / total if total else 0.0, text=f"{len(given)} of {total:,} samples looked at: {summary}")
        st.button(
            "Undo the last verdict",
            key=f"{prefix}undo",
            icon=":material/undo:",
            disabled=not given,
            on_click=take_back,
            args=(verdicts, chosen, reviewer_of(prefix) or None),
        )
        st.download_button(
            "Verdicts as CSV", verdicts.export_csv(chosen.owner, chosen.id), f"verdicts-{_name(chosen)}.csv", "text/csv",
            key=f"{prefix}csv", icon=":material/download:", disabled=not given, on_click="ignore",
        )  # fmt: skip

    for agreement in verdicts.agreements(chosen.owner, chosen.id):
        kappa = "none" if agreement.kappa is None else number(agreement.kappa)
        if agreement.interval is not None:
            kappa += f" (95 %: {number(agreement.interval[0])} to {number(agreement.interval[1])})"
        both = f"{agreement.first} and {agreement.second} said the same of {agreement.same} of {agreement.both} samples"
        st.caption(markdown(f"{both}; Cohen's kappa: {kappa}."), help=explained("kappa"))


def reviewer_choice(prefix: str) -> None:
    """A field for the reviewer's name; nobody gives verdicts in the name of another where a proxy says who is looking."""
    if st.session_state.get(VISITOR):
        st.caption(markdown(f"Reviewer: {reviewer_of(prefix)}"), width=220, help=KEPT_NAME)
        return
    st.text_input(
        "Reviewer", key=f"{prefix}reviewer", bind="query-params", placeholder="reviewer's name", max_chars=LONGEST_NAME, width=220,
        label_visibility="collapsed", help=f"{KEPT_NAME} The address carries it: whoever opens your link writes a name of their own.",
    )  # fmt: skip


def take_back(verdicts: Verdicts, chosen: SampleSet, reviewer: str | None) -> None:
    """Undo the latest verdict on a set of samples, of this reviewer where one is named."""
    with errors_shown():
        verdicts.undo(chosen.owner, chosen.id, reviewer)


def judge(verdicts: Verdicts, chosen: SampleSet, index: int, said: str, note: str, kept_as: str = "") -> None:
    """Keep a verdict on a sample, unless its run was deleted while it was looked at; `kept_as` is the set's id where it is another."""
    with errors_shown():
        sample_set(chosen.workspace, chosen.owner, chosen.id)
        verdicts.judge(chosen.owner, index, said, note, kept_as or chosen.id, reviewer_of("gallery_"))


def _name(chosen: SampleSet) -> str:
    """The set in file names and keys of widgets."""
    return chosen.owner if chosen.id == DEFAULT else f"{chosen.owner}-{chosen.id}"


def show_page(
    verdicts: Verdicts,
    chosen: SampleSet,
    shown: Sequence[int],
    samples: Records,
    dataset: Dataset,
    neighbours: Neighbours,
    given: dict[int, Verdict],
    attribute: str | None = None,
) -> None:
    """A card for each sample in `shown`, as its kind of record is shown."""
    card = CARDS[dataset.facts.kind.name]
    with st.grid(columns="auto", min_column_width=card.least_width, border=True):
        for index in shown:
            with st.container():
                card.draw(index, samples, dataset, neighbours, attribute)
                _verdict(verdicts, chosen, index, given.get(index))


def sample_heading(index: int, samples: Records, facts: DatasetFacts, neighbours: Neighbours) -> str:
    """Which sample a card shows, of which class, how suspicious; while samples are judged blinded its class alone."""
    klass = "" if samples.labels is None else f" · class {class_name(facts, samples.labels[index])}"
    if st.session_state.get(BLINDED):
        return f"Sample{klass}"
    return f"Sample {index}{klass} · suspicion {number(float(neighbours.suspicion[index]), 2)}"


def distance_told(distance: float) -> str:
    """A distance, which is not told while samples are judged blinded: that of a copy would say so."""
    return "" if st.session_state.get(BLINDED) else number(float(distance))


def value_told(records: Records, position: int, facts: DatasetFacts, attribute: str | None) -> str:
    """A record's value of an attribute in words, as "smile yes"; empty where it carries none."""
    values = records.attributes.get(attribute) if attribute else None
    return "" if values is None or attribute is None else f"{attribute} {facts.attributes[attribute][int(values[position])]}"


def _image_card(index: int, samples: Records, dataset: Dataset, neighbours: Neighbours, attribute: str | None) -> None:
    facts, heading = dataset.facts, sample_heading(index, samples, dataset.facts, neighbours)
    value_text = value_told(samples, index, facts, attribute)
    heading = f"{heading} · {value_text}" if value_text else heading
    training = [
        _neighbour(f"training record {position}, rank {rank}", dataset.train, position, distance, facts, attribute)
        for rank, (position, distance) in enumerate(zip(neighbours.indices[index], neighbours.distances[index], strict=True), start=1)
    ]
    position, distance = neighbours.held_out_indices[index], neighbours.held_out_distances[index]
    held_out = _neighbour(f"held-out record {position}", dataset.held_out, position, distance, facts, attribute)
    neighbour_card(heading, Picture(samples.records[index], "\u00a0", f"Generated {heading.lower()}"), training, held_out)


def _neighbour(what: str, records: Records, position: int, distance: float, facts: DatasetFacts, attribute: str | None) -> Picture:
    klass = "" if records.labels is None else f", class {class_name(facts, records.labels[position])}"
    text, value_text = distance_told(distance), value_told(records, position, facts, attribute)
    description = ", ".join(filter(None, [f"Nearest {what}{klass}", value_text, text and f"at distance {text}"]))
    return Picture(records.records[position], ", ".join(filter(None, [value_text, text])) or "\u00a0", description)


def _row_card(index: int, samples: Records, dataset: Dataset, neighbours: Neighbours, _attribute: str | None) -> None:
    heading = sample_heading(index, samples, dataset.facts, neighbours)
    st.markdown(f"**{markdown(heading)}**")
    nearest, held_out = neighbours.indices[index], neighbours.held_out_indices[[index]]
    rows = samples.take(np.array([index])).followed_by(dataset.train.take(nearest)).followed_by(dataset.held_out.take(held_out))
    distances = [distance_told(distance) for distance in (*neighbours.distances[index], neighbours.held_out_distances[index])]
    names = [*(f"training {rank}" for rank in range(1, len(nearest) + 1)), "held-out"]
    frame = TableKind.of(dataset.facts.kind).frame(rows, dataset.facts.classes)
    frame.index = pd.Index(
        ["generated", *(f"{name}, at {distance}" if distance else name for name, distance in zip(names, distances, strict=True))],
        name="record",
    )
    st.dataframe(frame, alt=f"{heading}, with its nearest records as rows")


@dataclass(frozen=True)
class Card:
    """How a sample is shown beside its neighbours: `draw(index, samples, dataset, neighbours, attribute)`, at least so many pixels wide."""

    least_width: int
    draw: Callable[[int, Records, Dataset, Neighbours, str | None], None]


CARDS = {"image": Card(540, _image_card), "table": Card(640, _row_card)}  # by the names of KINDS


def _verdict(verdicts: Verdicts, chosen: SampleSet, index: int, given: Verdict | None) -> None:
    verdict, note = (given.verdict, given.note) if given else (None, "")
    if given is not None and given.reviewer:
        st.caption(markdown(f"{given.reviewer}, {time.strftime('%Y-%m-%d', time.gmtime(given.time))}"))
    verdict_controls(
        f"gallery_{_name(chosen)}_{index}",
        f"sample {index}",
        verdict,
        note,
        lambda said, text: judge(verdicts, chosen, index, said, text),
    )
