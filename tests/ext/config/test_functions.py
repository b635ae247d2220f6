"""What a configuration may name: public functions of modules on both lists, files of its folder, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from swarm.errors import AgentError, ConfigError
from swarm.ext.config import ConfigFileError, load_config
from swarm.ext.config.answers import type_of_schema
from swarm.ext.config.functions import Functions
from tests.ext.config.conftest import MODULES, Load, Problems, Write

ONE = "functions_from = [{modules}]\n[agents.a]\nfunctions = ['{function}']\n"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("shop.look_pu", "shop has no 'look_pu'; did you mean 'look_up'?"),
        ("shop.system", "'shop.system' is not defined there; name the module that it comes from, or list it in its __all__"),
        ("shop.tool", "'shop.tool' is not defined there"),
        ("shop._private", "is not public"),
        ("shop.__builtins__", "is not public"),
        ("shop.__class__.__subclasses__", "is not public"),
        ("shop.look_up.__globals__", "is not public"),
        ("shop.look_up.name", "'shop.look_up' is not in functions_from, whose modules are: shop"),
        ("shop.Answer", "is a class, not a function"),
        ("shop.calls", "'shop.calls' is not defined there"),
        ("shop.number", "'shop.number' is not defined there"),
        ("os.system", "'os' is not in functions_from, whose modules are: shop"),
        ("builtins.eval", "'builtins' is not in functions_from"),
        ("system", "must be a dotted path: module.function"),
        ("shop.look_up()", "must be a dotted path: module.function"),
        ("shop:look_up", "must be a dotted path: module.function"),
        ("..shop.look_up", "must be a dotted path: module.function"),
    ],
)
def test_what_no_function_is_taken_for(problems: Problems, path: str, told: str) -> None:
    """D75"""
    (found,) = problems(ONE.format(modules="'shop'", function=path))
    assert found.startswith("3: agents.a.functions[0]: ")
    assert told in found


def test_a_module_must_be_on_both_lists(load: Load, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """D75: what is on one of them only is not even imported."""
    write("trap_one.py", "raise SystemExit('imported')")
    write("fine_one.py", "def f(): return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = ONE.format(modules="'trap_one', 'fine_one', '_hidden', 'a b'", function="fine_one.f")
    with pytest.raises(ConfigFileError) as caught:
        load(text, modules=["fine_one"])
    assert [problem.text for problem in caught.value.problems] == [
        "'trap_one' is not allowed to be imported for a configuration; if you trust it, load_config(..., modules=['trap_one']), "
        "or --allow trap_one or SWARM_ALLOW=trap_one on the command line",
        "'_hidden' is no public module; give its dotted name",
        "'a b' is no public module; give its dotted name",
    ]
    load(ONE.format(modules="'fine_one'", function="fine_one.f"), modules=["fine_one", "trap_one"])
    assert "trap_one" not in sys.modules
    assert sys.modules.pop("fine_one").f() == 1


def test_what_a_module_lists_is_its_own(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write("listing.py", "from json import dumps\nfrom json import loads\n__all__ = ['dumps', '_x']\ndef g(): ...\n_x = g\n")
    monkeypatch.syspath_prepend(tmp_path)
    functions = Functions(["listing"], ["listing"])
    assert functions.function("listing.dumps").__name__ == "dumps"
    for name in ("loads", "g", "_x"):
        with pytest.raises(AgentError):
            functions.function(f"listing.{name}")
    del sys.modules["listing"]


@pytest.mark.parametrize(
    ("module", "content", "told"),
    [
        ("not_there_at_all", None, "there is no module 'not_there_at_all'; is it installed"),
        ("needs_another", "import not_there_at_all", "needs_another cannot be imported: No module named 'not_there_at_all'"),
        ("fails_at_once", "1 / 0", "fails_at_once cannot be imported: ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_cannot_be_imported(
    load: Load, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, content: str | None, told: str
) -> None:
    if content is not None:
        write(f"{module}.py", content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigFileError, match=r"3: agents\.a\.functions") as caught:
        load(ONE.format(modules=f"'{module}'", function=f"{module}.f"), modules=[module])
    assert told in str(caught.value)


@pytest.mark.parametrize("name", ["../secret.md", "/etc/hostname", "link.md", "sub/../../secret.md"])
@pytest.mark.parametrize("key", ["instructions", "cache"])
def test_files_outside_of_the_folder_are_not_read(tmp_path: Path, name: str, key: str) -> None:
    """D75: nor through a link."""
    (tmp_path / "secret.md").write_text("secret")
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    text = f"[agents.a]\ninstructions = {{ file = '{name}' }}\n"
    text = text if key == "instructions" else f"[agents.a]\n[[policies]]\ntype = 'Cache'\npath = '{name}'\n"
    (folder / "x.toml").write_text(text)
    with pytest.raises(ConfigFileError, match="lies outside of the folder of this file"):
        load_config(folder / "x.toml", environ={})
    if name == "../secret.md" and key == "instructions":
        assert load_config(folder / "x.toml", environ={}, folders=[tmp_path]).agent.instructions == "secret"


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"$ref": "http://127.0.0.1:1/x.json"}, "nothing is fetched"),
        ({"properties": {"a": [{"$ref": "file:///etc/passwd"}]}}, "nothing is fetched"),
        ({"$schema": "http://127.0.0.1:1/x.json"}, "nothing is fetched"),
        ({"type": "objct"}, "no JSON Schema"),
    ],
)
def test_a_schema_that_leads_elsewhere_is_refused(schema: dict[str, object], told: str) -> None:
    """D75"""
    with pytest.raises(AgentError, match=told):
        type_of_schema(schema)


def test_a_schema_may_refer_to_itself() -> None:
    assert type_of_schema(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/x", "$defs": {"x": {"type": "object"}}}
    )


@pytest.mark.parametrize(
    ("hidden", "text", "name", "extra"),
    [
        ("yaml", "agents: {a: {}}", "x.yaml", "config"),
        ("cel", "[agents.a]\nhandoffs = [{to = 'a', when = 'true'}]", "x.toml", "cel"),
        ("jsonschema_rs", "[agents.a]\noutput_type = {type = 'object'}", "x.toml", "schema"),
    ],
)
def test_a_missing_extra_is_named(load: Load, monkeypatch: pytest.MonkeyPatch, hidden: str, text: str, name: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, hidden, None)
    with pytest.raises(ConfigError, match=rf"pip install 'openswarm\[{extra}\]'"):
        load(text, name)


def test_nothing_is_evaluated(load: Load) -> None:
    """D75: neither braces nor what looks like code in a text."""
    text = "{__import__('os').system('x')} $HOME ${HOME} %(x)s"
    assert load(f'[agents.a]\ninstructions = "{text}"\n').agent.instructions == text
    assert MODULES
