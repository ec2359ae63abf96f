"""Commands that train nothing: claims and ledger."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import Json, check_target
from workbench.cli.output import print_fields, print_json, print_table, short
from workbench.cli.waiting import wait_for
from workbench.errors import WorkbenchError, choose
from workbench.files import write_text_atomically
from workbench.privacy.accounting.values import PrivacyValue
from workbench.seeds import LARGEST_SEED
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.claims import ClaimRow

app = typer.Typer()


@app.command()
def claims(
    method: Annotated[str | None, typer.Argument(metavar="METHOD", help="Formula, setting, reason and source of this method.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the document that docs/claims.md holds.")] = False,
    as_json: Json = False,
) -> None:
    """Show every method's claim beside what is proved at the same setting; with METHOD, how, why and where one is from."""
    from workbench.claims import claims_markdown, claims_table

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
    from workbench.claims.row import reasons_of

    what = {"method": f"{row.title} ({row.method})", "formula": row.formula, "setting": row.setting, "claim": _in_words(row.claim)}
    measured = {} if row.caught is None else {"measured": row.caught.words}
    print_fields({**what, "bound": _in_words(row.bound), **measured, "why": " ".join(reasons_of(row)), "source": row.source})


@app.command()
def caught(
    name: Annotated[
        str | None, typer.Argument(metavar="CLAIM", help="One row of the claims table; all that are attacked by default.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Runs with the record, and as many without it.", min=2, max=1_000_000)] = 2000,
    confidence: Annotated[float, typer.Option(help="Of the lower bound.", min=0.5, max=0.9999)] = 0.99,
    seed: Annotated[int, typer.Option(help="Of all runs.", min=0, max=LARGEST_SEED)] = 0,
    out: Annotated[Path | None, typer.Option(help="Write what was measured as JSON to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Attack what unproved claims cover by many small runs, and show the lower bound beside the claim; takes a minute or two each."""
    from workbench.evaluation.refuting import ATTACKS
    from workbench.jobs.job import WORKSPACE
    from workbench.runs.refuted import caught_here

    check_target(out, ".json")
    names = [name] if name is not None else list(ATTACKS)
    for each in names:
        choose(each, ATTACKS, "attacked claim")
    attacks = []
    for each in names:
        wait_for("caught", WORKSPACE, {"name": each, "trials": trials, "confidence": confidence, "seed": seed})
        attacks.append(caught_here(Workspace.default(), each, trials, confidence, seed))
    if out is not None:
        write_text_atomically(out, dumps(attacks, indent=2) + "\n")
    if as_json:
        print_json(attacks)
    else:
        for each in attacks:
            print(f"{each.name}: {each.words}\n")


@app.command()
def ledger(
    place: Annotated[str | None, typer.Argument(metavar="DATASET", help="The same as --dataset.")] = None,
    budget: Annotated[float | None, typer.Option(help='Set the budget of --dataset to this epsilon ("inf" lifts it).')] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of the total, or of the budget to set.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A dataset's name, path or fingerprint; all of them by default.")] = None,
    name: Annotated[str | None, typer.Option(help="In the place of --dataset: the name you gave to files of your own.")] = None,
    runs: Annotated[list[str] | None, typer.Option("--run", metavar="RUN", help="Total of these runs alone; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Show what all runs on each dataset have spent together, finished or not, deleted or not.

    Every run counts, those that only served to choose settings too.
    """
    from workbench.privacy.spending.ledger import Ledger

    if place is not None and dataset is not None:
        raise WorkbenchError(f"Expected one dataset, got {place!r} and --dataset {dataset!r}. Give either.")
    dataset = place or dataset
    book = Ledger(Workspace.default().ledger)
    accounts = [name] if name is not None else _accounts(book, dataset)
    if budget is not None:
        _set_budget(book, accounts, budget, delta)
    chosen = _runs_by_account(book, accounts, runs)
    rows = [_account(book, account, delta, only) for account, only in chosen.items()]
    print_json(rows) if as_json else _print_accounts(rows)


def _accounts(book: Any, dataset: str | None) -> list[str]:
    """The names of the accounts asked for; that of a dataset without a run can be given a budget."""
    entries, budgets = book.entries(), book.budgets()
    if dataset is None:
        with_runs = {key for entry in entries for key in (entry.account, entry.fingerprint)}
        return [*dict.fromkeys(entry.account for entry in entries), *(key for key in budgets if key not in with_runs)]
    wanted = {dataset, str(Path(dataset).resolve())}
    accounts = dict.fromkeys(entry.account for entry in entries if wanted & {entry.account, entry.dataset, entry.fingerprint})
    if accounts or dataset in budgets:
        return list(accounts) or [dataset]
    from workbench import datasets

    if dataset not in datasets.DATASETS and not datasets.is_path(dataset):
        raise WorkbenchError(f"No run in the ledger is on {dataset!r}. `workbench ledger` lists the datasets that have runs.")
    return [datasets.account_name(Path(dataset).resolve() if datasets.is_path(dataset) else dataset)]


def _runs_by_account(book: Any, accounts: list[str], runs: list[str] | None) -> dict[str, list[str] | None]:
    """The chosen runs of every account that has one of them; None for all runs."""
    if not runs:
        return dict.fromkeys(accounts)
    known = {account: [entry.run_id for entry in book.entries(account)] for account in accounts}
    if unknown := set(runs).difference(*known.values()):
        raise WorkbenchError(f"Expected runs of the ledger, got {', '.join(sorted(unknown))}. `workbench ledger` lists them.")
    return {account: mine for account, ids in known.items() if (mine := [run for run in ids if run in runs])}


def _in_words(value: PrivacyValue) -> str:
    """An epsilon on one line."""
    return f"epsilon {short(value.epsilon)} at delta {value.delta:g}, {value.status.replace('_', ' ')}"


def _set_budget(book: Any, accounts: list[str], epsilon: float, delta: float | None) -> None:
    if len(accounts) != 1 or delta is None:
        raise WorkbenchError("A budget needs --delta, and --dataset with the one dataset it is for.")
    book.set_budget(accounts[0], epsilon, delta)


def _account(book: Any, account: str, delta: float | None, only: list[str] | None) -> dict[str, Any]:
    """One account: the total of all its runs or of `only` some, under the zero-out relation, its budget, and each run alone."""
    entries = [entry for entry in book.entries(account) if only is None or entry.run_id in only]
    runs = [
        {
            "run": entry.run_id,
            "method": entry.method,
            "purpose": entry.purpose,
            "public": entry.public,
            "opened_at": entry.opened_at,
            "closed_at": entry.closed_at,
            "spent": book.epsilon_spent(entry.run_id, entry.delta),
            "stages": [{"stage": stage.stage, "planned": stage.steps, "spent": stage.count} for stage in entry.stages],
        }
        for entry in entries
    ]
    budget = book.budget(account)
    if not runs and budget is None and delta is None:
        raise WorkbenchError(f"No run in the ledger is on {account!r}, and it has no budget. --budget and --delta set one.")
    total = book.total(account, only, delta)
    versions = {entry.fingerprint: entry.dataset for entry in entries}
    return {"dataset": account, "versions": versions, "total": total, "budget": budget, "runs": runs}


def _print_accounts(accounts: list[dict[str, Any]]) -> None:
    from workbench.privacy.spending.totals import why_unlike

    if not accounts:
        print("Nothing has been spent yet.")
    for account in accounts:
        total: PrivacyValue = account["total"]
        budget = account["budget"]
        print_fields({"dataset": account["dataset"], "versions of its records": account["versions"], "total epsilon": total.epsilon})
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
