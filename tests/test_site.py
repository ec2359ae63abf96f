"""The site of documents: its links, the pages that registries give, proofs that name real code, and decks of lessons."""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from support.homes import here

from docs.site import citations, formats, outputs
from docs.site.environment import FOR_TESTS, VARIABLES
from docs.site.links import ROOT, MissingTargetError, rewritten
from docs.site.proofs import place, proof_pages
from docs.site.reference import reference_pages
from docs.site.slides import deck
from docs.site.tables import settings_table
from docs.site.theorems import THEOREMS
from workbench import datasets
from workbench.cli.groups import GROUPS
from workbench.datasets import DATASETS
from workbench.evaluation import METRICS, evaluate
from workbench.jobs.launchers import LAUNCHERS, chosen_launcher
from workbench.methods import METHODS
from workbench.methods.dp_merf import DPMERFConfig
from workbench.pages import PAGES
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.accountants.mechanisms import ExactGaussian, SampledGaussian
from workbench.runs.release import archive
from workbench.trackers import TRACKERS, TrackedRun
from workbench.words import glossary

DOCUMENTS = {Path("docs/proofs.md"): Path("proofs/index.md"), Path("docs/claims.md"): Path("evidence/claims.md")}

ADDITIONS = sorted((ROOT / "docs/contribute").glob("add-*.md"))
REGISTRIES: tuple[Any, ...] = (DATASETS, METRICS, ACCOUNTANTS, LAUNCHERS, PAGES, TRACKERS)


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    """Every page that registries give."""
    return reference_pages((ROOT / "docs/claims.md").read_text())


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("see [claims](claims.md#dp-merf)", "see [claims](../evidence/claims.md#dp-merf)"),
        ("in [workbench/plan.py](../workbench/plan.py)", "in `workbench/plan.py`"),
        ("the [plan](../workbench/plan.py)", "the plan (`workbench/plan.py`)"),
        ("a [`Plan`](../workbench/plan.py) and `x`", "a `Plan` (`workbench/plan.py`) and `x`"),
        ("`[a](nowhere.md)` stays", "`[a](nowhere.md)` stays"),
        ("pixels in [-1, 1] (all)", "pixels in [-1, 1] (all)"),
    ],
)
def test_links_are_those_of_the_site(text: str, there: str) -> None:
    assert rewritten(text, Path("docs/proofs.md"), Path("proofs/index.md"), DOCUMENTS) == there


def test_a_link_to_nothing_is_refused() -> None:
    with pytest.raises(MissingTargetError, match=r"docs/proofs.md links to gone.md"):
        rewritten("[gone](gone.md)", Path("docs/proofs.md"), Path("proofs/index.md"), DOCUMENTS)


def test_every_variable_that_is_read_is_listed() -> None:
    source = "\n".join(path.read_text() for path in (ROOT / "workbench").rglob("*.py"))
    read = set(re.findall(r"\"((?:WORKBENCH|XDG)_[A-Z_]+)\"", source))
    assert read == set(VARIABLES)
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    assert all(name in tests or name in source for name in FOR_TESTS)


def test_every_proof_states_a_theorem_and_names_code_and_tests_that_are_there() -> None:
    pages = proof_pages((ROOT / "docs/proofs.md").read_text())
    assert set(pages) == {"index", *(f"{number:02d}" for number in THEOREMS)}
    for number, theorem in THEOREMS.items():
        page = pages[f"{number:02d}"]
        for named in (theorem.code, theorem.tests):
            assert all(place(path, name) in page for path, names in named.items() for name in names)
        assert page.index("prf:theorem") < page.index("**Code**") < page.index("prf:proof")


def test_every_reference_is_cited_and_every_citation_is_of_one(reference: dict[str, str]) -> None:
    known, pages = citations.entries(), proof_pages((ROOT / "docs/proofs.md").read_text())
    assert all(entry.persons["author"] and entry.fields["title"] and entry.fields["year"] for entry in known.values())
    of_methods = {name for entry in known.values() for name in citations.methods_of(entry)}
    assert of_methods <= set(METHODS)
    assert of_methods >= {"dp-promise", "chu-dpdm", "dp-sad", "p3dm", "ddm"}
    written = "\n".join([*reference.values(), *pages.values()])
    assert set(re.findall(r"{cite:t}`(.+?)`", written)) == set(known)
    for name in of_methods:
        assert all(f"{{cite:t}}`{key}`" in reference[f"methods/{name}.md"] for key in citations.papers_of(name))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_s_source_names_the_papers_that_its_page_cites(name: str) -> None:
    for key in citations.papers_of(name):
        entry = citations.entries()[key]
        author = " ".join(entry.persons["author"][0].last_names)
        assert author in METHODS[name].source
        assert entry.fields["year"] in METHODS[name].source


