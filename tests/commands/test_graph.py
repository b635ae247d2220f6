"""`swarm graph`: the formats, and where the drawing goes."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.commands.conftest import Commands


def test_text_by_default(shop: Commands) -> None:
    result = shop("graph", "shop:triage")
    assert (result.exit_code, result.stdout) == (0, "Triage (start)\n  -> Refunds  to_refunds\nRefunds\n")


def test_with_tools(shop: Commands) -> None:
    result = shop("graph", "shop:triage", "--tools")
    assert result.stdout.endswith("Refunds\n   * look_up\n   * fails\n")


@pytest.mark.parametrize(
    ("format", "begins"), [("mermaid", "flowchart LR\n"), ("dot", "digraph swarm {\n"), ("svg", "<svg xmlns="), ("text", "Triage (")]
)
def test_the_formats(shop: Commands, format: str, begins: str) -> None:
    result = shop("graph", "shop:triage", "--format", format)
    assert result.exit_code == 0
    assert result.stdout.startswith(begins) and result.stdout.endswith("\n") and not result.stdout.endswith("\n\n")


@pytest.mark.parametrize(
    ("file", "begins"),
    [("a.svg", "<svg"), ("a.DOT", "digraph"), ("a.gv", "digraph"), ("a.mmd", "flowchart"), ("a.txt", "Triage"), ("a", "Triage")],
)
def test_the_name_of_a_file_says_the_format(shop: Commands, file: str, begins: str) -> None:
    result = shop("graph", "shop:triage", "-o", file)
    assert (result.exit_code, result.stdout) == (0, "")
    assert (shop.folder / file).read_text(encoding="utf-8").startswith(begins)


def test_a_format_that_is_given_counts_more_than_the_name(shop: Commands) -> None:
    shop("graph", "shop:triage", "-o", "a.svg", "--format", "dot")
    assert (shop.folder / "a.svg").read_text(encoding="utf-8").startswith("digraph")


def test_an_svg_file_is_xml_in_any_script(swarm: Commands) -> None:
    swarm.write("wide.py", "from swarm import Agent\nagent = Agent(name='客服 <1> & \"2\"', handoffs=[Agent(name='é')])\n")
    swarm("graph", "wide:agent", "-o", "wide.svg")
    image = ElementTree.parse(swarm.folder / "wide.svg").getroot()
    assert [text.text for text in image.iter("{http://www.w3.org/2000/svg}text")] == ['客服 <1> & "2"', "é"]


def test_several_starts_and_what_modules_print(shop: Commands) -> None:
    shop.write("noisy.py", "print('noise')\nfrom shop import refunds, triage\nboth = [triage, refunds]\n")
    result = shop("graph", "noisy:both")
    assert (result.stdout, result.stderr) == ("Triage (start)\n  -> Refunds  to_refunds\nRefunds (start)\n", "noise\n")


def test_what_cannot_be_drawn_is_told(shop: Commands) -> None:
    result = shop("graph", "shop:nobody")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: 'shop' has no 'nobody'. Agents in it: refunds, triage\n"
    result = shop("graph", "shop:triage", "-o", "no/such/folder/a.svg")
    assert result.exit_code == 1 and "No such file or directory" in result.stderr
    assert shop("graph", "shop:triage", "--format", "png").exit_code == 2


def test_a_name_that_says_no_format_is_refused(shop: Commands) -> None:
    """A text in a file called .png would be taken for a picture."""
    result = shop("graph", "shop:triage", "-o", "a.png")
    assert result.exit_code == 2 and not (shop.folder / "a.png").exists()
    told = "Error: .png says no format that there is; end the file's name in .dot, .gv, .mermaid, .mmd, .svg, .txt, or give --format\n"
    assert result.stderr == told
    assert shop("graph", "shop:triage", "-o", "a.png", "--format", "text").exit_code == 0
