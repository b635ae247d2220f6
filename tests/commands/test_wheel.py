"""What is installed from a built wheel: the command, the examples, the REPL."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.commands.conftest import VARIABLES

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the unpacked wheel."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False, timeout=50)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def swarm(folder: Path, *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "swarm", *arguments]
    return subprocess.run(command, input=input, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=50, check=False)


def test_the_version_is_that_of_the_wheel(installed: Path) -> None:
    (wheel,) = installed.glob("*.whl")
    assert swarm(installed, "--version").stdout == f"openswarm {wheel.name.split('-')[1]}\n"


def test_the_examples_are_in_it(installed: Path) -> None:
    result = swarm(installed, "demo")
    assert (result.returncode, result.stderr) == (0, "")
    assert (installed / "swarm" / "_examples" / "airline").is_dir()
    assert "airline " in result.stdout and "cannot be loaded" not in result.stdout


def test_a_demo_that_keeps_files_keeps_them_elsewhere(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D85: the articles are in the wheel, the index is among the user's data."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    result = swarm(installed, "demo", "support_bot", input="where do I get a bill for my accountant?\n")
    assert (result.returncode, result.stderr) == (0, "")
    assert "The help center is prepared, since this is the first start." in result.stdout
    assert "(article invoices, https://" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["openswarm"]


def test_a_demo_runs_from_it(installed: Path) -> None:
    """D30: offline, without a key."""
    result = swarm(installed, "demo", "airline", input="I lost my bag\n")
    assert (result.returncode, result.stderr) == (0, "")
    assert "  => Triage Agent hands over to " in result.stdout
