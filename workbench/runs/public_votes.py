"""What finished runs of `public-choice` found: which public images suit the records of an account. Noisy counts alone are looked at."""

from dataclasses import dataclass

from workbench.datasets import records_of
from workbench.datasets.base import DatasetFacts
from workbench.methods.public_choice import PublicChoice, PublicChoiceConfig
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.workspace import Workspace


@dataclass(frozen=True)
class PublicVotes:
    """The noisy votes of a run for each public dataset."""

    run: str
    votes: dict[str, float]

    @property
    def best(self) -> str:
        """The dataset with most votes, which is the one to take."""
        return max(self.votes, key=self.votes.__getitem__)

    @property
    def words(self) -> str:
        """The counts and what they say, in two sentences."""
        counts = ", ".join(f"{count:,.0f} for {name}" for name, count in self.votes.items())
        return f"Noisy votes of the records for public images, by run {self.run}: {counts}. Choose {self.best}, which has most."


def votes_of(workspace: Workspace, facts: DatasetFacts) -> PublicVotes | None:
    """The votes of the newest finished run on the same people's records; None where none has asked them."""
    finished = RunStore(workspace).list(state="done", method=PublicChoice.name)
    run = next((run for run in finished if records_of(run.plan.facts.name) == records_of(facts.name)), None)
    return None if run is None else votes_in(workspace, run)


def votes_in(workspace: Workspace, run: Run) -> PublicVotes | None:
    """The votes that a run released; None where it is not finished, or asked nothing of the kind."""
    if run.method != PublicChoice.name or run.state != "done":
        return None
    from workbench.training.state import load_saved  # torch, which whoever looks at other runs does not wait for

    config = PublicChoiceConfig.model_validate(run.plan.config)
    votes = load_saved(RunFolder(workspace, run.id).model)["tensors"]["votes"].tolist()
    return PublicVotes(run.id, dict(zip(config.candidates, votes, strict=True)))
