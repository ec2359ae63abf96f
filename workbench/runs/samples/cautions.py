"""What a reader has to know of samples wherever they are shown: what may stand in the records' place, and what cannot be in them.

Nothing here compares with a private record: a sentence may leave wherever the samples may.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.evaluation.prior_likeness import ALIKE, COMPARED, FEWEST
from workbench.files import write_text_atomically
from workbench.methods.base import Method
from workbench.methods.cluster_moments.method import ClusterMoments
from workbench.methods.proposed import ENOUGH
from workbench.methods.votes_and_clusters.method import VotesAndClusters
from workbench.plan import Plan
from workbench.records.base import Records
from workbench.records.tables import TableKind
from workbench.runs.samples.request import SamplesRequest

FILE, NOISE_FILE = "prior.json", "noise.json"
OUTWEIGHED = 0.5  # of what samples vary by: the part that noise alone would give, from which on they are said to be noise
NOTICED = 0.3  # the same part, from which on they are said to be partly noise
NAMED = 5  # classes or categories that are named one by one
EXPECTED = 20  # samples for each category of a column, from which on a category that none of them has is worth a word
CLASSES_LOST = 0.9  # of what differs between classes: the part that noise alone would give, from which on they are said to be lost
EQUAL_SHARES = "Classes come in equal shares, not in those that they have among the records."
RELEASED_SHARES = "Classes come in the shares that noisy counts of the records give them."
CHOSEN = (
    "The records only chose among public images of {public}, by what noise left of them: where none of these looks like them, samples "
    "look like the public images and not like the records."
)
SIDE_BY_SIDE = (
    "About {share:.0%} of these samples are public images of {public} that the records only chose, by what noise left of them: where none "
    "of these looks like the records, nor do they. The others are drawn from mixtures of Gaussians."
)
LOOKS_ALIKE = (
    "These samples look like the public prior: within a class they vary as the model did that knew public images of {public} alone (cosine "
    "of covariances {cosine:.2f}, alike from {alike:g} on). Shapes in them come from there, unless the records happen to have the same."
)
TOO_FEW = (
    "Too few samples to tell whether they only look like public images of {public}, from which the model began: {fewest} are needed, "
    "{count} are there."
)
MOSTLY_NOISE = (
    "These samples are mostly noise: about {share:.0%} of what they were made from is noise, as far as what was released tells. "
    "More records, a larger epsilon or fewer numbers to release would help."
)
PARTLY_NOISE = (
    "These samples are partly noise: about {share:.0%} of what they were made from is noise, as far as what was released tells, and more "
    "than that of their finer structure."
)
CLASSES_ARE_NOISE = (
    "These samples hardly show what tells their classes apart: about {share:.0%} of the differences between classes in what was released "
    "is noise. More records, fewer classes or a larger epsilon would help."
)
SOME_ARE_NOISE = (
    "Samples of {classes} are mostly noise: about {share:.0%} or more of what each of these classes is made from is noise, as far as what "
    "was released tells. More records of them or a larger epsilon would help."
)
NO_SHAPES = (
    "{which} can show no shapes: they are made of the {count} coarsest frequencies of each side alone, so that nothing in them is "
    "smaller than about {part:.0%} of a side. More records or a larger epsilon leave more frequencies above the noise."
)
MISSING = (
    "None of these {count:,} rows has {categories}, which the declaration names: what few records have is the first to be lost in noise. "
    "Records may have what is missing here."
)
NOT_COMPARED = "Not compared yet with public images of {public}, from which the model began: samples may look like these alone."

NoiseShares = tuple[float | None, float | None, tuple[float, ...] | None]  # of everything, of what differs between classes, by class


@dataclass(frozen=True)
class Measures:
    """What was found out about a set of samples without its records, each None where it is not known.

    Cosine of covariances with samples of the public prior; the part of what samples are made from that is noise; the same of the
    differences between classes, and of what each class is made from.
    """

    likeness: float | None = None
    noise: float | None = None
    class_noise: float | None = None
    by_class: tuple[float, ...] | None = None


def of_samples(plan: Plan, request: SamplesRequest, samples: Records | None, measures: Measures) -> tuple[str, ...]:
    """What to know of samples by a request, of which this was found out; of none, what their plan says."""
    try:
        method = plan.build()
    except WorkbenchError as error:  # of a version whose releases were others
        return (f"Whether samples show something public in the place of the records is not known. {error}",)
    of_plan = (of_shares(method, plan, request), of_choice(method), of_detail(method, plan.facts))
    if not samples:
        return tuple(filter(None, (*of_plan, of_noise(measures, plan.facts.classes))))
    beside = of_prior(method, len(samples), measures.likeness) if method.has_public_model else ""
    return tuple(filter(None, (*of_plan, beside, of_noise(measures, plan.facts.classes), of_missing(plan.facts, request, samples))))


def of_preview(plan: Plan) -> tuple[str, ...]:
    """What to know of samples of a run that is under way, which nothing is compared with."""
    try:
        method = plan.build()
    except WorkbenchError:  # the run cannot go on, and says so
        return ()
    begun = NOT_COMPARED.format(public=method.public_dataset) if method.has_public_model else ""
    return tuple(filter(None, (of_shares(method, plan, SamplesRequest()), of_choice(method), of_detail(method, plan.facts), begun)))


def of_shares(method: Method, plan: Plan, request: SamplesRequest) -> str:
    """That classes are drawn evenly, where several are drawn and the model does not draw them itself; of images, if it does too."""
    classes = len(request.labels) or plan.facts.num_classes
    if not method.draws_labels or classes < 2:
        return ""
    if request.has_own_labels(method):
        return RELEASED_SHARES if plan.facts.kind.name == "image" else ""
    return EQUAL_SHARES


def of_choice(method: Method) -> str:
    """That images, or a part of them, are public ones that the records chose, where they are."""
    if isinstance(method, VotesAndClusters):
        return SIDE_BY_SIDE.format(share=method.config.share_of_drawings, public=method.public_dataset)
    return CHOSEN.format(public=method.public_dataset) if method.selects_public else ""


def of_detail(method: Method, facts: DatasetFacts) -> str:
    """That images are made of so few frequencies that no shape can be seen in them; empty where they are not."""
    if isinstance(method, VotesAndClusters):
        mixtures, which = method.config.clusters, "Those of these samples that are no public images"
    elif isinstance(method, ClusterMoments):
        mixtures, which = method.config, "These samples"
    else:
        return ""
    count = min(mixtures.coarse_shape(facts)[1:])
    return NO_SHAPES.format(which=which, count=count, part=1 / count) if count < min(ENOUGH, *facts.shape[1:]) else ""


def of_missing(facts: DatasetFacts, request: SamplesRequest, samples: Records) -> str:
    """Which declared categories none of the rows has, where there are enough rows to miss them; ranges of numbers are not named.

    Nor are classes where some were asked for.
    """
    if not isinstance(facts.kind, TableKind):
        return ""
    columns = [(column.name, column.categories, column.num_ranges) for column in facts.kind.columns]
    values = [*samples.records.T]
    if samples.labels is not None and not request.labels:
        columns.append((facts.kind.label, facts.classes, 0))
        values.append(samples.labels)
    missing = []
    for (name, categories, ranges), numbers in zip(columns, values, strict=True):
        if len(samples) >= EXPECTED * len(categories):
            absent = np.flatnonzero(np.bincount(numbers, minlength=len(categories)) == 0)
            missing += [f"{name} {categories[place]!r}" for place in absent if place >= ranges]
    return MISSING.format(count=len(samples), categories=_listed(missing)) if missing else ""


def cautions_and_numbers(plan: Plan, request: SamplesRequest, samples: Records, measures: Measures) -> dict[str, Any]:
    """The same beside exported samples, with the numbers that it rests on, which nobody can compute without the weights."""
    numbers: dict[str, Any] = {"prior_likeness": measures.likeness, "noise_share": measures.noise}
    numbers |= {"class_noise_share": measures.class_noise, "noise_by_class": measures.by_class}
    return numbers | {"cautions": of_samples(plan, request, samples, measures)}


def measures_in(notes: Mapping[str, Any]) -> Measures | None:
    """The numbers beside exported samples; None where one of them is no number."""
    shares = [notes.get(name) for name in ("prior_likeness", "noise_share", "class_noise_share")]
    by_class = notes.get("noise_by_class")
    has_shares = by_class is None or (isinstance(by_class, list) and all(isinstance(share, float) for share in by_class))
    if not has_shares or not all(value is None or isinstance(value, float) for value in shares):
        return None
    likeness, noise, class_noise = shares
    return Measures(likeness, noise, class_noise, None if by_class is None else tuple(by_class))


def of_prior(method: Method, count: int, likeness: float | None) -> str:
    """What is known of `count` samples beside the prior of a method that has one, None if not compared; empty where they differ."""
    named = {"public": method.public_dataset, "count": count, "fewest": FEWEST}
    if count < FEWEST:
        return TOO_FEW.format(**named)
    if likeness is None:
        return NOT_COMPARED.format(**named)
    return LOOKS_ALIKE.format(**named, cosine=likeness, alike=ALIKE) if likeness >= ALIKE else ""


def of_noise(measures: Measures, classes: Sequence[str] = ()) -> str:
    """That noise outweighs what was released, or what tells classes apart in it, or some of `classes`, or can be seen beside it.

    A few noisy classes make most of what tells all of them apart: these are named then, and the others not blamed.
    """
    if measures.noise is not None and measures.noise >= OUTWEIGHED:
        return MOSTLY_NOISE.format(share=measures.noise)
    noisy = noisy_classes(measures.by_class or (), classes)
    if len(noisy) in (0, len(classes)) and measures.class_noise is not None and measures.class_noise >= CLASSES_LOST:
        return CLASSES_ARE_NOISE.format(share=measures.class_noise)
    partly = PARTLY_NOISE.format(share=measures.noise) if measures.noise is not None and measures.noise >= NOTICED else ""
    return " ".join(filter(None, (of_noisy_classes(noisy), partly)))


def noisy_classes(shares: Sequence[float], classes: Sequence[str]) -> dict[str, float]:
    """Those of `classes` that are mostly noise, with the part of noise in what each is made from, of such `shares` (classes,)."""
    return {name: share for name, share in zip(classes, shares, strict=bool(shares)) if share >= OUTWEIGHED}


def of_noisy_classes(noisy: Mapping[str, float]) -> str:
    """That these classes are mostly noise; empty where there are none."""
    if not noisy:
        return ""
    return SOME_ARE_NOISE.format(classes=_listed([repr(name) for name in noisy]), share=min(noisy.values()))


def kept(folder: Path) -> Measures:
    """All that was kept of a set of samples."""
    return Measures(kept_likeness(folder), *kept_noise(folder))


def kept_likeness(folder: Path) -> float | None:
    """The likeness to the prior as it was kept, or None."""
    path = folder / FILE
    return float(json.loads(path.read_text())["cosine"]) if path.exists() else None


def is_due(folder: Path, count: int) -> bool:
    """Whether `count` samples are enough to compare, and more than were compared before, as far as that matters."""
    path = folder / FILE
    before = int(json.loads(path.read_text())["compared"]) if path.exists() else 0
    return min(count, COMPARED) > before and count >= FEWEST


def keep(folder: Path, cosine: float, compared: int) -> None:
    """Write down how alike the first `compared` samples are to the prior."""
    write_text_atomically(folder / FILE, json.dumps({"cosine": cosine, "compared": compared}))


def kept_noise(folder: Path) -> NoiseShares:
    """The shares of noise as they were kept; all None where none was."""
    path = folder / NOISE_FILE
    if not path.exists():
        return None, None, None
    share, class_share, by_class = json.loads(path.read_text()).values()
    return share, class_share, None if by_class is None else tuple(by_class)


def keep_noise(folder: Path, shares: NoiseShares) -> None:
    """Write down which parts of what samples are made from noise alone would give."""
    names = ("share", "class_share", "by_class")
    write_text_atomically(folder / NOISE_FILE, json.dumps(dict(zip(names, shares, strict=True))))


def _listed(names: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])
