"""Mutants of the package: one operator, comparison, boolean or number of one statement changed, found on the syntax tree.

Skipped are docstrings and texts, annotations, messages (whatever is raised or warned), assertions (they narrow types here), and
the calls of `Field`, whose defaults and limits are hyper-parameters: what follows from them is in the code.
"""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SHOWING = ("cli", "pages", "server", "ui")  # folders that no release goes through; all others are drawn from, new ones too
SKIPPED_CALLS = {"Field", "warning", "warn", "print", "PrivacyValue", "Preset", "TypeVar"}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One change: `number` counts the changes of the file in the order of its tree, `text` is the line without its indentation."""

    path: str  # from the root of the checkout
    line: int
    text: str
    change: str
    number: int
    repetition: int = 1  # of the same change in the same text
    at_import: bool = False  # outside of every function, so that whatever uses the module reaches it

    @property
    def key(self) -> str:
        """What names the mutant as long as neither its line nor the change of it is rewritten."""
        again = f" | {self.repetition}" if self.repetition > 1 else ""
        return f"{self.path} | {self.text} | {self.change}{again}"


def mutants(root: Path, path: Path) -> list[Mutant]:
    """All mutants of a file."""
    source = path.read_text()
    lines, name = source.splitlines(), str(path.relative_to(root))
    seen: Counter[tuple[str, str]] = Counter()
    tree, mutations = ast.parse(source), []
    within = [range(f.lineno, (f.end_lineno or f.lineno) + 1) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    for number, (node, changed) in enumerate(changes(tree)):
        text, change = lines[node.lineno - 1].strip(), described(node, changed)
        seen[text, change] += 1
        at_import = not any(node.lineno in lines for lines in within)
        mutations.append(Mutant(name, node.lineno, text, change, number, seen[text, change], at_import))
    return mutations


def mutated(root: Path, mutant: Mutant) -> str:
    """The source of the mutant's file with its change."""
    tree = ast.parse((root / mutant.path).read_text())
    node, changed = list(changes(tree))[mutant.number]
    replace_fields(node, changed)
    return ast.unparse(tree) + "\n"


def drawn(root: Path, count: int, seed: int) -> list[Mutant]:
    """`count` mutants of all packages but `SHOWING`, all equally likely: code counts, not files.

    Each has a place of its own in the draw, so that a change of the code leaves the other mutants drawn as they were.
    """
    candidates = [mutant for path in files(root) for mutant in mutants(root, path)]
    return sorted(candidates, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest())[:count]


def files(root: Path) -> list[Path]:
    """The modules that mutants are drawn from."""
    package = root / "workbench"
    return sorted(path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in SHOWING)


Expression = ast.expr | ast.stmt


def changes(tree: ast.AST) -> Iterator[tuple[Expression, Expression]]:
    """Every node that can be changed, with what takes its place."""
    for node in code(tree):
        for changed in variants(node):
            yield node, changed


def code(node: ast.AST) -> Iterator[Expression]:
    """The nodes of a tree that decide what happens, in order."""
    if skipped(node):
        return
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from code(child)


def skipped(node: ast.AST) -> bool:
    """Whether nothing below `node` decides what happens."""
    if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
        return True
    called = node.func if isinstance(node, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    types = isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr)
    return name in SKIPPED_CALLS or types


def variants(node: Expression) -> list[Expression]:
    """What may take the place of a node."""
    if isinstance(node, ast.Compare):
        return [changed for index in range(len(node.ops)) for changed in compared(node, index)]
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        return [with_field(node, "op", OPERATORS[type(node.op)]())]
    if isinstance(node, ast.BoolOp):
        return [with_field(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return [copy.copy(node.operand)]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return [with_field(node, "value", not node.value)]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return [with_field(node, "value", other(node.value))]
    return []


def compared(node: ast.Compare, index: int) -> list[Expression]:
    """A comparison with another operator at `index`."""
    kinds = COMPARISONS[type(node.ops[index])]
    return [with_field(node, "ops", [*node.ops[:index], kind(), *node.ops[index + 1 :]]) for kind in kinds]


def other(value: float) -> float:
    """Another number: the next integer, or twice the float."""
    return value + 1 if isinstance(value, int) or value == 0 else 2 * value


def with_field(node: Expression, name: str, value: object) -> Expression:
    """A copy of `node` with one field changed."""
    changed = copy.copy(node)
    setattr(changed, name, value)
    return changed


def replace_fields(node: Expression, changed: Expression) -> None:
    """Turn `node` into `changed` where it stands in its tree."""
    node.__class__ = changed.__class__  # pyright: ignore[reportAttributeAccessIssue]
    node.__dict__.clear()
    node.__dict__.update(changed.__dict__)


def described(node: Expression, changed: Expression) -> str:
    """The change in words: the expression before and after."""
    return f"{shortened(node)} -> {shortened(changed)}"


def shortened(node: ast.AST) -> str:
    """A node as source on one line."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def by_package(chosen: Sequence[Mutant]) -> dict[str, int]:
    """How many mutants each package has, for the record."""
    return dict(sorted(Counter(mutant.path.split("/")[1] for mutant in chosen).items()))
