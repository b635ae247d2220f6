"""The budgets and promises of the house: sizes, names, imports, dependencies, and what no file may say.

A budget that is hit asks for a better cut, not for a bigger number.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import swarm
from tests import api

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "swarm"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OUR_FILES = sorted([*SRC.rglob("*.py"), *(ROOT / "examples").rglob("*.py")])

# What is built on the core; every other file under src/swarm counts as core.
OUTSIDE = (
    "__main__",
    "attachments",
    "causes",
    "cli",
    "commands/",
    "conditions",
    "evals/",
    "ext/",
    "inspection/",
    "meaning",
    "models/offline",
    "models/scripted",
    "models/tape",
    "policies/",
    "projections",
    "repl/",
    "steps",
    "testing/",
)

CORE_BUDGETS = {"loop, tools, drivers and the rest": 8_120, "models": 2_000}
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}

# What `import swarm` must not load: transports, extras, and the docstring parser (30 ms), each loaded where it is first needed.
LAZY = ("aiohttp", "docstring_parser", "genai_prices", "numpy", "onnxruntime", "openai", "rich", "tokenizers", "typer", "urllib3")

# What stands on the loop's outer side: clients, drivers, printing, comparing by meaning. Every other module beside them is pure.
OUTER = {
    "__init__",
    "__main__",
    "async_streams",
    "attachments",
    "base",
    "cli",
    "conditions",
    "core",
    "debug",
    "lowlevel",
    "meaning",
    "streams",
    "util",
}
PURE = sorted({path.stem for path in SRC.glob("*.py")} - OUTER)
# A pure module may import its like, pydantic, the standard library, and of the models what is data or only looks at an object.
PURE_MODELS = {"models.client", "models.profiles", "models.record"}

# In pieces, so that this file does not name what it forbids.
FORBIDDEN_TEXT = re.compile(
    "|".join(
        [
            "pypi" + r"\.org",
            "pythonhosted" + r"\.org",
            "registry" + r"\.npmjs",
            "deb" + r"\.debian\.org",
            r"index" + "-url",
            r"(?<![\w.$}>-])/" + r"(work|root|opt/pypi|opt/wheels|home/\w+)/",
        ]
    )
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions_of(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def tracked_files() -> list[Path]:
    """Every file that git tracks, or, in an unpacked source distribution, every file there is."""
    if not (ROOT / ".git").exists():
        return [path for path in ROOT.rglob("*") if path.is_file()]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


# Sizes


def test_a_file_has_at_most_500_lines() -> None:
    assert {name_of(path): count for path in OUR_FILES if (count := lines_of(path)) > 500} == {}


def test_a_function_has_at_most_60_lines() -> None:
    long = {
        f"{name_of(path)}:{node.lineno} {node.name}": size
        for path in OUR_FILES
        for node in functions_of(path)
        if (size := (node.end_lineno or node.lineno) - node.lineno + 1) > 60
    }
    assert long == {}


def test_the_loop_has_at_most_150_lines() -> None:
    assert lines_of(SRC / "loop.py") <= 150


def code_lines_of(path: Path) -> int:
    """Lines that hold code: blank lines, comments and docstrings, which the house asks for, do not count."""
    text = path.read_text(encoding="utf-8")
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and ast.get_docstring(node, clean=False) is not None
        ):
            documented.update(range(node.body[0].lineno, (node.body[0].end_lineno or node.body[0].lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


@pytest.mark.parametrize(("part", "budget"), CORE_BUDGETS.items())
def test_the_core_stays_small(part: str, budget: int) -> None:
    """D38, as docs/decisions/0002 settles it."""
    core = [path for path in SRC.rglob("*.py") if not path.relative_to(SRC).as_posix().startswith(OUTSIDE)]
    mine = [path for path in core if path.relative_to(SRC).as_posix().startswith("models/") == (part == "models")]
    sizes = sorted(((code_lines_of(path), name_of(path)) for path in mine), reverse=True)
    total = sum(size for size, _ in sizes)
    assert total <= budget, f"{total} lines in {len(sizes)} files, the largest: {sizes[:10]}"


def test_a_policy_has_at_most_150_lines() -> None:
    """D38"""
    assert {name_of(path): count for path in (SRC / "policies").glob("*.py") if (count := lines_of(path)) > 150} == {}


def test_the_map_names_every_module() -> None:
    """Whoever adds one says in CONTRIBUTING.md what it is for."""
    chart = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The map")[2].partition("\n## ")[0]
    parts = {
        path.name if path.is_file() else f"{path.name}/"
        for path in SRC.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    assert {part for part in parts if not re.search(rf"(?<![\w]){re.escape(part)}", chart)} == set()


# Names


def test_the_root_names_are_sorted_and_few() -> None:
    assert swarm.__all__ == sorted(swarm.__all__)
    assert len(set(swarm.__all__)) == len(swarm.__all__) <= 40


@pytest.mark.parametrize("name", swarm.__all__)
def test_a_root_name_resolves(name: str) -> None:
    assert getattr(swarm, name) is not None


def test_an_unknown_root_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = swarm.no_such_name  # type: ignore[attr-defined]


def test_the_public_signatures_are_those_that_were_frozen() -> None:
    frozen = json.loads(api.FILE.read_text(encoding="utf-8"))
    assert api.public_api() == frozen, "if the change is meant, run `make api` and commit tests/api.json"


# Imports


def test_importing_swarm_loads_no_transport_and_no_extra() -> None:
    code = f"import sys, swarm; print(*sorted(set(sys.modules) & {set(LAZY)!r}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, check=True, text=True)
    assert run.stdout.split() == []


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_imports_only_its_like(module: str) -> None:
    allowed = {"pydantic", "pydantic_core"} | sys.stdlib_module_names
    allowed |= {"schema": {"docstring_parser"}, "prices": {"genai_prices"}}.get(module, set())
    for node in runtime_imports(ast.parse((SRC / f"{module}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            outside = {alias.name.split(".")[0] for alias in node.names} - allowed
        elif node.level == 0:
            outside = {(node.module or "").split(".")[0]} - allowed
        else:
            outside = ({node.module} if node.module else {alias.name for alias in node.names}) - set(PURE) - PURE_MODELS
        assert not outside, f"{module}.py:{node.lineno} imports {', '.join(map(str, outside))}"


def runtime_imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run, at the top or in a function; those under `if TYPE_CHECKING` do not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from runtime_imports(node)


# Dependencies and packaging


def package_names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0].lower().replace("_", "-") for line in requirements} - {"openswarm"}


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_the_core_has_four_dependencies() -> None:
    """P14"""
    assert package_names(PROJECT["project"]["dependencies"]) == {"aiohttp", "docstring-parser", "pydantic", "urllib3"}


def test_the_distribution_is_not_named_like_the_import() -> None:
    """P19"""
    assert PROJECT["project"]["name"] == "openswarm"


def test_every_dependency_has_its_reason() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    named = package_names(PROJECT["project"]["dependencies"]).union(*(package_names(lines) for lines in extras.values()))
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\|(?: `\w+` \|)? `([\w-]+)` \| \S", text, re.MULTILINE))
    assert rows == named


def test_the_pins_cover_every_dependency() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    core = package_names(PROJECT["project"]["dependencies"])
    demo, dev = package_names(list(pins("demo.txt"))), package_names(list(pins("dev.txt")))
    assert core | package_names(extras["cli"]) | package_names(extras["offline"]) <= demo
    assert core.union(*(package_names(lines) for lines in extras.values())) <= dev


def test_the_demo_runs_with_the_versions_that_are_tested() -> None:
    assert pins("demo.txt").items() <= pins("dev.txt").items()


def test_the_package_is_marked_as_typed() -> None:
    assert (SRC / "py.typed").is_file()


# What no file says


def test_no_file_names_a_package_index_or_a_path_of_one_machine() -> None:
    found: list[str] = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{name_of(path)}: {match[0]}" for match in FORBIDDEN_TEXT.finditer(text)]
    assert found == []


CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "time_ns"}


def reads_clock(node: ast.AST, tainted: set[str]) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and (part.id in tainted or part.id in CLOCKS):
            return True
        if isinstance(part, ast.Attribute) and (part.attr in CLOCKS or ast.unparse(part) == "time.time"):
            return True
    return False


def timed_asserts(function: ast.AST) -> Iterator[int]:
    """Lines of asserts on a clock, or on a name that was computed from one."""
    tainted: set[str] = set()
    for node in sorted((node for node in ast.walk(function) if isinstance(node, ast.stmt)), key=lambda node: node.lineno):
        if isinstance(node, ast.Assign) and reads_clock(node.value, tainted):
            tainted |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.Assert) and reads_clock(node.test, tainted):
            yield node.lineno


def test_no_test_asserts_how_long_something_took() -> None:
    """A shared machine makes such a test fail by chance; `benchmarks/` measures, `limits` are tested with a clock of their own."""
    found = [
        f"{name_of(path)}:{line}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for function in functions_of(path)
        for line in timed_asserts(function)
    ]
    assert found == []
