"""What a run has spent, counted so that no loss lowers it: of the ledger, of a checkpoint, or of both.

The ledger is written before every paid step. The registry says what it had a moment ago, and a checkpoint what had been taken
when it was written: each attempt begins by bringing the ledger up to both.
"""

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.jobs.heartbeat import Progress
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.run import Run

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage
    from workbench.privacy.spending.journals import Journal


class Account:
    """The counts of a run's paid stages in the ledger; `progress` is told of them, so that the registry knows them too.

    `was_short`: the ledger had less than the registry or the checkpoint, so it was lost or rolled back. How many steps were taken
    since then is not known. Where several processes may work on the run, each charges its `journal` before the ledger, by the `lineage`
    of the noise that it draws.
    """

    def __init__(self, ledger: Ledger, run: Run, stages: "Sequence[Stage]", progress: Progress, journal: "Journal | None" = None) -> None:
        self._ledger, self.id, self._progress, self._known = ledger, run.id, progress, run.charged
        self._journal, self.lineage, self._starts = journal, "", dict[str, int]()
        self._planned = {stage.name: stage.steps for stage in stages if stage.spent != "free"}
        self.was_short = False

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Steps charged and steps charged again, by paid stage."""
        return {row.stage: (row.charged, row.charged_again) for row in self._ledger.spent(self.id) if row.stage in self._planned}

    @property
    def has_spent(self) -> bool:
        """Whether any paid step was charged."""
        return any(any(pair) for pair in self.counts.values())

    def recover(self) -> None:
        """Bring the ledger up to what the registry knows of the run."""
        charged = {stage: pair[0] for stage, pair in self._known.items()}
        self.bring_up(charged, {stage: pair[1] for stage, pair in self._known.items()})

    def bring_up(self, steps: Mapping[str, int], counted_again: Mapping[str, int]) -> None:
        """Charge at least `steps` of each stage, and count at least `counted_again` a second time."""
        for stage, (charged, again) in self.counts.items():
            if (taken := steps.get(stage, 0)) > charged:
                self.was_short = True
                self._charge(stage, taken)
            if (missing := counted_again.get(stage, 0) - again) > 0:
                self.was_short = True
                self._charge_again(stage, missing)
        self._progress.charged = self.counts

    def go_on(self, lineage: str, steps: Mapping[str, int]) -> None:
        """What is charged from now on is drawn with the noise of a lineage, from a state that has taken `steps`."""
        self.lineage, self._starts = lineage, dict(steps)

    def begin_lineage(self, steps: Mapping[str, int]) -> None:
        """The same with a noise key that no process has had before."""
        self.go_on("" if self._journal is None else secrets.token_hex(8), steps)

    def count_again(self, steps: Mapping[str, int], why: str) -> None:
        """Count once more all steps that may have been taken since a state that has taken `steps`: they are drawn anew.

        Where the ledger was short, that may be all that were planned.
        """
        self.begin_lineage(steps)
        for stage, (charged, _) in self.counts.items():
            replayed = (self._planned[stage] if self.was_short else charged) - steps.get(stage, 0)
            if replayed > 0:
                if self._journal is not None:
                    self._charge_journal(self._journal, stage, steps.get(stage, 0) + replayed)
                self._ledger.charge_again(self.id, stage, replayed)
                print(f"{replayed} steps of {stage} are drawn anew and counted again: {why}.", flush=True)
        self._progress.charged = self.counts

    def charge(self, stage: str, step: int) -> None:
        """Charge step `step` of a paid stage; it is durable in the ledger on return."""
        try:
            self._charge(stage, step)
        except (OSError, sqlite3.Error) as error:
            raise WorkbenchError(f"The ledger could not be written ({error}), so the step was not taken.") from error
        charges = dict(self._progress.charged or {})
        charges[stage] = (max(step, charges.get(stage, (0, 0))[0]), charges.get(stage, (0, 0))[1])
        self._progress.charged = charges

    def close(self, ended_early: bool = False) -> None:
        """Charge all that was planned, which has no effect unless the ledger was lost, and note that no more will be spent.

        One that `ended_early` has not taken all that was planned, as far as that is known.
        """
        ended_early = ended_early and not self.was_short
        if not ended_early:
            self.bring_up(self._planned, {})
        self._ledger.close_run(self.id, ended_early)

    def _charge(self, stage: str, step: int) -> None:
        """Where the home's ledger cannot be reached, what it reads comes first: this one is forgotten with the process."""
        if self._journal is not None:
            self._charge_journal(self._journal, stage, step)
        self._ledger.charge(self.id, stage, step)

    def _charge_again(self, stage: str, steps: int) -> None:
        if self._journal is not None:
            self._journal.charge_again(stage, steps)
        self._ledger.charge_again(self.id, stage, steps)

    def _charge_journal(self, journal: "Journal", stage: str, step: int) -> None:
        journal.charge(self.lineage, stage, min(step, self._starts.get(stage, 0)), step)
