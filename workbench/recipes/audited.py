"""What the audited runs of a recipe measured, as a table: bound, lower bound, and what the canaries could have shown at most."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.escaping import markdown
from workbench.marks import mark
from workbench.runs.audits import AuditRecord

_LOWER = ("measured at least", "could be at most", "if Gaussian", "at most")
COLUMNS = ("line", "claim", "proved bound", "delta", *_LOWER, "right guesses", "canaries", "score", "mark")
READING = (
    "*Measured at least*: the one-run lower bound on epsilon, which assumes nothing of the mechanism, at the line's delta and "
    "{confidence:.0%} confidence. *Could be at most*: what the same canaries say when every guess is right; a claim or a bound above it "
    "cannot be contradicted by them. *If Gaussian*: the f-DP bound, for mechanisms with a Gaussian trade-off curve alone."
)


def audit_table(results: Sequence[Mapping[str, Any]]) -> str:
    """The audits of a recipe's results in Markdown, empty where there are none."""
    audits = [(str(row["name"]), AuditRecord.model_validate(row["audit"])) for row in results if row.get("audit") is not None]
    if not audits:
        return ""
    reading = READING.format(confidence=audits[0][1].design.confidence)
    head = (f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}")
    return "\n".join([*head, *(_row(name, audit) for name, audit in audits), "", reading]) + "\n"


def _row(name: str, audit: AuditRecord) -> str:
    cells = (
        markdown(name),
        *(_number(value) for value in (audit.claim, audit.bound, audit.delta)),
        *(_number(value) for value in (audit.epsilon, audit.ceiling, audit.f_dp_epsilon, audit.f_dp_ceiling)),
        f"{audit.num_correct} of {audit.design.guesses}",
        f"{audit.design.num_canaries} ({audit.design.kind})",
        markdown(audit.score),
        mark(audit.may_leave),
    )
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:.3g}" if value < float("inf") else "none"
