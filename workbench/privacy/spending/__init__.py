"""What runs have spent: the ledger, its accounts and their totals."""
