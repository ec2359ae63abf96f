"""Commands about privacy alone: claims and ledger."""

from typing import Annotated, Any

import typer

from workbench.cli.options import Json
from workbench.cli.output import print_fields, print_json, print_table, short
from workbench.errors import WorkbenchError
from workbench.privacy.values import PrivacyValue

app = typer.Typer()


@app.command()
def claims(as_json: Json = False) -> None:
    """Show every method's claim at one stated setting, beside what is proved there and why."""
    from workbench.privacy.claims import claims_table

    table = claims_table()
    if as_json:
        print_json(table)
        return
    for row in table:
        print_fields({"method": f"{row.title} ({row.method})", "formula": row.formula, "setting": row.setting})
        print_fields({"claim": _in_words(row.claim), "bound": _in_words(row.bound), "why": row.bound.reason, "source": row.source})
        print()


@app.command()
def ledger(
    budget: Annotated[float | None, typer.Option(help='Set the budget of --dataset to this epsilon ("inf" lifts it).')] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of the total, or of the budget to set.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A dataset's name or fingerprint; all of them by default.")] = None,
    as_json: Json = False,
) -> None:
    """Show what all runs on each dataset have spent together, finished or not, deleted or not."""
    from workbench.privacy.ledger import Ledger

    book = Ledger()
    entries = book.entries()
    fingerprints = {entry.fingerprint: entry.dataset for entry in entries if dataset in (None, entry.dataset, entry.fingerprint)}
    if dataset is not None and not fingerprints:
        raise WorkbenchError(f"No run in the ledger is on {dataset!r}. `workbench ledger` lists the datasets.")
    if budget is not None:
        _set_budget(book, fingerprints, budget, delta)
    rows = [_account(book, fingerprint, name, delta) for fingerprint, name in fingerprints.items()]
    print_json(rows) if as_json else _print_accounts(rows)


def _in_words(value: PrivacyValue) -> str:
    """An epsilon on one line."""
    return f"epsilon {short(value.epsilon)} at delta {value.delta:g}, {value.status.replace('_', ' ')}"


def _set_budget(book: Any, fingerprints: dict[str, str], epsilon: float, delta: float | None) -> None:
    if len(fingerprints) != 1 or delta is None:
        raise WorkbenchError("A budget needs --delta, and --dataset with the one dataset it is for.")
    book.set_budget(next(iter(fingerprints)), epsilon, delta)


def _account(book: Any, fingerprint: str, name: str, delta: float | None) -> dict[str, Any]:
    """One dataset: its total under the zero-out relation, its budget, its runs with what each spent alone."""
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
    ]
    total = book.total(fingerprint, delta=delta)
    return {"dataset": name, "fingerprint": fingerprint, "total": total, "budget": book.budget(fingerprint), "runs": runs}


def _print_accounts(accounts: list[dict[str, Any]]) -> None:
    if not accounts:
        print("Nothing has been spent yet.")
    for account in accounts:
        total: PrivacyValue = account["total"]
        budget = account["budget"]
        print_fields({"dataset": account["dataset"], "fingerprint": account["fingerprint"], "total epsilon": total.epsilon})
        print_fields({"at delta": total.delta, "relation": total.neighboring_relation, "reason": total.reason})
        print_fields({"budget": "none" if budget is None else f"epsilon {budget.epsilon:g} at delta {budget.delta:g}"})
        rows = [
            {"run": run["run"], "method": run["method"], "purpose": run["purpose"], "spent": run["spent"].epsilon}
            for run in account["runs"]
        ]
        print_table(rows, "No runs.")
        print()
