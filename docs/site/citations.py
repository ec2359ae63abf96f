"""What is cited where: the entries of docs/references.bib, by the methods that their `keywords` name."""

from functools import cache

from pybtex.database import Entry, parse_file

from docs.site.links import ROOT

BIBLIOGRAPHY = ROOT / "docs/references.bib"
PAGE = """# References

What the workbench knows of a paper beyond its authors and year. A method whose paper is not here names it in its line *Source*.

```{bibliography}
:all:
```
"""


@cache
def entries() -> dict[str, Entry]:
    """The entries by key."""
    return dict(parse_file(BIBLIOGRAPHY).entries)


def methods_of(entry: Entry) -> list[str]:
    """The methods that are a paper's."""
    return [name.strip() for name in entry.fields.get("keywords", "").split(",") if name.strip()]


def papers_of(method: str) -> list[str]:
    """The keys of a method's papers."""
    return [key for key, entry in entries().items() if method in methods_of(entry)]


def cited(keys: list[str] | tuple[str, ...]) -> list[str]:
    """A line that cites these, nothing for none."""
    return ["**Papers**: " + ", ".join(f"{{cite:t}}`{key}`" for key in keys), ""] if keys else []
