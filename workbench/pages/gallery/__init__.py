"""Gallery: every generated record beside its nearest training records and its nearest held-out record, with a person's verdict."""
