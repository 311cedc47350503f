"""Faults that can be planted in a module: one small change of its source each, found by its syntax tree.

Docstrings, type hints, decorators, ``__all__``, texts of errors, assertions and arguments that change no result are
left alone: a fault there would be none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
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
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
# Names of functions and methods, and their replacements.
_TWINS = {
    one: other
    for pair in (
        ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("nanmin", "nanmax"), ("any", "all"),
        ("floor", "ceil"), ("sum", "mean"), ("logical_and", "logical_or"), ("idxmin", "idxmax"),
        ("zeros", "ones"), ("cumsum", "cumprod"), ("head", "tail"),
    )
    for one, other in (pair, pair[::-1])
}  # fmt: skip
_SIDES = {"left": "right", "right": "left"}
# Keyword arguments that do not affect results.
_NEUTRAL = frozenset(
    {
        "strict", "cache", "nogil", "parallel", "frozen", "slots", "eq", "repr", "init", "compare", "kw_only",
        "stacklevel", "encoding", "copy", "fastmath", "inline", "ensure_ascii", "indent", "flush", "check_names",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One change of a source: bytes from `start` to `end` are replaced.

    Parameters
    ----------
    line : int
        Number of the line in which it begins, from 1.
    kind : str
        Kind of change.
    start, end : int
        Place in the source, in bytes.
    replacement : str
        Replacement text.
    """

    line: int
    kind: str
    start: int
    end: int
    replacement: str

    def applied(self, source: str) -> str:
        """Return the source with the fault."""
        data = source.encode()
        return (data[: self.start] + self.replacement.encode() + data[self.end :]).decode()

    def lines(self, source: str) -> tuple[str, str]:
        """Return the stripped line before and after the fault."""
        before, after = source.splitlines(), self.applied(source).splitlines()
        at = self.line - 1
        return before[at].strip(), after[at].strip()


def faults_of(source: str) -> list[Fault]:
    """Return every fault that can be planted in a source, in the order of places; each changes the syntax tree."""
    return [fault for fault in candidates_of(source) if changes_program(source, fault)]


def candidates_of(source: str) -> list[Fault]:
    """Return changes of a source, in the order of places, a few of which are no faults (see `changes_program`)."""
    found = {(fault.start, fault.end, fault.replacement): fault for fault in _Finder(source).found(ast.parse(source))}
    return [found[key] for key in sorted(found)]


def changes_program(source: str, fault: Fault) -> bool:
    """Return whether a source with a fault is a program, and another one."""
    try:
        return ast.dump(ast.parse(fault.applied(source))) != _dumped(source)
    except SyntaxError:
        return False


@lru_cache(maxsize=1)
def _dumped(source: str) -> str:
    return ast.dump(ast.parse(source))


