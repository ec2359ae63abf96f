"""Claims: the table, and what stands beside every claim."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.quick import ALL_METHODS

from workbench.claims import ClaimRow, claim_entries, claims_markdown, claims_table
from workbench.claims.places import line_of_name, place_of
from workbench.claims.planned import PlannedClaim
from workbench.datasets import facts
from workbench.methods import METHODS
from workbench.planning import make_plan
from workbench.serialization import dumps

DOCUMENT = Path(__file__).parents[2] / "docs" / "claims.md"
METHODS_OF_OUR_NOTES = {
    "dp-promise", "chu-dpdm", "dp-sad", "dpgen", "p3dm", "ddm", "dpdm", "dp-sgd-dm", "dp-diffusion", "dp-ldm", "dp-lora", "dp-merf",
    "dp-mepf", "dp-gan", "gs-wgan", "pate-gan", "g-pate", "datalens", "p3gm", "psg",
    "ganobfuscator", "dp-gan-zhang", "dpaf", "dpd-fvae", "dp2-vae", "dppm",
}  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> dict[str, ClaimRow]:
    return {row.method: row for row in claims_table()}


def test_every_method_has_a_row(rows: dict[str, ClaimRow]) -> None:
    assert set(claim_entries()) == set(rows) >= METHODS_OF_OUR_NOTES
    assert dumps(list(rows.values())).count('"method"') == len(claim_entries())


def test_a_method_that_no_paper_claims_anything_for_says_so(rows: dict[str, ClaimRow]) -> None:
    ours = {name for name, kind in METHODS.items() if not kind.readings}
    assert ours >= {"class-moments", "prior-moments", "public-choice", "selective-pretraining", "independent-marginals", "nonprivate"}
    for name in ours:
        assert rows[name].bound.reason.startswith("No paper claims anything"), name
        assert rows[name].claim.status == rows[name].bound.status == "not_evaluated"
    assert "no finite bound" in rows["nonprivate"].bound.reason
    assert "bound is proved" in rows["class-moments"].bound.reason


def test_every_row_says_what_it_is(rows: dict[str, ClaimRow]) -> None:
    for row in rows.values():
        assert row.source
        assert row.bound.reason.endswith(".")
        assert 1 <= row.bound.reason.count(". ") + 1 <= 2, row.method
        assert row.bound.is_finite == (row.bound.status == "proved")
        assert row.claim.status == "not_evaluated" or (row.formula and row.setting and row.claim.is_finite)


def test_every_row_has_its_line_of_code_and_tests_that_exist(rows: dict[str, ClaimRow]) -> None:
    root = Path(__file__).parents[2]
    for name in rows:
        place = place_of(name)
        assert f'"{name}"' in (root / place.file).read_text().splitlines()[place.line - 1], (
            f"Expected the class of {name} to give its name."
        )
        assert place.tests
        for file, _, case in (test.partition("::") for test in place.tests):
            text = (root / file).read_text()
            if case:
                test, _, method = case.removesuffix("]").partition("[")
                assert f"ALL_METHODS)\ndef {test}(" in text, "a case for every method"
                assert method in ALL_METHODS
                assert method == name or name not in METHODS
            elif name in METHODS:
                assert f'"{name}"' in text or f"methods.{name.replace('-', '_')}" in text, f"{file} says nothing of {name}."


def test_the_line_of_a_method_s_name_is_found_however_its_class_gives_it() -> None:
    class Annotated(METHODS["dp-merf"]):
        name: ClassVar[str] = "annotated"

    class Plain(METHODS["dp-merf"]):
        title = "plain"
        name = "plain"

    class Together(METHODS["dp-merf"]):
        released = ("together",)
        name, title, source = "together", "together", "nobody"

    class Inheriting(Plain):
        title = "plain"

    lines = Path(__file__).read_text().splitlines()
    name_lines = [lines[line_of_name(kind) - 1].strip() for kind in (Annotated, Plain, Together, Inheriting)]
    assert name_lines == [
        'name: ClassVar[str] = "annotated"',
        'name = "plain"',
        'name, title, source = "together", "together", "nobody"',
        "class Inheriting(Plain):",
    ]


def test_lessons(rows: dict[str, ClaimRow]) -> None:
    assert rows["dp-sad-eq15"].claim.epsilon == pytest.approx(10.05, abs=0.01)
    assert "sigma/C=340000" in rows["dp-sad-eq15"].setting
    assert rows["dp-sad-eq15"].bound.epsilon > 4 * rows["dp-sad-eq15"].claim.epsilon
    assert rows["dp-sad"].claim.epsilon == pytest.approx(10.0, abs=0.01)
    assert rows["dp-sad"].bound.epsilon == math.inf
    assert rows["dp-sad-sound"].claim.epsilon > 1e12 * rows["dp-sad-sound"].bound.epsilon
    assert rows["chu-dpdm-printed"].bound.epsilon == math.inf
    assert "MI(X; M(X) + B) <= v + beta" in rows["p3dm"].formula
    assert rows["dp-promise"].claim.epsilon == pytest.approx(9.9408, abs=5e-5)
    assert rows["dp-promise"].bound.status == "refuted"
    assert rows["dp-promise-renoised"].bound.epsilon == pytest.approx(10.416, abs=5e-4)
    assert rows["dp-promise-renoised"].bound.neighboring_relation == "REPLACE_SPECIAL"
    assert rows["dpgen"].bound.status == "refuted"
    assert rows["chu-dpdm-batch"].bound.epsilon > 1000 * rows["chu-dpdm"].claim.epsilon
    assert rows["chu-dpdm"].bound.epsilon < rows["chu-dpdm"].claim.epsilon


def test_the_document_says_why_a_claim_has_its_status_and_why_the_bound_has_its_own(rows: dict[str, ClaimRow]) -> None:
    sections = {section.split("\n")[0]: section for section in claims_markdown().split("\n## ")[1:]}
    for name, row in rows.items():
        assert row.claim.reason in sections[name], name
        assert row.bound.reason in sections[name], name
    assert "On the claim: " + rows["dp-gan"].claim.reason in sections["dp-gan"]


def test_claims_of_votes_say_that_a_record_is_replaced_and_that_nothing_is_sampled(rows: dict[str, ClaimRow]) -> None:
    """A formula of sampled steps beside one that samples nothing: each says what it assumes."""
    for name in ("g-pate", "datalens"):
        assert (rows[name].claim.neighboring_relation, rows[name].claim.sampling) == ("REPLACE_ONE", "none"), name
        assert rows[name].bound.sampling == "all teachers in every round"
    assert (rows["dp-diffusion"].claim.neighboring_relation, rows["dp-diffusion"].claim.sampling) == ("ADD_OR_REMOVE_ONE", "Poisson")


def test_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text() == claims_markdown(), "Run `workbench claims --markdown > docs/claims.md`."


BUILT = {name: entry for name, entry in claim_entries().items() if isinstance(entry, PlannedClaim)}


def test_every_method_that_claims_an_epsilon_has_a_row() -> None:
    claiming = {name for name, kind in METHODS.items() if kind.readings}
    assert {entry.method for entry in BUILT.values()} == claiming
    silent = [
        make_plan(name, facts("digits" if "image" in METHODS[name].kinds else "breast-cancer"), epsilon=None).claim
        for name in METHODS.keys() - claiming
    ]
    assert not any(claim.is_finite for claim in silent)
    assert {"dp-merf", "dp-promise"} <= claiming


def values_of(entry: PlannedClaim) -> dict[str, Any]:
    """What the preset of a reading sets, by dotted name."""

    def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
        for name, value in values.items():
            yield from flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else [(prefix + name, value)]

    return dict(flat(METHODS[entry.method].presets[entry.reading.preset].values(facts(entry.reading.dataset))))


@pytest.mark.parametrize("name", BUILT)
def test_every_setting_in_the_document_comes_from_a_preset(name: str) -> None:
    """Each number stands in the preset itself, or is a public fact of the dataset: none is a default or written by hand."""
    entry, public = BUILT[name], facts(BUILT[name].reading.dataset)
    section = DOCUMENT.read_text().split(f"\n## {name}\n")[1].split("\n## ")[0]
    shown = section.split("- Setting: ")[1].split("\n")[0]
    where, numbers = shown.split(": ")
    assert where == f"{public.name}, preset {entry.reading.preset}"
    documented = {words.split(" ")[0]: words.split(" ")[1].split("=")[-1] for words in numbers.split(", ")}
    assert documented.keys() == entry.reading.notation.keys()
    preset = values_of(entry)
    assert {field: float(value) for field, value in documented.items()} == {
        field: getattr(public, field) if hasattr(public, field) else preset[field] for field in documented
    }


@pytest.mark.parametrize("name", BUILT)
def test_a_changed_preset_changes_the_document(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = BUILT[name]
    presets, before = METHODS[entry.method].presets, entry.row(name)
    preset, values = presets[entry.reading.preset], values_of(entry)
    for field in entry.reading.notation.keys() & values.keys():
        changed = replace(preset, values=lambda known, field=field: preset.values(known) | {field: round(values[field]) + 1})
        monkeypatch.setitem(presets, entry.reading.preset, changed)
        after = entry.row(name)
        assert after.setting != before.setting, field
        assert after.claim.epsilon != before.claim.epsilon, field
