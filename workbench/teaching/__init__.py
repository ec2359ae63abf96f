"""What the Process page shows: small computations of seconds on bundled records, each by the workbench's own parts. Nothing is spent."""
