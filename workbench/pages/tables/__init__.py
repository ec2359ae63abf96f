"""Tables: the rows of a set of samples beside the real ones, column by column and pair by pair, and as files."""
