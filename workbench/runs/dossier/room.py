"""What a dossier for the room adds: verdicts, what attacks found, and the samples nearest to training records. All of it is private."""

import json
from collections import Counter
from collections.abc import Iterator

import numpy as np

from workbench.datasets import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation import Neighbours
from workbench.records import ImageKind, Records, TableKind
from workbench.records.images import png_data_uri
from workbench.runs.audits import kept_audit
from workbench.runs.dossier.values import Finding, GalleryCard, Room
from workbench.runs.finished import kept_neighbours
from workbench.runs.folder import RunFolder
from workbench.runs.games import kept_games
from workbench.runs.memberships import kept_attacks
from workbench.runs.pac_audits import PacAudit
from workbench.runs.run import Run
from workbench.runs.samples import sample_set, sample_sets
from workbench.runs.trained import dataset_of
from workbench.runs.verdicts import Verdict, Verdicts
from workbench.workspace import Workspace

CARDS, NEAREST = 12, 3
FEATURES = "pixels"


def room_of(workspace: Workspace, run: Run) -> Room:
    """All that is kept of a run and may not leave the room; nothing is searched or attacked here."""
    verdicts = Verdicts(workspace.verdicts)
    given = {one.id: verdicts.of(run.id, one.id) for one in sample_sets(workspace, run.id)}
    names = tuple(dict.fromkeys(name for one in given for name in verdicts.reviewers(run.id, one) if name))
    gallery = gallery_of(workspace, run, given.get("default", {}))
    counts = {
        name: dict(sorted(Counter(one.verdict for one in judgements.values()).items())) for name, judgements in given.items() if judgements
    }
    return Room(verdicts=counts, reviewers=names, findings=tuple(findings(workspace, run)), features=FEATURES, gallery=gallery)


def findings(workspace: Workspace, run: Run) -> Iterator[Finding]:
    """What the attacks, audits and experiments on a run found, a sentence each."""
    if (audit := kept_audit(workspace, run.id)) is not None:
        yield Finding(name="audit by canaries", words=f"At least epsilon {audit.epsilon:.4g}. {audit.words}")
    for attack in kept_attacks(workspace, run.id):
        low, high = attack.interval
        rates = "; ".join(f"true positives {point.tpr[0]:.3g} where {point.aim:g} false ones were aimed at" for point in attack.points)
        words = f"AUC {attack.auc:.3f} ({low:.3f} to {high:.3f}; chance .5) of {attack.num_members} members. {rates}."
        yield Finding(name=f"membership by {attack.score}", words=words)
    for game in kept_games(workspace, run.id):
        most = "" if game.most is None else f" The bound leaves {game.most:.3g} at most."
        low, high = game.interval
        words = (
            f"Right in {game.right} of {game.games} games: advantage {game.advantage:.3f} ({low:.3f} to {high:.3f}; 0 is guessing).{most}"
        )
        yield Finding(name=f"game by {game.score}", words=words)
    folder = RunFolder(workspace, run.id).path
    for path in sorted(folder.glob("pac-*.json")):
        pac = PacAudit.model_validate_json(path.read_text())
        rows = "; ".join(f"{row.name}: {row.mean_norm:.4g}" for row in pac.rows)
        yield Finding(name="PAC privacy (not DP)", words=f"Noise for 1 nat, beside a signal of {pac.signal:.4g}: {rows}.")
    for path in sorted(folder.rglob("copies-*.json")):
        copies = json.loads(path.read_text())
        words = f"{len(copies['extracted'])} training records are repeated by groups of samples; p of nearness {copies['near']['p']:.3g}."
        yield Finding(name=f"copies in {copies['features']}", words=words)


def gallery_of(workspace: Workspace, run: Run, given: dict[int, Verdict]) -> tuple[GalleryCard, ...]:
    """The most suspicious samples beside their nearest records; none where no neighbours were searched, or the records are gone."""
    kept = sample_set(workspace, run.id).kept_records()
    near = None if kept is None else kept_neighbours(workspace, run.id, FEATURES, len(kept))
    if kept is None or near is None:
        return ()
    try:
        dataset = dataset_of(workspace, run)
    except (WorkbenchError, OSError):
        return ()
    return tuple(_card(int(index), kept, dataset, near, given) for index in near.order()[:CARDS])


def _card(index: int, samples: Records, dataset: Dataset, near: Neighbours, given: dict[int, Verdict]) -> GalleryCard:
    return GalleryCard(
        sample=index,
        suspicion=float(near.suspicion[index]),
        verdict=given[index].verdict if index in given else "",
        generated=record_text(dataset, samples.records[index]),
        training=tuple(record_text(dataset, dataset.train.records[place]) for place in near.indices[index][:NEAREST]),
        distances=tuple(float(distance) for distance in near.distances[index][:NEAREST]),
        held_out=record_text(dataset, dataset.held_out.records[near.held_out_indices[index]]),
        held_out_distance=float(near.held_out_distances[index]),
    )


def record_text(dataset: Dataset, record: np.ndarray) -> str:
    """A record as text: a picture's address that is its own content, or a row's values."""
    kind = dataset.facts.kind
    if isinstance(kind, ImageKind):
        return png_data_uri(record)
    columns = TableKind.of(kind).columns
    return ", ".join(column.categories[value] for column, value in zip(columns, record.tolist(), strict=True))
