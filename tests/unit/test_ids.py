"""No module takes an id of the plan or a path in the spec apart: what an item belongs to is a field of it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

NAMES = frozenset({"id", "identifier", "owner", "plan_id", "spec_path"})
"""What ids and paths are called, as an attribute or as a variable."""

TAKE_APART = frozenset(
    {"endswith", "partition", "removeprefix", "removesuffix", "rpartition", "rsplit", "split", "startswith"}
)
MATCH = frozenset({"findall", "finditer", "fullmatch", "match", "search", "split", "sub"})
"""Methods of `re` and of its patterns, which take the text as an argument."""

OUTSIDE = {
    "mlcluster/engine/identity.py": "the state has the name of a cloud resource only in its URN",
    "mlcluster/kubernetes_provider/": "its IDs are those of Pulumi's provider protocol, NAMESPACE/NAME",
}
"""Modules and packages whose ids are texts of another program, with the reason."""


def parsed(source: str) -> list[int]:
    """Return the lines that take an id apart."""
    tree = ast.parse(source)
    known = NAMES | set(_aliases(tree))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.expr) and _takes_apart(node, known))
    return sorted({node.lineno for node in found})


def _aliases(tree: ast.AST) -> Iterator[str]:
    """Yield variables that get an id and nothing else."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=value) | ast.NamedExpr(target=ast.Name(name), value=value):
                if _is_id(value, NAMES):
                    yield name
            case _:
                pass


def _is_id(node: ast.AST, known: frozenset[str]) -> bool:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name in known
        case ast.Call(func=ast.Name("str"), args=[inner]):
            return _is_id(inner, known)
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in TAKE_APART:
            return _is_id(inner, known)
        case ast.Subscript(value=inner, slice=ast.Slice()):
            return _is_id(inner, known)
        case _:
            return False


def _takes_apart(node: ast.AST, known: frozenset[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=method), args=args):
            if method in TAKE_APART and _is_id(inner, known):
                return True
            return method in MATCH and any(_is_id(arg, known) for arg in args)
        case ast.Subscript(slice=ast.Slice()):
            return _is_id(node, known)
        case _:
            return False


def modules(root: Path) -> list[str]:
    every = [
        path.relative_to(root).as_posix() for name in ("mlcluster", "stacks") for path in (root / name).rglob("*.py")
    ]
    return [path for path in sorted(every) if not path.startswith(tuple(OUTSIDE))]


def test_no_module_takes_an_id_apart(project_root: Path) -> None:
    sources = {path: (project_root / path).read_text("utf-8") for path in modules(project_root)}
    found = [f"{path}:{line}" for path, source in sources.items() for line in parsed(source)]
    assert not found, "these lines take an id apart; give the item a field"


@pytest.mark.parametrize(
    "line",
    [
        'kind, _, name = identifier.partition("/")',
        'nodes = [entry.id.removeprefix("Node/") for entry in plan.resources]',
        'held = [one for one in resources if one.plan_id.startswith("Vpc/")]',
        'pool = identifier.removeprefix("Node/").rpartition("-")[0]',
        'name = pod.name or pod.owner.rpartition("/")[2]',
        'names = [owner.partition("/")[2] for owner in waiting]',
        "place = _PART.findall(spec_path)",
        'place = re.split(r"[.]", entry.spec_path)',
        'name = change.id\nkind = name.split("/")[0]',
        'namespace = str(resource.id).split("/")[0]',
        'name = entry.id[len("Node/"):]',
    ],
)
def test_an_id_that_is_taken_apart_is_found(line: str) -> None:
    assert parsed(line)


@pytest.mark.parametrize(
    "line",
    [
        'kind = entry.type.rpartition(":")[2]',
        'group = manifest["apiVersion"].rpartition("/")[0]',
        "same = entry.id == change.id",
        'text = f"creating {entry.id}"',
        'where = (*pool.spec_path, "topology")',
    ],
)
def test_text_of_others_and_ids_as_they_are_pass(line: str) -> None:
    assert not parsed(line)
