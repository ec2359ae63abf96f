"""Papers that are not built: one file a paper, with its formula, its numbers and what is proved of it. Its file moves when it is built."""

from workbench.claims.row import ClaimEntry
from workbench.claims.unbuilt import no_formula

UNBUILT: dict[str, ClaimEntry] = {}
