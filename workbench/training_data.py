"""The records that a plan is carried out on: the private ones that it was made for, and the public ones that its method names."""

import hashlib

import numpy as np

from workbench import datasets
from workbench.datasets import Dataset, DatasetFacts
from workbench.datasets.whose import check_public_apart, told_of
from workbench.errors import WorkbenchError
from workbench.plan import Plan
from workbench.records import Records
from workbench.training.state import State
from workbench.workspace import Workspace


def check_records(plan: Plan, dataset: Dataset) -> None:
    """Refuse records that the plan's bound does not hold for: of other facts, of another number or range than these say."""
    facts = plan.facts
    if dataset.facts != facts:
        raise WorkbenchError(f"The plan was made for {facts.name} with {facts.num_records} records, not for these records.")
    facts.check(dataset.train)


def check_apart(train: Records, public: Records) -> None:
    """Refuse public records that are private training records too: no guarantee covers what is trained on without noise."""
    private = {_digest(record) for record in train.records}
    shared = sum(_digest(record) in private for record in public.records)
    if shared:
        raise WorkbenchError(
            f"Expected public records that are no private training records, got {shared} that are. Choose other public records."
        )


def check_same(state: State, public: Records) -> None:
    """Note the public records that a fit goes by, and refuse others than it went by before.

    With others, a step that is repeated would draw the same noise over another sum, and the difference would lie open.
    """
    digest = hashlib.blake2b(digest_size=16)
    for array in (public.records, public.labels):
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    if state.public not in ("", digest.hexdigest()):
        raise WorkbenchError(
            "Expected the public images that this run began with, got others: their files, or what draws them, changed since. "
            "Put them back, or train anew."
        )
    state.public = digest.hexdigest()


def _digest(record: np.ndarray) -> bytes:
    """What stands for a record: faces and ImageNet's pictures themselves would not go into memory."""
    return hashlib.blake2b(record.tobytes(), digest_size=16).digest()


def public_dataset(plan: Plan, workspace: Workspace) -> Dataset | None:
    """The public dataset at the records' shape: the one the method pre-trains on, else the private dataset's companion, else None.

    Where the plan's classes are an attribute that its records have too, that is their label. Measures compare in its features. Naming a
    dataset as public in a configuration declares it so; one of the private records is refused.
    """
    method = plan.build()
    entry = datasets.DATASETS.get(plan.facts.name)
    name = method.public_dataset or (entry.public_companion if entry else None)
    if name is None:
        return None
    check_public_apart(name, plan.request.dataset, plan.facts)
    public = datasets.load_public(name, plan.facts.shape, method.public_records, declared_public=True, workspace=workspace)
    return public.labelled_alike(plan.facts)


def companion(facts: DatasetFacts, workspace: Workspace) -> Dataset | None:
    """The public dataset of the same classes that stands beside a private one, at the records' shape; None where there is none."""
    entry = datasets.DATASETS.get(facts.name)
    if entry is None or entry.public_companion is None:
        return None
    return datasets.load_public(entry.public_companion, facts.shape, declared_public=True, workspace=workspace).labelled_alike(facts)


def pretraining_records(plan: Plan, workspace: Workspace) -> Records | None:
    """The public records that the method pre-trains on, without labels where their classes are others; None where it uses none.

    Refused where one's own files changed since they were planned with.
    """
    if (name := plan.build().public_dataset) is None:
        return None
    check_unchanged(plan, name)
    public = public_dataset(plan, workspace)
    if public is None:
        return None
    same_classes = public.facts.classes == plan.facts.classes
    return public.train if same_classes else Records(public.train.records)


def check_unchanged(plan: Plan, public: str) -> None:
    """Refuse public files of one's own in which something else is by now than when they were planned with."""
    if plan.public and (now := told_of(public)) != plan.public:
        raise WorkbenchError(f"Expected the public images that were planned with, {plan.public}, got {now}. Plan again.")


def check_public(plan: Plan, workspace: Workspace) -> None:
    """Refuse a public dataset that is not there at this shape and number, or has the private records, before anything is written."""
    method = plan.build()
    name = method.public_dataset
    if name is None:
        return
    check_public_apart(name, plan.request.dataset, plan.facts)
    check_unchanged(plan, name)
    try:
        datasets.check_public(name, plan.facts.shape, method.public_records, workspace)
    except WorkbenchError as error:
        raise WorkbenchError(f"{error} Choose another public_dataset, or none for training without pre-training.") from None
    if method.needs_public_labels:
        check_same_classes(datasets.facts(name, plan.facts.shape, workspace=workspace), plan.facts)


def check_same_classes(public: DatasetFacts, facts: DatasetFacts) -> None:
    """Refuse public images whose labels are not the classes, where a classifier is to learn these from them."""
    if public.classes != facts.classes and public.label_of(facts) is None:
        raise WorkbenchError(
            f"Expected public images of the classes of {facts.name} for a classifier's features, got those of {public.name}. Use the "
            "space pixels, or public images of the same classes."
        )
