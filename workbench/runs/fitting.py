"""One attempt at a run inside the worker: data, state, ledger, the loop, checkpoints, and the end."""

import errno
import os
import time
from typing import Any

import torch

from workbench import experiment
from workbench.errors import WorkbenchError
from workbench.jobs.away.post import Post
from workbench.jobs.heartbeat import Progress, StoppedError, StopSignal
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import bound_of
from workbench.runs.account import Account
from workbench.runs.early import why_not_early
from workbench.runs.folder import RunFolder
from workbench.runs.recorder import MetricsWriter, Previews, SpentEpsilon
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.runs.trained import dataset_of
from workbench.training.checkpoints import LoadedCheckpoint, environment, load_checkpoint, save_checkpoint
from workbench.training.distributed import process_group, shared_randomness, shared_values
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings, State, save_atomically
from workbench.workspace import Workspace

CHECKPOINT_SECONDS = 30.0
CHECKPOINT_SHARE = 20.0  # checkpoints take at most one part in this of the time


class FitAttempt:
    """Everything one attempt holds. The first checkpoint, and with it the noise key, is on the disk before the first step."""

    def __init__(self, workspace: Workspace, run: Run, progress: Progress, stop: StopSignal) -> None:
        self.workspace, self.id, self.attempt = workspace, run.id, run.attempt
        self.progress, self.stop = progress, stop
        self.folder, self.post = RunFolder(workspace, run.id), Post.of(workspace, run.id, run.attempt)
        self.ledger = Ledger(workspace.ledger)  # with what processes elsewhere have charged that had the run before
        self.plan, self.ends_early = run.plan, run.ends_early
        self.plan.check()
        self.dataset = dataset_of(workspace, run)
        self.trained_on = self.dataset if run.audit is None else run.audit.applied_to(self.dataset)
        performance = PerformanceSettings.model_validate(run.performance)
        if performance.num_threads:
            torch.set_num_threads(performance.num_threads)
        self.method = self.plan.build()
        self.stages = self.plan.stages
        self.group = process_group()
        self.state = experiment.new_state(self.plan, performance, run.seed, self._spend, self.group)
        self.state.keep_size = self.folder.keep_size
        named, public = (run.dataset, self.plan.method), self.plan.public_images
        self.ledger.open_run(run.id, run.fingerprint, *named, self.stages, self.plan.delta, account=self.plan.facts.name, public=public)
        self.ledger.note_records(run.fingerprint, self.dataset.record_hashes(workspace.key))
        self.account = Account(self.ledger, run, self.stages, progress, self.post.journal if self.post else None)
        self._saved_sizes: dict[str, int] = {}
        self._noise_is_new = False  # the checkpoints so far hold another key, or are of another environment

    def run(self) -> dict[str, Any]:
        """Train from wherever the run stands; returns the fields to record."""
        self.account.recover()
        if self.folder.model.exists() and not self.folder.checkpoint.exists():
            return self._conclude()  # a former attempt ended between taking its checkpoint away and saying so
        self._restore()
        if self.ends_early:
            return self._end_early()
        if self.group is not None:
            torch.distributed.barrier(group=self.group)
        share_start(self.state)
        self._prepare_counts()
        self._write_checkpoint()
        self.folder.note_environment(self.attempt, environment(self.state))
        self._announce()
        if not self.stop:
            self._train()
        if self.stop.taken_over:
            return {"state": "lost"}
        if self.stop.cancelled and not self._complete:
            self._write_checkpoint()
            return self._outcome("cancelled")
        return self._finish()

    def _end_early(self) -> dict[str, Any]:
        """Conclude with the model of the last checkpoint: no step is taken any more, so none is drawn anew."""
        if why := why_not_early(self.method, self.state.steps, {stage.name: stage.steps for stage in self.stages}):
            raise WorkbenchError(f"{why} Resume it.")
        self._prepare_counts()
        self._announce()
        return self._outcome("cancelled") if self.stop.cancelled else self._finish()

    def _announce(self) -> None:
        """Show the run as running, unless it was cancelled while it was loading."""
        try:
            begins = {"started": time.time(), "resumed_at": self.progress.step}
            RunStore(self.workspace).change(self.id, {"starting"}, "run", state="running", **begins)
        except WorkbenchError:
            self.stop.cancelled = True

    def _restore(self) -> None:
        """Take over the last checkpoint, if there is one; steps that cannot be repeated exactly get fresh noise and are counted again."""
        if not self.folder.can_go_on:
            if self.account.has_spent:
                raise WorkbenchError("This run has spent privacy, and its checkpoint is gone. Clone it and train the clone.")
            self.account.begin_lineage({})
            return
        loaded = self._load_checkpoint()
        if loaded.damage:
            print(f"{loaded.damage} The run goes on from the checkpoint before it.", flush=True)
        self.account.bring_up(self.state.steps, loaded.counted_again)
        self.account.go_on(loaded.lineage, self.state.steps)
        self._saved_sizes = dict(self.state.records_at_once)
        differences = loaded.differences
        if self.state.device.type == "cuda":
            differences = [*differences, "a GPU repeats no step bit for bit"]
        if differences and not self.ends_early:
            self._draw_anew("; ".join(differences))

    def _load_checkpoint(self) -> LoadedCheckpoint:
        try:
            return load_checkpoint(self.state, self.folder.checkpoint, self.id)
        except WorkbenchError as error:
            raise WorkbenchError(
                f"{error} Put a copy of {self.folder.checkpoint} back if you have one, or clone the run and train the clone. "
                "What this run has spent stays in the ledger."
            ) from None

    def _draw_anew(self, why: str) -> None:
        """Count the steps since the checkpoint a second time and give what follows a noise key of its own.

        The same noise on results that differ, however little, would reveal their difference. No checkpoint with the key of before is kept.
        """
        self.account.count_again(self.state.steps, why)
        self._noise_is_new = True
        if self.state.randomness.releasable:
            self.state.randomness = Randomness.fresh()

    def _prepare_counts(self) -> None:
        counts = self.account.counts
        charged, again = ({stage: pair[which] for stage, pair in counts.items()} for which in (0, 1))
        self._epsilon = SpentEpsilon(self.stages, self.plan.delta, self.plan.bound.epsilon, charged, again)
        self._update_progress("")

    def _spend(self, stage: str, step: int) -> None:
        """What the method calls before a paid step: durable in the ledger before it returns.

        A process elsewhere looks after its charge whether it still is the one at work: whoever took over has counted it, or it stops.
        """
        self.account.charge(stage, step)
        if self._is_taken_over():
            raise StoppedError
        self.progress.epsilon_spent = self._epsilon.cover(stage, step)

    def _train(self) -> None:
        metrics, previews = MetricsWriter(self.folder, self.state.device), Previews(self.folder, self.method, self.state)
        for step in experiment.fit(self.plan, self.trained_on, self.state, self.workspace):
            self._update_progress(step.stage)
            metrics.add(step, self.progress.step)
            if self.stop:
                return
            previews.keep(step, self.progress.step)
            if step.kept or time.monotonic() >= self._next_checkpoint or self.state.records_at_once != self._saved_sizes:
                self._write_checkpoint()
            previews.draw_if_due()
        previews.draw()

    def _is_taken_over(self) -> bool:
        """Whether another process works on the run, as its post says."""
        if self.post is not None and self.post.is_taken_over():
            self.stop.taken_over = True
        return self.stop.taken_over

    def _update_progress(self, stage: str) -> None:
        self.progress.stage = stage or self.progress.stage
        self.progress.step = sum(min(stage.steps, self.state.steps.get(stage.name, 0)) for stage in self.stages)
        self.progress.epsilon_spent = self._epsilon.value

    @property
    def _complete(self) -> bool:
        return all(self.state.steps.get(stage.name, 0) >= stage.steps for stage in self.stages)

    def _write_checkpoint(self) -> None:
        """Save the state, noise key included; a failed write leaves the checkpoint before it and no half-written key.

        The registry hears first what the ledger has: should the ledger be lost, no older checkpoint makes it less. A process whose run
        another has taken over writes nothing.
        """
        began, counts = time.monotonic(), self.account.counts
        if self._is_taken_over() or RunStore(self.workspace).beat(self.id, self.attempt, charged=counts) is None:
            self.stop.taken_over = True
            return
        repeatable = not self._noise_is_new and self.state.records_at_once == self._saved_sizes
        try:
            again = {stage: pair[1] for stage, pair in counts.items()}
            save_checkpoint(self.state, self.folder.checkpoint, again, self.id, keep_previous=repeatable, lineage=self.account.lineage)
        except (OSError, RuntimeError) as error:
            raise WorkbenchError(f"The checkpoint could not be written: {_why(error)}. A resume goes on from the one before.") from error
        if self._is_taken_over():
            self._erase_if_concluded()
            return
        self._saved_sizes, self._noise_is_new = dict(self.state.records_at_once), False
        now = time.monotonic()
        interval = float(os.environ.get("WORKBENCH_CHECKPOINT_SECONDS", CHECKPOINT_SECONDS))
        self._next_checkpoint = now + max(interval, CHECKPOINT_SHARE * (now - began))

    def _erase_if_concluded(self) -> None:
        """Leave no key where another process has concluded the run while this one wrote its checkpoint."""
        if self.post is not None and self.post.is_closed():
            self.folder.erase_checkpoint()

    def _finish(self) -> dict[str, Any]:
        """Write the released and the private weights and the bound; only then may the checkpoint go."""
        if self._is_taken_over():
            return {"state": "lost"}
        save_atomically(self.state.part(self.method.released_parts), self.folder.model)
        if self.method.kept_private:
            save_atomically(self.state.part(self.method.kept_private), self.folder.private)
        if self._is_taken_over():  # the checkpoint is another's by now
            return {"state": "lost"}
        outcome = self._outcome("done")
        RunStore(self.workspace).beat(self.id, self.attempt, **{name: value for name, value in outcome.items() if name != "state"})
        return self._conclude()

    def _conclude(self) -> dict[str, Any]:
        """Erase the noise key, so that nothing but its noise remains of it, and close the account.

        Everything here may be done again: an attempt after a crash completes what this one left. Whoever writes a checkpoint that late that
        it comes after the erasing finds the journal closed.
        """
        if self.post is not None:
            self.post.journal.close()
        self.folder.erase_checkpoint()
        self.account.close(self.ends_early and not self._complete)
        return self._outcome("done")

    def _outcome(self, state: str) -> dict[str, Any]:
        """The fields of a run that ended: what it spent exactly, and its bound, which covers steps counted twice.

        Never less than the registry has: the ledger may have been replaced since by one that knows of no step counted twice.
        """
        spent = self.ledger.epsilon_spent(self.id, self.plan.delta)
        self.progress.epsilon_spent = spent.epsilon
        if state != "done":
            return {"state": state, "epsilon_spent": spent.epsilon}
        again = any(pair[1] for pair in self.account.counts.values())
        covered = bound_of(self.ledger.entry(self.id).covered_stages(), self.plan.delta) if again else self.plan.bound
        bound = max(covered, RunStore(self.workspace).get(self.id).bound, key=lambda value: value.epsilon)
        return {"state": state, "epsilon_spent": max(spent.epsilon, bound.epsilon) if self.ends_early else spent.epsilon, "bound": bound}


