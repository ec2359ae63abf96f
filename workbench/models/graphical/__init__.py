"""A distribution of a table that is known by marginals: junction trees, exact inference, estimation and drawing. Loops are held exactly.

No kept library was taken. mbi 2.0.0 (Apache-2.0), by the authors of the method, needs jax, a second tensor library of 380 MB beside torch;
dpmm 0.1.9 pins numpy 1.26, and smartnoise-synth 1.0.8 needs an opacus below 0.15 and an older mbi.
"""
