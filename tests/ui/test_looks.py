"""No two methods look alike on any chart."""

from workbench.methods import METHODS
from workbench.ui.looks import OFTEN, look_of, looks_of


def test_every_method_has_a_look_of_its_own_and_those_often_seen_together_a_colour() -> None:
    looks = [look_of(name) for name in METHODS]
    assert len(set(looks)) == len(METHODS)
    assert len({look_of(name)[0] for name in OFTEN}) == len(OFTEN)


def test_lines_of_one_method_share_its_colour_and_differ_in_symbol() -> None:
    looks = looks_of(["dp-merf", "dp-merf, 200 features", "dp-promise"])
    assert looks["dp-merf"] == look_of("dp-merf")
    assert looks["dp-merf, 200 features"][0] == look_of("dp-merf")[0]
    assert len(set(looks.values())) == 3
