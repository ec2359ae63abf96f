"""A sweep's folder in the home: its recipe, its results so far, and which jobs it has begun. Its id follows from what is asked."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from workbench.errors import DamagedFileError, WorkbenchError, first_complaint
from workbench.files import check_writable, make_private_folder, write_text_atomically
from workbench.jobs.job import ID, check_id
from workbench.jobs.launchers import DEFAULT, Resources
from workbench.recipes import pieces, report
from workbench.recipes.lines import Recipe
from workbench.workspace import Workspace

LETTERS = 8  # of the hash in an id


def identity(recipe: Recipe) -> str:
    """The SHA-256 of what a recipe asks for, in canonical JSON: its lines and measures, not its title."""
    content = recipe.model_dump(mode="json", exclude_defaults=True, exclude={"title", "description"})
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class KeptSweep:
    """A sweep by its id, the first letters of its identity; `keep` makes it, `read` finds it again."""

    workspace: Workspace
    id: str
    recipe: Recipe

    @classmethod
    def keep(cls, workspace: Workspace, recipe: Recipe) -> Self:
        """Write the recipe into the sweep's folder, where it stands already if the same was asked before: its title changes."""
        check_writable(workspace.home)
        own = identity(recipe)
        kept = cls(workspace, own[:LETTERS], recipe)
        if kept._recipe_file.exists() and (other := identity(cls.read(workspace, kept.id).recipe)) != own:
            raise WorkbenchError(f"Expected sweep {kept.id} to ask for what {own[:16]} does, got {other[:16]}. Change the sweep a little.")
        for folder in (workspace.sweeps, kept.folder):
            make_private_folder(folder)
        pieces.write_recipe(recipe, kept._recipe_file)
        return kept

    @classmethod
    def read(cls, workspace: Workspace, sweep_id: str) -> Self:
        """The sweep called so; an unknown one is an error."""
        path = workspace.sweeps / check_id(sweep_id, "sweep", "workbench sweeps") / "recipe.json"
        if not path.exists():
            raise WorkbenchError(f"Unknown sweep {sweep_id!r}. `workbench sweeps` lists them.")
        try:
            return cls(workspace, sweep_id, Recipe.model_validate_json(path.read_text(encoding="utf-8")))
        except ValidationError as error:
            raise DamagedFileError(
                f"Expected the recipe of a sweep in {path}, got {first_complaint(error)}. Ask for the sweep again."
            ) from None

    @classmethod
    def all(cls, workspace: Workspace) -> list[Self]:
        """All sweeps of a home, newest first."""
        folders = workspace.sweeps.iterdir() if workspace.sweeps.exists() else ()
        sweep_folders = [folder for folder in folders if ID.fullmatch(folder.name) and (folder / "recipe.json").exists()]
        return [cls.read(workspace, folder.name) for folder in sorted(sweep_folders, key=lambda path: -path.stat().st_mtime)]

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return self.workspace.sweeps / self.id

    @property
    def file(self) -> Path:
        """Its results, a file as `workbench reproduce --out` writes it."""
        return self.folder / "results.json"

    def results(self) -> list[dict[str, Any]]:
        """The results so far, as a recipe's."""
        return report.recipe_with_results(self.file)[1] if self.file.exists() else []

    def note_launcher(self, name: str, resources: Resources) -> None:
        """Have its runs train by this launcher, which is asked for `resources` a run."""
        write_text_atomically(self.folder / "launcher.json", json.dumps({"on": name, "resources": resources.model_dump()}))

    def launcher(self) -> dict[str, Any]:
        """How its runs are launched: `on` and `resources` of `runs.launch`."""
        path = self.folder / "launcher.json"
        values = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"on": DEFAULT, "resources": {}}
        return {"on": values["on"], "resources": Resources.model_validate(values["resources"])}

    def write(self, results: Iterable[Mapping[str, Any]]) -> None:
        """Keep these results in the place of those before."""
        pieces.write(self.recipe, list(results), self.file)

    def forget(self) -> None:
        """Remove its folder; its runs stay, with what they spent. `workbench.tasks.sweeping.forget` looks at its job first."""
        check_writable(self.workspace.home)
        shutil.rmtree(self.folder)

    def begun_jobs(self) -> list[str]:
        """The jobs that it has begun, or gone on with: what is cancelled with it."""
        path = self.folder / "begun.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []

    def note_begun(self, *jobs: str) -> None:
        """Note jobs as begun by it."""
        noted = list(dict.fromkeys([*self.begun_jobs(), *jobs]))
        write_text_atomically(self.folder / "begun.json", json.dumps(noted))

    @property
    def _recipe_file(self) -> Path:
        return self.folder / "recipe.json"
