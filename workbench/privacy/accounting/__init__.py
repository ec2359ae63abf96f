"""Events, accountants and calibration: what a composition of releases costs."""
