"""Imports follow the arrows: a layer may use what stands before it, never what comes after."""

import ast
from pathlib import Path

import pytest

import hqmm

ROOT = Path(hqmm.__file__).parent
# Each line may import the lines above it. Modules on one line may import each other.
LAYERS = [
    ["errors", "_typing", "_random", "storage"],
    ["linear"],
    ["sequences"],
    ["channels", "reduction"],
    ["engine"],
    ["models"],
    ["metrics", "datasets", "readers"],
    ["theory"],
    ["learning"],
    ["estimators", "plots"],
    ["tuning"],
    ["experiments", "report"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imported_rooms(path):
    """Names of the first level below hqmm that a file imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = inside if node.module == "hqmm" else [node.module]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("hqmm."))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_follow_the_arrows(path):
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert room in RANK, f"{room} has no place in LAYERS"
    for other in imported_rooms(path):
        assert other in RANK or other.startswith("__"), f"{path.name} imports unknown hqmm.{other}"
        if other in RANK:
            assert RANK[other] <= RANK[room], f"hqmm.{room} must not import hqmm.{other}"


def test_no_file_uses_relative_imports_that_the_check_would_miss():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level > 0), path


def test_nothing_heavy_is_imported_with_the_package():
    import subprocess
    import sys

    code = "import sys, hqmm; print([m for m in sys.modules if '.' not in m])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numba", "sklearn", "matplotlib", "pandas", "distributed", "pyarrow", "optuna", "rich", "click"):
        assert f"'{heavy}'" not in loaded
