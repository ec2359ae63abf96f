"""Score models learnt from recovery directions that randomised response chose (DPGEN, P3DM). Its triples show private records."""
