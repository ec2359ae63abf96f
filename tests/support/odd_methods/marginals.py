"""A table of categories: one Gaussian release, no network."""

from support.counted_table import CountedTable


class MarginalsOfTable(CountedTable):
    """Rows drawn from one release of all one-way marginals per class."""

    name = "odd-marginals"
    title = "Noisy marginals"
