"""What every paper claims, beside what is proved there: the table over the built methods and the papers that are not built.

A row of a built method is its plan at one of its presets, so that no setting is written twice; a paper that is not built keeps
a bare claim in `unbuilt/`, whose file moves into the method's folder when it is built.
"""

from workbench.claims.document import claims_markdown
from workbench.claims.row import ClaimRow
from workbench.claims.table import claim_entries, claims_table

__all__ = ["ClaimRow", "claim_entries", "claims_markdown", "claims_table"]
