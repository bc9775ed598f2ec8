"""``python -O`` leaves out ``assert``; what the code finds must not change with it."""

from __future__ import annotations

import ast
from pathlib import Path

import stateextract

ROOT = Path(stateextract.__file__).parents[1]
SOURCES = sorted([*ROOT.glob("stateextract/**/*.py"), *ROOT.glob("serializers/**/*.py")])


def narrows(test: ast.expr) -> bool:
    """``isinstance(NAME, …)``, ``is_…(NAME)`` or ``NAME is not None``: what type checkers need, and nothing else."""
    if isinstance(test, ast.Call):
        plain = isinstance(test.func, ast.Name) and (test.func.id == "isinstance" or test.func.id.startswith("is_"))
        return plain and bool(test.args) and is_name(test.args[0])
    if isinstance(test, ast.Compare):
        return is_name(test.left) and isinstance(test.ops[0], ast.IsNot) and len(test.ops) == 1
    return False


def is_name(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def test_asserts_only_narrow_types() -> None:
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert) and not narrows(node.test):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
            if isinstance(node, ast.Try):
                # An assert that is tried for its error looks at something that can fail.
                for statement in node.body:
                    assert not (len(node.body) == 1 and isinstance(statement, ast.Assert)), f"{path}:{node.lineno}"
    assert len(SOURCES) > 100
    assert found == []


def test_the_rule_knows_what_has_an_effect() -> None:
    texts = {
        "sorted(found) == list(range(3))": False,
        "found.pop() is not None": False,
        "isinstance(next(parts), int)": False,
        "isinstance(head, int)": True,
        "self.why is not None": True,
    }
    assert {text: narrows(ast.parse(text, mode="eval").body) for text in texts} == texts
