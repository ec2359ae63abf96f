"""The site's sources in one folder: documents as they are, notebooks, and pages that registries give."""

import json
import shutil
from pathlib import Path

import nbformat

from docs.site.citations import BIBLIOGRAPHY
from docs.site.links import ROOT, rewritten
from docs.site.outputs import with_outputs
from docs.site.proofs import proof_pages
from docs.site.reference import reference_pages

PROOFS = Path("docs/proofs.md")
OWN_METHOD, EXAMPLE = Path("docs/contribute/own-method.md"), Path("tests/support/odd_methods/mean.py")  # the page ends in its example
RENAMED = {
    Path("CONTRIBUTING.md"): Path("contribute/index.md"),
    Path("CHANGELOG.md"): Path("contribute/changes.md"),
    Path("benchmarks/results.md"): Path("evidence/benchmarks.md"),
    Path("docs/lessons.md"): Path("lessons/index.md"),
    Path("docs/claims.md"): Path("evidence/claims.md"),
    PROOFS: Path("proofs/index.md"),
}
EVIDENCE = ("comparisons", "coverage", "mutants", "record", "slow-tests", "tried")


def pages() -> dict[Path, Path]:
    """Where every document, picture and notebook below the root has its page below the sources."""
    targets = dict(RENAMED)
    for path in sorted((ROOT / "docs").rglob("*")):
        below = path.relative_to(ROOT)
        if path.suffix in {".md", ".png", ".svg"} and "site" not in below.parts and below not in targets:
            targets[below] = Path("evidence", path.name) if path.stem in EVIDENCE else below.relative_to("docs")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        targets[path.relative_to(ROOT)] = Path("lessons", path.name)
    return targets


def assemble(sources: Path) -> None:
    """Write all sources anew under `sources`; raises MissingTargetError where a link leads nowhere, and StaleOutputsError
    where the outputs of a lesson are not those of its code."""
    shutil.rmtree(sources, ignore_errors=True)
    known = pages()
    for document, page in known.items():
        target = sources / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if document == PROOFS:
            text = rewritten((ROOT / document).read_text(), document, page, known)
            for name, proof in proof_pages(text).items():
                (target.parent / f"{name}.md").write_text(proof)
        elif document.suffix == ".md":
            target.write_text(_with_title(rewritten((ROOT / document).read_text(), document, page, known), document))
        elif document.suffix == ".ipynb":
            target.write_text(_notebook(ROOT / document, document, page, known))
        else:
            shutil.copyfile(ROOT / document, target)
    with (sources / OWN_METHOD.relative_to("docs")).open("a") as page:
        page.write(f"\n```python\n{(ROOT / EXAMPLE).read_text()}```\n")
    for name, text in reference_pages((ROOT / "docs/claims.md").read_text()).items():
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text(text)
    shutil.copytree(ROOT / "docs/site/static", sources / "_static")
    shutil.copyfile(BIBLIOGRAPHY, sources / BIBLIOGRAPHY.name)
    for name in ("conf.py", "scorer.js"):
        shutil.copyfile(ROOT / "docs/site" / name, sources / name)


def _with_title(text: str, document: Path) -> str:
    """The text with a title: tables of results carry their recipe's."""
    if text.startswith("# "):
        return text
    results = (ROOT / document).with_suffix(".json")
    title = json.loads(results.read_text())["recipe"]["title"] if results.exists() else document.stem
    picture = f"\n![{title}]({document.stem}.png)\n" if (ROOT / document).with_suffix(".png").exists() else ""
    return f"# {title}\n{picture}\n{text}"


def _notebook(path: Path, document: Path, page: Path, known: dict[Path, Path]) -> str:
    """The notebook with links of the site and what it prints and draws."""
    notebook = with_outputs(path, nbformat.read(path, as_version=4))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = rewritten(cell.source, document, page, known)
    return nbformat.writes(notebook)