def share_start(state: State) -> None:
    """Have all processes that share batches begin from the first one's key; it has read its checkpoint before others read theirs.

    A process left behind may write one in between: ranks at different steps would sum different batches, so they are refused.
    """
    state.randomness = shared_randomness(state.randomness, process_group())
    if shared_values(state.steps, process_group()) != state.steps:
        raise WorkbenchError("Expected the checkpoint that the first process has read, got one of another step, written since.")


def follow(workspace: Workspace, run: Run) -> None:
    """Take a run's steps beside the first process of a group, which alone charges, writes and hears of a cancellation.

    Where that one ends early, torchrun ends this one.
    """
    run.plan.check()
    dataset = dataset_of(workspace, run)
    performance = PerformanceSettings.model_validate(run.performance)
    if performance.num_threads:
        torch.set_num_threads(performance.num_threads)
    state = experiment.new_state(run.plan, performance, run.seed, group=process_group())
    folder = RunFolder(workspace, run.id)
    state.keep_size = folder.keep_size
    torch.distributed.barrier(group=process_group())
    if folder.can_go_on:
        load_checkpoint(state, folder.checkpoint, run.id)
    share_start(state)
    for _ in experiment.fit(run.plan, dataset if run.audit is None else run.audit.applied_to(dataset), state, workspace):
        pass


def _why(error: Exception) -> str:
    """The reason of a failed write in words."""
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, OSError) and chain.errno:
            return f"{os.strerror(chain.errno)} ({errno.errorcode[chain.errno]})"
        chain = chain.__cause__ or chain.__context__
    return str(error)