@pytest.mark.parametrize("number", THEOREMS)
def test_every_theorem_is_of_definitions_and_tests_by_name(number: int) -> None:
    """A whole file is no answer to what holds a theorem: each file has the functions and classes that do."""
    theorem = THEOREMS[number]
    assert theorem.code
    assert theorem.tests
    assert all(names and path.startswith("workbench/") for path, names in theorem.code.items())
    assert all(names and path.startswith("tests/") for path, names in theorem.tests.items())
    assert any(name.startswith("test_") for names in theorem.tests.values() for name in names)


def test_a_proof_that_names_what_is_gone_is_refused() -> None:
    assert re.fullmatch(r"`workbench/training/dp_sgd.py:\d+` \(`DPSGD`\)", place("workbench/training/dp_sgd.py", "DPSGD"))
    with pytest.raises(LookupError, match=r"Expected Gone in workbench/training/dp_sgd.py"):
        place("workbench/training/dp_sgd.py", "Gone")
    with pytest.raises(FileNotFoundError):
        place("workbench/gone.py", "Gone")


def test_every_method_has_a_page_with_claim_settings_and_code(reference: dict[str, str]) -> None:
    for name, method in METHODS.items():
        page = reference[f"methods/{name}.md"]
        assert page.startswith(f"# {name}: {method.title}")
        missing = [reading for reading in method.readings or (name,) if f"**{reading}**: " not in page]
        assert missing == [], f"docs/claims.md has no row of {', '.join(missing)}: run `workbench claims --markdown > docs/claims.md`."
        page_of_method = ROOT / re.search(r"named in `([^`]+/method.py)`", page)[1]  # type: ignore[index]
        assert page_of_method.is_file(), f"Expected the class of {name} in {page_of_method.relative_to(ROOT)}."
    assert "**dp-promise-renoised**" in reference["methods/dp-promise.md"]
    assert "| tables |" in reference["methods/mst.md"]


def test_settings_show_nested_fields_with_their_defaults() -> None:
    lines = settings_table(DPMERFConfig)
    assert "| `num_features` | `2000` | Random Fourier features (cosines and sines together). |" in lines
    assert any(line.startswith("| `training.steps` | `800` |") for line in lines)


def test_every_key_of_a_file_has_a_meaning(reference: dict[str, str]) -> None:
    page = reference["reference/formats.md"]
    assert "| `columns.other` | `` | The category of every other text; without one such a text is refused. |" in page
    assert [line for line in page.splitlines() if line.endswith("|  |")] == []


@pytest.mark.parametrize("title", formats.WRITTEN)
def test_every_key_that_is_written_has_a_meaning_and_no_other(title: str, reference: dict[str, str]) -> None:
    model, meanings = formats.WRITTEN[title]
    assert set(meanings) == set(model.model_fields)
    assert f"**{title}**" in reference["reference/formats.md"]


def test_the_keys_of_results_and_the_members_of_exports_are_those_that_there_are() -> None:
    kept = [json.loads(path.read_text())["results"] for path in sorted((ROOT / "docs/results").glob("*.json"))]
    assert {key for results in kept for result in results for key in result} == set(formats.RESULT)
    assert set(formats.EXPORT) == archive.NEEDED | {archive.SAMPLES.pattern}


