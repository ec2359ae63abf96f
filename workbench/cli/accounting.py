"""Commands about privacy alone: claims and ledger."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import Json
from workbench.cli.output import print_fields, print_json, print_table, short
from workbench.errors import WorkbenchError, choose
from workbench.privacy.values import PrivacyValue

if TYPE_CHECKING:
    from workbench.privacy.claims import ClaimRow

app = typer.Typer()


@app.command()
def claims(
    method: Annotated[str | None, typer.Argument(metavar="METHOD", help="Formula, setting, reason and source of this method.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the document that docs/claims.md holds.")] = False,
    as_json: Json = False,
) -> None:
    """Show every method's claim beside what is proved at the same setting; with METHOD, how, why and where one is from."""
    from workbench.privacy.claims import claims_markdown, claims_table

    if markdown:
        print(claims_markdown(), end="")
        return
    table = claims_table()
    if method is not None:
        table = [choose(method, {row.method: row for row in table}, "method")]
    if as_json:
        print_json(table)
    elif method is None:
        print_table([_claim_line(row) for row in table], "No method.")
        print("\n`workbench claims METHOD` shows the formula, its setting, the reason and the source.")
    else:
        _print_claim(table[0])


def _claim_line(row: "ClaimRow") -> dict[str, Any]:
    """A method's claim and bound with what each is."""
    words = {"claimed": row.claim.epsilon, "the claim is": row.claim.status, "bound": row.bound.epsilon, "the bound is": row.bound.status}
    return {"method": row.method} | {
        name: str(value).replace("_", " ") if isinstance(value, str) else value for name, value in words.items()
    }


def _print_claim(row: "ClaimRow") -> None:
    """Everything about one method's claim."""
    what = {"method": f"{row.title} ({row.method})", "formula": row.formula, "setting": row.setting, "claim": _in_words(row.claim)}
    print_fields({**what, "bound": _in_words(row.bound), "why": row.bound.reason, "source": row.source})


@app.command()
def ledger(
    budget: Annotated[float | None, typer.Option(help='Set the budget of --dataset to this epsilon ("inf" lifts it).')] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of the total, or of the budget to set.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A dataset's name, path or fingerprint; all of them by default.")] = None,
    runs: Annotated[list[str] | None, typer.Option("--run", metavar="RUN", help="Total of these runs alone; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Show what all runs on each dataset have spent together, finished or not, deleted or not.

    Every run counts, those that only served to choose settings too.
    """
    from workbench.privacy.ledger import Ledger

    book = Ledger()
    fingerprints = _datasets(book, dataset)
    if budget is not None:
        _set_budget(book, fingerprints, budget, delta)
    chosen = _runs_by_dataset(book, fingerprints, runs)
    rows = [_account(book, fingerprint, fingerprints[fingerprint], delta, only) for fingerprint, only in chosen.items()]
    print_json(rows) if as_json else _print_accounts(rows)


def _datasets(book: Any, dataset: str | None) -> dict[str, str]:
    """Fingerprint and name of the datasets asked for; one without a run is read for its fingerprint, so that it can have a budget."""
    wanted = None if dataset is None else {dataset, str(Path(dataset).resolve())}
    found = {entry.fingerprint: entry.dataset for entry in book.entries() if wanted is None or wanted & {entry.dataset, entry.fingerprint}}
    if found or dataset is None:
        return found
    from workbench import datasets

    if dataset not in datasets.DATASETS and not datasets.is_path(dataset):
        raise WorkbenchError(f"No run in the ledger is on {dataset!r}. `workbench ledger` lists the datasets that have runs.")
    return {datasets.load(dataset).fingerprint: dataset}


def _runs_by_dataset(book: Any, fingerprints: dict[str, str], runs: list[str] | None) -> dict[str, list[str] | None]:
    """The chosen runs of every dataset that has one of them; None for all runs."""
    if not runs:
        return dict.fromkeys(fingerprints)
    known = {fingerprint: [entry.run_id for entry in book.entries(fingerprint)] for fingerprint in fingerprints}
    if unknown := set(runs).difference(*known.values()):
        raise WorkbenchError(f"Expected runs of the ledger, got {', '.join(sorted(unknown))}. `workbench ledger` lists them.")
    return {fingerprint: mine for fingerprint, ids in known.items() if (mine := [run for run in ids if run in runs])}


def _in_words(value: PrivacyValue) -> str:
    """An epsilon on one line."""
    return f"epsilon {short(value.epsilon)} at delta {value.delta:g}, {value.status.replace('_', ' ')}"


def _set_budget(book: Any, fingerprints: dict[str, str], epsilon: float, delta: float | None) -> None:
    if len(fingerprints) != 1 or delta is None:
        raise WorkbenchError("A budget needs --delta, and --dataset with the one dataset it is for.")
    book.set_budget(next(iter(fingerprints)), epsilon, delta)


def _account(book: Any, fingerprint: str, name: str, delta: float | None, only: list[str] | None) -> dict[str, Any]:
    """One dataset: the total of all its runs or of `only` some, under the zero-out relation, its budget, and each run alone."""
    runs = [
        {
            "run": entry.run_id,
            "method": entry.method,
            "purpose": entry.purpose,
            "opened_at": entry.opened_at,
            "closed_at": entry.closed_at,
            "spent": book.epsilon_spent(entry.run_id, entry.delta),
            "stages": [{"stage": stage.stage, "planned": stage.steps, "spent": stage.count} for stage in entry.stages],
        }
        for entry in book.entries(fingerprint)
        if only is None or entry.run_id in only
    ]
    budget = book.budget(fingerprint)
    if not runs and budget is None and delta is None:
        raise WorkbenchError(f"No run in the ledger is on {name!r}, and it has no budget. --budget and --delta set one.")
    total = book.total(fingerprint, only, delta)
    return {"dataset": name, "fingerprint": fingerprint, "total": total, "budget": budget, "runs": runs}


def _print_accounts(accounts: list[dict[str, Any]]) -> None:
    from workbench.privacy.spending import why_unlike

    if not accounts:
        print("Nothing has been spent yet.")
    for account in accounts:
        total: PrivacyValue = account["total"]
        budget = account["budget"]
        print_fields({"dataset": account["dataset"], "fingerprint": account["fingerprint"], "total epsilon": total.epsilon})
        unlike = why_unlike(total, {run["run"]: run["spent"] for run in account["runs"]})
        reason = " ".join(filter(None, (unlike, total.reason)))
        print_fields({"at delta": total.delta, "relation": total.neighboring_relation, "reason": reason})
        print_fields({"budget": "none" if budget is None else f"epsilon {budget.epsilon:g} at delta {budget.delta:g}"})
        rows = [
            {"run": run["run"], "method": run["method"], "purpose": run["purpose"], "spent": run["spent"].epsilon}
            for run in account["runs"]
        ]
        print_table(rows, "No runs.")
        print()
