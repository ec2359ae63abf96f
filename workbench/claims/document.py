"""The claims table as a document."""

from workbench.claims.row import ClaimRow, reasons_of
from workbench.claims.table import claims_table
from workbench.privacy.accounting.values import PrivacyValue


def claims_markdown() -> str:
    """The claims table as a document: one section a method, the numbers first, then the reason and the source."""
    rows = claims_table()
    lines = [
        "# What the papers claim, and what is proved",
        "",
        "A paper prints an epsilon; what can be proved for what it releases may be another. Each row compares the two at one setting, and",
        "adds what an attack measured, where we made one. The proved bound alone is a guarantee; the other columns say how far to trust",
        "the claim.",
        "",
        "- *proved*: a theorem covers exactly what is released. *approximation*: a limit theorem, which may be too low.",
        "- *not_proved*: we know no proof. *refuted*: what was analysed provably has no finite epsilon.",
        "- *not_evaluated*: our notes hold no formula, or no paper claims anything.",
        "",
        "A method that can be run stands at a preset; `workbench plan METHOD --dataset NAME --preset PRESET` shows the same numbers. The",
        "last column is from `workbench caught`: the attack runs at a small setting of its own, whose claim stands beside it.",
        "`workbench claims --markdown` made this page; do not edit it.",
        "",
        "| method | claimed epsilon | status of the claim | proved bound | status of the bound | measured at least |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.method} | {_number(row.claim)} | {row.claim.status} | {_number(row.bound)} | {row.bound.status} | {_attack_cell(row)} |"
        for row in rows
    ]
    for row in rows:
        lines += ["", f"## {row.method}", "", *_section(row)]
    return "\n".join(lines) + "\n"


def _section(row: ClaimRow) -> list[str]:
    lines = [f"{row.title}."]
    if row.formula:
        lines += ["", f"- Formula: {row.formula}", f"- Setting: {row.setting}", f"- Claim: {_number(row.claim)}{_conditions(row.claim)}"]
    if row.bound.status != "not_evaluated":
        lines += [f"- Proved: {_number(row.bound)}{_conditions(row.bound)}"] if row.formula else ["", f"- Proved: {_number(row.bound)}"]
    caught = ["", row.caught.words] if row.caught is not None else []
    reasons = [line for reason in reasons_of(row) for line in ("", reason)]
    return [*lines, *reasons, *caught, "", f"Source: {row.source}."]


def _attack_cell(row: ClaimRow) -> str:
    return "" if row.caught is None else f"{row.caught.epsilon:.3g} at a claim of {row.caught.claim:.3g}"


def _conditions(value: PrivacyValue) -> str:
    named = [f"delta {value.delta:g}", value.neighboring_relation, value.accountant, value.sampling]
    return f" ({'; '.join(item for item in named if item and item != 'none')})"


def _number(value: PrivacyValue) -> str:
    if value.status == "not_evaluated":
        return "not evaluated"
    return f"{value.epsilon:.5g}" if value.is_finite else "infinite"
