"""Teachers on disjoint parts of the records, whose votes with noise are all that leaves."""
