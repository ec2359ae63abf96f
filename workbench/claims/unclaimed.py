"""A built method for which no paper claims anything: a row that says so."""

import math
from dataclasses import dataclass

from workbench.claims.row import ClaimRow
from workbench.claims.unbuilt.bare import DELTA
from workbench.methods.base import Method
from workbench.privacy.accounting.values import PrivacyValue

BOUNDED = "No paper claims anything for this method. Its bound is proved, for whatever settings `workbench plan {name}` is given."
UNBOUNDED = "No paper claims anything for this method. It trains on the records without noise, so no finite bound holds."


@dataclass(frozen=True)
class Unclaimed:
    """One method without a claim; no number of it is evaluated here, as no paper gives a setting."""

    method: type[Method]

    def row(self, name: str) -> ClaimRow:
        """The line of the table."""
        reason = (BOUNDED if self.method.calibrated_fields else UNBOUNDED).format(name=name)
        none = PrivacyValue(epsilon=math.inf, delta=DELTA, status="not_evaluated", reason=reason, source=self.method.source)
        return ClaimRow(method=name, title=self.method.title, formula="", setting="", claim=none, bound=none, source=self.method.source)
