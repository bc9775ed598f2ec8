"""Packages import only what is below them, and no module imports itself by way of others.

The order is that of ``docs/architecture.md``. Imports inside of functions count, since they happen at run time; those
for type checkers only do not.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

LAYERS = (
    ("stateextract.derived", "stateextract.doors", "stateextract.printable", "stateextract.version", "stateextract.outcome"),
    ("stateextract.errors", "stateextract.ending"),
    ("stateextract.files",),
    ("stateextract.metadata",),
    ("stateextract.ha",),
    ("stateextract.columnar",),
    ("serializers",),
    ("stateextract.rocksdb",),
    ("stateextract.state",),
    ("stateextract.changelog",),
    ("stateextract.options", "stateextract.screen"),
    ("stateextract.snapshot",),
    ("stateextract.restore",),
    ("stateextract.job", "stateextract.api"),
    ("stateextract.audit", "stateextract.diff"),
    ("stateextract.report",),
    ("stateextract.spark",),
    ("stateextract.cli",),
    ("stateextract",),
)
"""From below to above. Packages of one layer do not import each other; the modules of a package may."""


def test_tests_need_no_benchmarks() -> None:
    named = re.compile(r"^\s*(?:from|import) benchmarks\b", re.M)
    assert named.search("import benchmarks\n")
    tests = sorted((ROOT / "tests").rglob("*.py"))
    assert len(tests) > 200
    assert [str(path) for path in tests if named.search(path.read_text(encoding="utf-8"))] == []


def modules() -> dict[str, Path]:
    found = {}
    for base in ("stateextract", "serializers"):
        for path in (ROOT / base).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


def test_a_file_name_is_given_once() -> None:
    """So that it says what the file holds. Both ``statistics.py`` are documented: users import them."""
    names = Counter(path.name for path in MODULES.values() if path.name != "__init__.py")
    assert len(names) > 400
    assert [name for name, times in names.items() if times > 1] == ["statistics.py"]


def test_a_class_name_is_given_once() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in MODULES.values()]
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert len(names) > 400
    assert [name for name, times in names.items() if times > 1 and not name.startswith("_")] == []


def imports(module: str) -> Iterator[str]:
    """The modules of this project that a module imports, but for type checkers."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def layer(module: str) -> int:
    """The number of the layer; the longest name that fits decides."""
    fitting = [
        (len(name), number)
        for number, names in enumerate(LAYERS)
        for name in names
        if module == name or module.startswith(name + ".")
    ]
    return max(fitting)[1]


def package(module: str) -> str:
    return max((n for names in LAYERS for n in names if module == n or module.startswith(n + ".")), key=len)


def test_no_import_goes_upwards() -> None:
    wrong = [
        f"{module} imports {target}"
        for module in MODULES
        for target in imports(module)
        if target in MODULES and package(target) != package(module) and layer(target) >= layer(module)
    ]
    assert wrong == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {module: {t for t in imports(module) if t in MODULES and t != module} for module in MODULES}
    # What nothing of the rest imports, and what imports nothing of it, is in no circle.
    while True:
        targets = {target for found in graph.values() for target in found}
        free = {module for module, found in graph.items() if not found or module not in targets}
        if not free:
            break
        graph = {module: found - free for module, found in graph.items() if module not in free}
    assert {module: sorted(found) for module, found in graph.items()} == {}


def test_the_page_has_the_order() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `((?:stateextract/|serializers)\w*)` \|", text, re.MULTILINE)
    packages = [n.replace(".", "/") for names in LAYERS for n in names if n.count(".") and MODULES[n].name == "__init__.py"]
    assert [row for row in rows if row != "serializers"] == packages
