"""Makes mutants of a module: its source with one small fault each, of the kinds tests must notice.

Faults are placed in the syntax tree and cut into the source at their place, so that the difference
shows nothing else. Annotations, decorators, docstrings, messages and what only type checkers run
are left alone: no test could notice.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

COMPARISONS: dict[type, list[str]] = {
    ast.Lt: ["<=", ">"],
    ast.LtE: ["<"],
    ast.Gt: [">=", "<"],
    ast.GtE: [">"],
    ast.Eq: ["!="],
    ast.NotEq: ["=="],
    ast.Is: ["is not"],
    ast.IsNot: ["is"],
    ast.In: ["not in"],
    ast.NotIn: ["in"],
}
ARITHMETIC: dict[type, str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "/",
    ast.Mod: "*",
    ast.Pow: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.MatMult: "*",
}
ASSERTIONS = (
    "strict",
    "repr",
    "stacklevel",
)  # arguments that check, or change how a thing is shown
SMALL = 0.01  # a number below is a tolerance: another by 1 would be noticed by anything


class Mutant(NamedTuple):
    """A module with one fault: of what kind, where, and the lines that differ."""

    module: str
    operator: str
    line: int
    before: str
    after: str
    occurrence: int  # among the mutants of the module that change lines of this text likewise
    source: str  # the whole module, with the fault

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What names the mutant, also when other lines of the module have moved."""
        return self.module, self.operator, self.before, self.after, self.occurrence


def mutants(module: Path, name: str) -> list[Mutant]:
    """Make every mutant of a module."""
    source, made, seen = module.read_text(), [], Counter[tuple[str, str, str]]()
    lines = source.encode().splitlines(keepends=True)
    for operator, node, text in faults(ast.parse(source)):
        first, last = node.lineno - 1, node.end_lineno
        mutated = with_text(lines[first:last], node, text)
        before, after = stripped(b"".join(lines[first:last])), stripped(mutated)
        seen[operator, before, after] += 1
        occurrence = seen[operator, before, after]
        whole = b"".join([*lines[:first], mutated, *lines[last:]]).decode()
        made.append(Mutant(name, operator, first + 1, before, after, occurrence, whole))
    return made


def with_text(lines: list[bytes], node: ast.expr | ast.stmt, text: str) -> bytes:
    """Put a text in place of a node in its lines; positions of the syntax tree count bytes."""
    return lines[0][: node.col_offset] + text.encode() + lines[-1][node.end_col_offset :]


def stripped(lines: bytes) -> str:
    """Give lines without their indents."""
    return "\n".join(line.strip() for line in lines.decode().splitlines())


def is_other(mutant: Mutant, source: str) -> bool:
    """Whether a mutant can be compiled and is not the module itself."""
    try:
        return ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def faults(tree: ast.Module) -> Iterator[tuple[str, Any, str]]:
    """Find the places of faults: kind, the node to replace, and its new text."""
    for node in runtime_nodes(tree):
        yield from expression_faults(node)
        if isinstance(node, ast.Expr | ast.AugAssign | ast.Raise):
            yield "statement deleted", node, "pass"
        elif isinstance(node, ast.Return) and not is_nothing(node.value):
            yield "return None", node, "return None"


def expression_faults(node: ast.AST) -> Iterator[tuple[str, Any, str]]:
    """Find the faults of an expression."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        for other in COMPARISONS[type(node.ops[0])]:
            yield "comparison", node, f"({left} {other} {right})"
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not is_text(node):
        other = ARITHMETIC[type(node.op)]
        yield (
            "arithmetic",
            node,
            f"(({ast.unparse(node.left)}) {other} ({ast.unparse(node.right)}))",
        )
    elif isinstance(node, ast.BoolOp):
        other = "or" if isinstance(node.op, ast.And) else "and"
        parts = (f"({ast.unparse(value)})" for value in node.values)
        yield "and, or", node, f"({f' {other} '.join(parts)})"
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield "sign or not dropped", node, f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition turned", node.test, f"(not ({ast.unparse(node.test)}))"
    elif isinstance(node, ast.Constant):
        for other in other_numbers(node.value):
            yield "constant", node, other
    elif isinstance(node, ast.Call):
        yield from without_keywords(node)


def without_keywords(call: ast.Call) -> Iterator[tuple[str, Any, str]]:
    """Leave out each named argument of a call."""
    for left_out in call.keywords:
        if left_out.arg not in (None, *ASSERTIONS) and not is_text(left_out.value):
            kept = [keyword for keyword in call.keywords if keyword is not left_out]
            shorter = ast.Call(func=call.func, args=call.args, keywords=kept)
            yield "argument dropped", call, ast.unparse(shorter)


def other_numbers(value: object) -> list[str]:
    """Give what stands in for a constant: its neighbours; for a tolerance, 1,000 times as much."""
    if isinstance(value, bool):
        return [str(not value)]
    if isinstance(value, int):
        return [f"({value + 1})", f"({value - 1})"]
    if isinstance(value, float):
        return [f"({value * 1000!r})"] if 0 < value < SMALL else [f"({value + 1!r})"]
    return []


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk over what runs and whose effect a test can see."""
    for node in ast.iter_child_nodes(tree):
        if not (is_unseen(node) or is_header(tree, node)):
            yield node
            yield from runtime_nodes(node)


def is_unseen(node: ast.AST) -> bool:
    """Whether only readers and type checkers see a node, or it says something and no more."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Expr):
        said = ast.unparse(node.value)
        return is_text(node.value) or said == "..." or said.startswith(("log.", "logger."))
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.FunctionDef):
        return any(ast.unparse(mark).endswith("overload") for mark in node.decorator_list)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Assert)


def is_header(parent: ast.AST, child: ast.AST) -> bool:
    """Whether a node is an annotation, a decorator or a base of its parent."""
    if isinstance(parent, ast.FunctionDef):
        return child in parent.decorator_list or child is parent.returns
    if isinstance(parent, ast.ClassDef):
        return child in parent.decorator_list or child in parent.bases
    if isinstance(parent, ast.AnnAssign | ast.arg):
        return child is parent.annotation
    return False


def is_text(node: ast.AST) -> bool:
    """Whether an expression is a text, or texts joined."""
    if isinstance(node, ast.BinOp):
        return is_text(node.left) or is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def is_nothing(value: ast.expr | None) -> bool:
    """Whether a function returns None by these words."""
    return value is None or (isinstance(value, ast.Constant) and value.value is None)
