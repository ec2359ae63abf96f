"""Audits of runs that were trained with canaries: the measured lower bound, kept beside the run, and found for every equal plan."""

import math
import time
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.errors import DamagedFileError, WorkbenchError
from workbench.files import write_text_atomically
from workbench.methods.protocols import Denoising
from workbench.plan import Plan
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.attacks.canaries import AuditDesign
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.selection import Selection
from workbench.runs.store import RunStore
from workbench.runs.threads import few_threads
from workbench.runs.trained import dataset_of, load_state, trained_run
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.evaluation.membership import Report
    from workbench.models.denoising import Denoiser
    from workbench.records import Records

RELATION = "REPLACE_SPECIAL"  # a canary that does not join is a null record


class AuditRecord(BaseModel):
    """What an audit of a run measured, at the run's delta: lower bounds without and with an assumption, and their ceilings.

    `epsilon` is the one-run bound, which assumes nothing of the mechanism and is the third number; `f_dp_epsilon` holds for mechanisms
    with a Gaussian trade-off curve. A ceiling is what the same audit says when every guess is right. `bound` and `claim` are the run's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    run: str
    method: str
    dataset: str
    design: AuditDesign
    score: str
    num_correct: int
    epsilon: float
    ceiling: float
    f_dp_epsilon: float
    f_dp_ceiling: float
    delta: float
    bound: float
    claim: float
    seeded: bool = True  # a record that does not say stays in the room
    created: float

    @property
    def is_alarm(self) -> bool:
        """Whether the attack did what the bound says that none can, but for a chance of 1 - confidence."""
        return self.epsilon > self.bound

    @property
    def may_leave(self) -> bool:
        """Whether the numbers are made of the audited run's releases and of canaries that are nobody's: then its bound covers them.

        Canaries of kind "labels" hold private records.
        """
        return self.design.kind != "labels" and not self.seeded and math.isfinite(self.bound)

    @property
    def alarm(self) -> str:
        """What an alarm says; empty if there is none."""
        if not self.is_alarm:
            return ""
        return (
            f"ALARM: an audit measured at least epsilon {self.epsilon:.4g} at {self.design.confidence:.0%} confidence, above the bound of "
            f"{self.bound:.4g}. Either the code or the proof is wrong, or chance was against it: audit again with another seed."
        )

    @property
    def value(self) -> PrivacyValue:
        """The third number."""
        return PrivacyValue(
            epsilon=self.epsilon,
            delta=self.delta,
            status="measured",
            neighboring_relation=RELATION,
            reason=" ".join(filter(None, [self.alarm, self.words])),
            source=f"audit of run {self.run}",
        )

    @property
    def words(self) -> str:
        """How it was measured, what could have come out at most, and what it says of the claim."""
        above = self.epsilon > self.claim
        return (
            f"Run {self.run}: {self.num_correct} of {self.design.guesses} guesses right about {self.design.num_canaries} canaries "
            f"({self.design.kind}) by {self.score}, at {self.design.confidence:.0%} confidence. With every guess right it would say "
            f"{self.ceiling:.4g}. For Gaussian trade-off curves: {self.f_dp_epsilon:.4g}, at most {self.f_dp_ceiling:.4g}."
            + (f" That is above the paper's claim of {self.claim:.4g}." if above else "")
        )


def audit_run(workspace: Workspace, run_id: str, report: "Report | None" = None) -> AuditRecord:
    """Measure a finished audited run, and keep what was found; what is kept is not measured again."""
    if (kept := kept_audit(workspace, run_id)) is not None:
        return kept
    run = trained_run(workspace, run_id)
    design = design_of(run)
    with few_threads():
        name, scores = audit_scores(workspace, run, design, report or _ignore_progress)
    correct, one, gaussian = design.judged_guesses(scores, run.delta)
    record = AuditRecord(
        run=run.id,
        method=run.method,
        dataset=run.plan.facts.name,
        design=design,
        score=name,
        num_correct=correct,
        epsilon=one.epsilon,
        ceiling=one.ceiling,
        f_dp_epsilon=gaussian.epsilon,
        f_dp_ceiling=gaussian.ceiling,
        delta=run.delta,
        bound=run.bound.epsilon,
        claim=run.claim.epsilon,
        seeded=run.seed is not None,
        created=time.time(),
    )
    write_text_atomically(RunFolder(workspace, run.id).audit, dumps(record, indent=2))
    return record


def design_of(run: Run) -> AuditDesign:
    """The run's audit; refused for a run without one."""
    if run.audit is None:
        raise WorkbenchError(f"Expected a run that was trained with canaries, got {run.id}. `workbench train ... --audit-canaries N`.")
    return run.audit


def audit_scores(workspace: Workspace, run: Run, design: AuditDesign, report: "Report") -> tuple[str, np.ndarray]:
    """What the score is, and that of every canary, small for a member: by the model's losses, else by its samples.

    Where a model of public data alone was kept, its score is taken off: what is left is what private training has changed.
    """
    from workbench.evaluation.membership import sample_distance
    from workbench.runs.samples import sample_set

    canaries, method = design.canaries(dataset_of(workspace, run)), run.plan.build()
    if not isinstance(method, Denoising):
        return "the distance to the nearest sample", sample_distance(
            run.plan.facts, sample_set(workspace, run.id).records(progress=report), canaries
        )
    state = load_state(workspace, run, seed=0)
    parts = 2 if method.has_public_model else 1
    scores = _losses(method.denoiser(state), canaries, design, run, lambda share: report(share / parts))
    name = "its losses over time steps" + (" under its label less those under others" if design.kind == "labels" else "")
    if parts == 1:
        return name, scores
    before = _losses(method.denoiser(state, "public"), canaries, design, run, lambda share: report((1 + share) / 2))
    return f"{name}, less those of the model before private training", scores - before


def kept_audit(workspace: Workspace, run_id: str) -> AuditRecord | None:
    """What the audit of a run found, or None."""
    path = RunFolder(workspace, run_id).audit
    if not path.exists():
        return None
    try:
        return AuditRecord.model_validate_json(path.read_text())
    except ValidationError:
        raise DamagedFileError(f"Expected an audit in {path}, got a damaged file. Move it away: it is measured anew.") from None


def audits(workspace: Workspace) -> list[tuple[Run, AuditRecord]]:
    """All runs whose audit has been measured, newest first."""
    pairs = ((run, kept_audit(workspace, run.id)) for run in RunStore(workspace).select(Selection(audited=True)))
    return [(run, record) for run, record in pairs if record is not None]


def audit_of(workspace: Workspace, plan: Plan) -> AuditRecord | None:
    """The newest audit of a run by an equal plan: not the largest, as choosing by what came out would cost the confidence."""
    return next((record for run, record in audits(workspace) if run.plan.does_the_same_as(plan)), None)


def _losses(denoiser: "Denoiser", canaries: "Records", design: AuditDesign, run: Run, report: "Report") -> np.ndarray:
    from workbench.evaluation.membership import label_advantage, loss_score

    if design.kind == "labels":
        return label_advantage(loss_score, denoiser, canaries, run.plan.facts.num_classes, design.seed, report)
    return loss_score(denoiser, canaries, design.seed, report)


def _ignore_progress(_share: float) -> None:
    """For who wants no report of progress."""
