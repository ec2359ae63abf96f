"""Names, notes and tags that people give their runs: kept in the registry, for the owner of the home alone.

They change nothing about a run and are in no release, card or export.
"""

import re
from collections.abc import Collection, Iterable

from workbench.errors import WorkbenchError
from workbench.jobs.registry import registry, update
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.workspace import Workspace

MOST_NAME, MOST_NOTE, MOST_TAGS = 80, 4000, 20
TAG = re.compile(r"[\w.+-]{1,40}")


def label(
    workspace: Workspace,
    run_id: str,
    name: str | None = None,
    note: str | None = None,
    tags: Collection[str] = (),
    untag: Collection[str] = (),
) -> Run:
    """Name a run, note something about it, give it `tags` and take others away; None leaves what there is, an empty text removes it.

    Raises WorkbenchError for an unknown run, a text that is too long, and a tag that is none.
    """
    store = RunStore(workspace)
    store.get(run_id)
    values: dict[str, object] = {}
    if name is not None:
        values["name"] = checked_text("name", " ".join(name.split()), MOST_NAME)
    if note is not None:
        values["note"] = checked_text("note", note.strip(), MOST_NOTE)
    with registry(workspace).transaction() as connection:
        kept = store.within(connection, run_id).tags
        values["tags"] = checked_tags([tag for tag in (*kept, *tags) if tag not in untag])
        update(connection, "runs", run_id, values)
        return store.within(connection, run_id)


def checked_text(what: str, text: str, most: int) -> str:
    """A text that is short enough."""
    if len(text) > most:
        raise WorkbenchError(f"Expected a {what} of at most {most} letters, got {len(text)}.")
    return text


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags in order, each once."""
    unique_tags = tuple(sorted(set(tags)))
    for tag in unique_tags:
        if not TAG.fullmatch(tag):
            raise WorkbenchError(f"Expected a tag of 1 to 40 letters, digits, '.', '+', '-' and '_', got {tag!r}.")
    if len(unique_tags) > MOST_TAGS:
        raise WorkbenchError(f"Expected at most {MOST_TAGS} tags, got {len(unique_tags)}.")
    return unique_tags
