"""The commands in the examples' READMEs, run as they stand there. `python -m tests.examples.readmes` renews the output that is shown.

A block ```console shows commands after "$ " and what they print, without a key. A block ```sh is for a real model and shows no output.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.examples.talk import ROOT, environment

READMES = sorted((ROOT / "examples").rglob("README.md"))
_BLOCK = re.compile(r"^```(console|python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COLOURS = re.compile(r"\x1b\[\d*m")
# The command `swarm` of this checkout, whether or not it is installed.
_SWARM = 'swarm() { python -m swarm.cli "$@"; }\n'


def blocks(readme: Path, kind: str) -> list[str]:
    """The texts of all blocks of one kind."""
    return [match[2] for match in _BLOCK.finditer(readme.read_text(encoding="utf-8")) if match[1] == kind]


def commands(block: str) -> list[str]:
    """The commands of a ```console block; a line that ends in "\\" goes on in the next."""
    return re.findall(r"^\$ ((?:.*\\\n)*.*)\n", block, re.MULTILINE)


def run(command: str, said: str = "", **changes: str) -> subprocess.CompletedProcess[str]:
    """Run a command with bash in the checkout; standard output and error in one, without colours."""
    done = subprocess.run(
        ["bash", "-e", "-c", _SWARM + command],
        cwd=ROOT,
        env=environment(PYTHONUNBUFFERED="1", COLUMNS="200", **changes),
        input=said,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=55,
    )
    done.stdout = _COLOURS.sub("", done.stdout)
    return done


def as_it_is(block: str) -> str:
    """The block with what its commands print now; none of them may fail."""
    shown: list[str] = []
    with TemporaryDirectory() as data:  # each block finds a fresh machine
        for command in commands(block):
            done = run(command, XDG_DATA_HOME=data)
            assert done.returncode == 0, f"{command}\n{done.stdout}"
            text = re.sub(" +$", "", done.stdout, flags=re.MULTILINE).rstrip("\n")
            shown.append(f"$ {command}\n{text}\n")
    return "\n".join(shown)


def renew(readme: Path) -> None:
    """Write into a README what its commands print now."""
    text = readme.read_text(encoding="utf-8")
    new = _BLOCK.sub(lambda match: f"```console\n{as_it_is(match[2])}```" if match[1] == "console" else match[0], text)
    readme.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    for path in READMES:
        renew(path)
