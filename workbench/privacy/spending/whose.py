"""Whose records a dataset has: the registry of datasets, which takes longer to import than the ledger, is loaded when first asked."""


def records_of(name: str) -> str:
    """The dataset whose records one of this name has; see `workbench.datasets.records_of`."""
    from workbench import datasets

    return datasets.records_of(name)


def account_name(name_or_path: str) -> str:
    """The account that a dataset's runs are written on; see `workbench.datasets.account_name`."""
    from workbench import datasets

    return datasets.account_name(name_or_path)
