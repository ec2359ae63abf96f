"""Plans that were written before fields of configurations were renamed."""

import json
import tarfile
from pathlib import Path

import pytest

from workbench.jobs.store import RunStore
from workbench.methods import METHODS
from workbench.methods.fields import dotted, value_at
from workbench.methods.renamed import RENAMED, renamed
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.workspace import Workspace

FIXTURE = Path(__file__).parents[1] / "fixtures" / "home-0.1.tar.gz"


@pytest.fixture(name="old_home")
def unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a run of each method, made by version 0.1."""
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path, filter="data")
    tmp_path.chmod(0o700)
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    return tmp_path


def test_runs_of_before_open_and_plan_the_same_today(old_home: Path) -> None:
    runs = RunStore(Workspace.default()).list()
    assert {run.method for run in runs} == {"nonprivate", "dp-merf", "dp-promise"}
    for run in runs:
        before = json.loads((old_home / "runs" / run.id / "plan.json").read_text())
        plan = Plan.model_validate(before)
        assert plan.config == run.plan.config
        names = RENAMED[run.method]
        for old, value in before["config"].items():
            found = value_at(plan.build().config, names.get(old, old))
            assert found == value or old in ("network", "diffusion", "sampler"), old
        again = make_plan(run.method, plan.facts, epsilon=plan.target_epsilon, delta=plan.delta, settings=plan.request.settings)
        assert (again.config, again.releases, again.claim) == (plan.config, plan.releases, plan.claim)
        assert again.bound.model_copy(update={"reason": ""}) == plan.bound.model_copy(update={"reason": ""}), "in the words of now"


def test_every_renamed_field_is_a_field_of_today() -> None:
    for method, names in RENAMED.items():
        fields = dotted(METHODS[method].Config().model_dump())
        assert set(names.values()) <= set(fields)
        assert not set(names) & set(fields)


def test_names_that_stayed_stay() -> None:
    assert renamed("dp-merf", {"steps": 3, "num_features": 4}) == {"training.steps": 3, "num_features": 4}
