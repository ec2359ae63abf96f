"""The claims table: every method and every paper at one stated setting, beside what is proved there."""

from workbench.claims.caught import attack_of
from workbench.claims.planned import PlannedClaim
from workbench.claims.row import ClaimEntry, ClaimRow
from workbench.claims.unbuilt import UNBUILT
from workbench.claims.unclaimed import Unclaimed
from workbench.methods import METHODS


def claim_entries() -> dict[str, ClaimEntry]:
    """What gives each row: the readings of the registered methods, those that no paper claims anything for, the papers not built."""
    built = {
        name: PlannedClaim(method_class.name, reading)
        for method_class in METHODS.values()
        for name, reading in method_class.readings.items()
    }
    unclaimed = {name: Unclaimed(method_class) for name, method_class in METHODS.items() if not method_class.readings}
    return {**built, **unclaimed, **UNBUILT}


def claims_table() -> list[ClaimRow]:
    """One row for every entry, evaluated at its stated setting, with what an attack was measured to contradict."""
    return [entry.row(name).model_copy(update={"caught": attack_of(name)}) for name, entry in claim_entries().items()]
