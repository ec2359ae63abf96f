"""Which measures a command takes: those named, and those of a protocol with its number of samples."""

from collections.abc import Callable

from workbench.errors import WorkbenchError, choose


def with_ways(metrics: list[str] | None, ways: int | None) -> list[str] | None:
    """The measures asked for, with that of so many columns together."""
    from workbench.evaluation.cells import WAYS

    return metrics if ways is None else [*(metrics or ()), WAYS[ways]]


def by_protocol(
    protocol: str, metrics: list[str] | None, num: int | None, kind_of: Callable[[], str]
) -> tuple[list[str] | None, int | None]:
    """The measures and the number of samples that are meant; another protocol than our own names its measures and its number."""
    from workbench.evaluation import METRICS, PROTOCOLS
    from workbench.evaluation.context import measures_of
    from workbench.evaluation.protocols import OWN

    chosen = choose(protocol, PROTOCOLS, "protocol")
    for name in metrics or ():
        choose(name, METRICS, "metric")
    if protocol == OWN:
        return metrics, num
    kind = kind_of()
    names = measures_of(protocol, METRICS, kind)
    if not names:
        raise WorkbenchError(f"Expected images, which the {chosen.title} is of, got {kind} data. Leave --protocol out.")
    for name in metrics or ():
        choose(name, dict.fromkeys(names), f"measure of the {chosen.title}")
    return metrics or names, num or chosen.num_samples