class _Finder:
    """Walks a syntax tree and yields faults."""

    def __init__(self, source: str) -> None:
        self._starts = [0]
        for line in source.encode().splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def found(self, tree: ast.Module) -> Iterator[Fault]:
        yield from self._block(tree.body, None)

    # Statements.

    def _block(self, body: list[ast.stmt], function: ast.AST | None) -> Iterator[Fault]:
        for number, statement in enumerate(body):
            docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not docstring:
                yield from self._statement(statement, function, last=number == len(body) - 1)

    def _statement(self, node: ast.stmt, function: ast.AST | None, *, last: bool) -> Iterator[Fault]:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Pass() | ast.Global() | ast.Nonlocal():
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if not _is_abstract(node):
                    for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                        yield from self._expression(default)
                    yield from self._block(node.body, node)
            case ast.ClassDef():
                if not any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
                    yield from self._block(node.body, None)
            case ast.Raise():
                # The message does not matter; raising does.
                yield self._fault(node, "statement removed", "pass")
            case ast.If():
                if not _is_of_types(node.test):
                    yield from self._condition(node.test)
                    yield from self._block(node.body, function)
                yield from self._block(node.orelse, function)
            case ast.While():
                yield from self._expression(node.test)
                yield from self._block(node.body, function)
                yield from self._block(node.orelse, function)
            case ast.For() | ast.AsyncFor():
                yield from self._expression(node.iter)
                yield from self._block(node.body, function)
                yield from self._block(node.orelse, function)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    yield from self._expression(item.context_expr)
                yield from self._block(node.body, function)
            case ast.Try() | ast.TryStar():
                yield from self._block(node.body, function)
                for handler in node.handlers:
                    yield from self._block(handler.body, function)
                yield from self._block(node.orelse, function)
                yield from self._block(node.finalbody, function)
            case ast.Match():
                for case in node.cases:
                    if case.guard is not None:
                        yield from self._condition(case.guard)
                    yield from self._block(case.body, function)
            case ast.Return():
                # Where the function goes on otherwise; elsewhere no return is no answer, which any test sees.
                if function is not None and node is not getattr(function, "body", [None])[-1]:
                    yield self._fault(node, "statement removed", "pass")
                yield from self._expression(node.value)
            case ast.Break():
                yield self._fault(node, "break for continue", "continue")
            case ast.Continue():
                yield self._fault(node, "statement removed", "pass")
            case ast.Assign():
                if any(isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets):
                    return
                if any(isinstance(target, ast.Subscript | ast.Attribute) for target in node.targets):
                    yield self._fault(node, "statement removed", "pass")
                yield from self._expression(node.value)
            case ast.AnnAssign():
                yield from self._expression(node.value)
            case ast.AugAssign():
                yield self._fault(node, "statement removed", "pass")
                if (operator := _ARITHMETIC.get(type(node.op))) and not _is_text(node.value):
                    changed = ast.AugAssign(node.target, operator(), node.value)
                    yield self._fault(node, "arithmetic", ast.unparse(changed))
                yield from self._expression(node.value)
            case ast.Expr():
                if not isinstance(node.value, ast.Yield | ast.YieldFrom | ast.Await):
                    yield self._fault(node, "statement removed", "pass")
                yield from self._expression(node.value)
            case ast.Delete():
                yield self._fault(node, "statement removed", "pass")
            case _:
                return

    def _condition(self, test: ast.expr) -> Iterator[Fault]:
        """Yield faults of a condition; that it is turned around is one, if its parts do not amount to the same."""
        if not isinstance(test, ast.Compare | ast.UnaryOp) or (isinstance(test, ast.Compare) and len(test.ops) > 1):
            yield self._fault(test, "condition negated", f"not ({ast.unparse(test)})")
        yield from self._expression(test)

    # Expressions.

    def _expression(self, node: ast.AST | None) -> Iterator[Fault]:
        if node is None or isinstance(node, ast.JoinedStr):
            return
        own = self._OWN.get(type(node))
        if own is not None:
            yield from own(self, node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("cast", "TypeVar"):
            return
        if isinstance(node, ast.Call) and _makes_error(node):
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.keyword):
                if child.arg not in _NEUTRAL:
                    yield from self._keyword(child)
            elif isinstance(child, ast.comprehension):
                yield from self._expression(child.iter)
                for test in child.ifs:
                    yield from self._condition(test)
            elif isinstance(child, ast.expr) and not isinstance(child, ast.arguments):
                yield from self._expression(child)

    def _keyword(self, keyword: ast.keyword) -> Iterator[Fault]:
        value = keyword.value
        if keyword.arg == "axis":
            axis = _whole_number(value)
            if axis is not None:
                yield self._fault(value, "axis", "0" if axis else "1")
            return
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value in _SIDES:
            yield self._fault(value, "side", repr(_SIDES[value.value]))
            return
        yield from self._expression(value)

    def _comparison(self, node: ast.Compare) -> Iterator[Fault]:
        for number, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                operators = [*node.ops[:number], other(), *node.ops[number + 1 :]]
                yield self._fault(node, "comparison", ast.unparse(ast.Compare(node.left, operators, node.comparators)))

    def _arithmetic(self, node: ast.BinOp) -> Iterator[Fault]:
        operator = _ARITHMETIC.get(type(node.op))
        if operator is not None and not _is_text(node.left) and not _is_text(node.right):
            yield self._fault(node, "arithmetic", f"({ast.unparse(ast.BinOp(node.left, operator(), node.right))})")

    def _logic(self, node: ast.BoolOp) -> Iterator[Fault]:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield self._fault(node, "and for or", f"({ast.unparse(ast.BoolOp(other, node.values))})")

    def _unary(self, node: ast.UnaryOp) -> Iterator[Fault]:
        if isinstance(node.op, ast.Not | ast.Invert):
            yield self._fault(node, "negation dropped", f"({ast.unparse(node.operand)})")
        elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            yield self._fault(node, "sign dropped", f"({ast.unparse(node.operand)})")

    def _constant(self, node: ast.Constant) -> Iterator[Fault]:
        if isinstance(node.value, bool):
            yield self._fault(node, "constant", repr(not node.value))
        elif isinstance(node.value, int):
            yield self._fault(node, "constant", repr(node.value + 1))
        elif isinstance(node.value, float):
            yield self._fault(node, "constant", repr(node.value * 2 if node.value else 1.0))

    def _call(self, node: ast.Call) -> Iterator[Fault]:
        if isinstance(node.func, ast.Name) and node.func.id in _TWINS:
            yield self._fault(node.func, "function", _TWINS[node.func.id])
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _TWINS:
            other = ast.Attribute(node.func.value, _TWINS[node.func.attr], ast.Load())
            yield self._fault(node.func, "function", ast.unparse(other))

    def _choice(self, node: ast.IfExp) -> Iterator[Fault]:
        swapped = ast.IfExp(node.test, node.orelse, node.body)
        yield self._fault(node, "branches swapped", f"({ast.unparse(swapped)})")

    def _slice(self, node: ast.Slice) -> Iterator[Fault]:
        for part in ("lower", "upper", "step"):
            if getattr(node, part) is not None:
                kept = {name: getattr(node, name) for name in ("lower", "upper", "step") if name != part}
                yield self._fault(node, "slice", ast.unparse(ast.Slice(**kept)))

    _OWN: dict[type[ast.AST], Callable[..., Iterator[Fault]]] = {  # noqa: RUF012  # never changed
        ast.Compare: _comparison,
        ast.BinOp: _arithmetic,
        ast.BoolOp: _logic,
        ast.UnaryOp: _unary,
        ast.Constant: _constant,
        ast.Call: _call,
        ast.IfExp: _choice,
        ast.Slice: _slice,
    }

    def _fault(self, node: ast.AST, kind: str, replacement: str) -> Fault:
        start = self._starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self._starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return Fault(node.lineno, kind, start, end, replacement)  # type: ignore[attr-defined]


def _is_text(node: ast.expr) -> bool:
    """Whether it is a text or a list written out, with which there is no arithmetic but joining."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _is_abstract(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the body is nothing but ``...`` and a docstring."""
    return all(isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) for statement in node.body)


def _is_of_types(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'")


def _makes_error(node: ast.Call) -> bool:
    """Whether an error or a warning is made or given, whose text is no result."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name.endswith(("Error", "Warning")) or name == "warn"


def _whole_number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _whole_number(node.operand)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