@pytest.mark.parametrize("page", ADDITIONS, ids=lambda page: page.stem)
def test_a_page_of_what_to_add_is_short_and_names_what_is_there(page: Path) -> None:
    text = page.read_text()
    assert len(text.splitlines()) < 40
    named = re.findall(r"`((?:workbench|tests|docs)/[\w./-]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    assert all(f"def {name}(" in tests for name in re.findall(r"`(test_\w+)`", text))


@pytest.mark.usefixtures("workbench_home")
def test_the_examples_of_what_to_add_are_true(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for registry in REGISTRIES:
        for name in ("stripes", "brightness_gap", "basic", "polite", "shapes", "json"):
            monkeypatch.setitem(registry, name, None)  # so that what an example puts there is gone after the test
            del registry[name]
    made = {page.stem.removeprefix("add-"): example(page, monkeypatch) for page in ADDITIONS}
    stripes = datasets.load("stripes")
    assert stripes.facts == datasets.facts("stripes")
    stripes.facts.check(stripes.train)
    (gap,) = evaluate(stripes.held_out, stripes, metrics=["brightness_gap"], workspace=here())
    assert (gap.value, gap.releasable) == (0.0, False)
    for composition in ({ExactGaussian(0.5): 3}, {SampledGaussian(0.1, 2.0): 3}):
        assert ACCOUNTANTS["basic"].epsilon(composition, 1e-5) >= ACCOUNTANTS["pld"].epsilon(composition, 1e-5)
    assert chosen_launcher("polite") == "polite"
    assert PAGES["shapes"].public
    entry = TrackedRun("run", "digits", {"delta": "1e-5"}, {"accuracy": 0.5}, {}, (), private=False)
    assert json.loads(Path(TRACKERS["json"](entry, str(tmp_path))).read_text())["values"] == entry.values
    assert made["attack"].found.is_caught


def example(page: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The blocks of a page as a module that was imported."""
    module = ModuleType(page.stem.replace("-", "_"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec("".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)), module.__dict__)
    return module


def test_the_glossary_has_the_words_that_help_and_pages_explain() -> None:
    code = "from workbench.words import glossary; print(glossary(), end='')"
    assert (ROOT / "docs/concepts/glossary.md").read_text() == glossary(), f'Run `python -c "{code}" > docs/concepts/glossary.md`.'
    assert "\ndelta\n  What is left over beyond epsilon" in glossary()


def test_every_command_is_in_the_reference(reference: dict[str, str]) -> None:
    for title, commands in GROUPS.items():
        assert f"\n## {title}\n" in reference["reference/commands.md"]
        for name in commands:
            assert f"\n### workbench {name}\n" in reference["reference/commands.md"]


def test_a_deck_has_statements_and_no_code() -> None:
    notebook = nbformat.read(ROOT / "notebooks/02_epsilon_itself.ipynb", as_version=4)
    html = deck(notebook)
    assert "Epsilon itself" in html
    assert 'src="reveal/dist/reveal.js"' in html
    assert re.findall(r'(?:src|href)="https?://[^"]*"', html) == [], "nothing is asked of the network"
    assert "import numpy" not in html
    assert "Not answered yet" not in html
    assert html.count("<section><section") == 1 + sum(
        cell.source.startswith("## ") and "Your turn" not in cell.source for cell in notebook.cells
    )


@pytest.mark.parametrize("data", [{"image/svg+xml": "<svg></svg>", "text/plain": "figure"}, {"image/png": "AAAA"}])
def test_a_deck_s_pictures_have_their_cell_s_alternative_text(data: dict[str, str]) -> None:
    output = nbformat.v4.new_output("display_data", data)
    cell = nbformat.v4.new_code_cell("draw()", outputs=[output], metadata={"mystnb": {"image": {"alt": "A bell < a line"}}})
    html = deck(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title"), cell]))
    assert '<img alt="A bell &lt; a line" src="data:image/' in html


def test_readers_answered_three_questions_for_every_lesson() -> None:
    page = (ROOT / "docs/contribute/readers.md").read_text()
    lessons = re.findall(r"^\| \[(.+)\]\(\.\./notebooks/", (ROOT / "docs/lessons.md").read_text(), flags=re.MULTILINE)
    parts = re.split(r"^## \d+\. (.+)$", page, flags=re.MULTILINE)
    assert parts[1::2] == lessons
    judgement = r"^\| .+\? \| .+ \| (answered|half|not answered|misled) \| .+ \|$"
    by_lesson = [re.findall(judgement, part, flags=re.MULTILINE) for part in parts[2::2]]
    assert [len(judgements) for judgements in by_lesson] == [3] * len(lessons)
    count = Counter(judgement for judgements in by_lesson for judgement in judgements)
    assert (
        f"Of {count.total()} questions {count['answered']} were answered, {count['half']} half, {count['not answered']} not, "
        f"and {count['misled']} times the reader was misled."
    ) in page


def test_every_point_of_the_review_has_a_state_and_a_place() -> None:
    page = (ROOT / "docs/contribute/review.md").read_text()
    rows = re.findall(r"^\| (?!point|---)(.+) \| (.+) \| (.+) \|$", page, flags=re.MULTILINE)
    count = Counter(state for _point, state, _place in rows)
    assert set(count) == {"mended before", "mended now", "answered"}
    assert (
        f"Of {len(rows)} points {count['mended before']} were mended before, {count['mended now']} are mended now, "
        f"and {count['answered']} are answered."
    ) in page


def test_a_table_of_beliefs_is_computed() -> None:
    from workbench.privacy import tradeoff

    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) % sure \|", (ROOT / "docs/concepts/epsilon.md").read_text(), flags=re.MULTILINE)
    assert len(rows) == 4
    for epsilon, percent in rows:
        digits = len(percent.partition(".")[2])
        assert float(percent) == round(100 * float(tradeoff.posterior_belief(0.5, float(epsilon))), digits)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_site_shows_what_a_lesson_s_present_code_prints(path: Path) -> None:
    notebook = outputs.with_outputs(path, nbformat.read(path, as_version=4))
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert not [output for output in shown if output.output_type == "error" or outputs.WIDGET in output.get("data", {})]


def test_outputs_of_other_code_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "FOLDER", tmp_path)
    monkeypatch.setattr(outputs, "ROOT", tmp_path)
    cell = nbformat.v4.new_code_cell("1 + 1", outputs=[nbformat.v4.new_output("stream", text="2")])
    carried_out = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("Sums"), cell])
    outputs.keep(Path("sums.ipynb"), carried_out)
    cell.outputs = []
    assert outputs.with_outputs(Path("sums.ipynb"), carried_out).cells[1].outputs[0].text == "2"
    cell.source = "1 + 2"
    with pytest.raises(outputs.StaleOutputsError, match=r"sums.ipynb's code in .*make docs ARGS=--execute"):
        outputs.with_outputs(Path("sums.ipynb"), carried_out)
