"""Local files as content parts, and the messages they are put into."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from swarm import File, Image
from swarm.attachments import Audio, attachment, user_message
from swarm.parts import placeholder


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


BYTES = b"\x89\x00\xff"
URL = f"data:%s;base64,{encoded(BYTES)}"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("a.png", {"type": "image_url", "image_url": {"url": URL % "image/png"}}),
        ("A.JPG", {"type": "image_url", "image_url": {"url": URL % "image/jpeg"}}),
        ("a.b.jpeg", {"type": "image_url", "image_url": {"url": URL % "image/jpeg"}}),
        ("a.gif", {"type": "image_url", "image_url": {"url": URL % "image/gif"}}),
        ("a.webp", {"type": "image_url", "image_url": {"url": URL % "image/webp"}}),
        ("a.wav", {"type": "input_audio", "input_audio": {"data": encoded(BYTES), "format": "wav"}}),
        ("a.MP3", {"type": "input_audio", "input_audio": {"data": encoded(BYTES), "format": "mp3"}}),
        ("a.pdf", {"type": "file", "file": {"filename": "a.pdf", "file_data": URL % "application/pdf"}}),
        ("a.txt", {"type": "file", "file": {"filename": "a.txt", "file_data": URL % "text/plain"}}),
        ("nothing", {"type": "file", "file": {"filename": "nothing", "file_data": URL % "application/octet-stream"}}),
    ],
)
def test_a_file_is_what_its_name_says(tmp_path: Path, name: str, part: dict[str, Any]) -> None:
    """O06"""
    (tmp_path / name).write_bytes(BYTES)
    assert attachment(tmp_path / name) == attachment(str(tmp_path / name)) == part


@pytest.mark.parametrize("name", ["notes.txt", "data.json", "table.csv", "shop.py", "drawing.svg", "Makefile", "settings.toml"])
def test_what_is_written_is_sent_as_text(tmp_path: Path, name: str) -> None:
    """O06: every model reads it."""
    (tmp_path / name).write_text("Zoë: 1\n", encoding="utf-8")
    assert attachment(tmp_path / name) == {"type": "text", "text": f"\n{name}:\nZoë: 1\n"}


def test_the_mark_of_utf_8_before_a_text_is_no_part_of_it(tmp_path: Path) -> None:
    """O06: spreadsheets write it, and a model would read it as part of the first column's name."""
    (tmp_path / "table.csv").write_text("name,price\n", encoding="utf-8-sig")
    assert attachment(tmp_path / "table.csv")["text"] == "\ntable.csv:\nname,price\n"


@pytest.mark.parametrize("data", [b"a\x00b", "Zoë".encode("latin-1")])
def test_what_only_calls_itself_text_is_a_file(tmp_path: Path, data: bytes) -> None:
    """O06"""
    (tmp_path / "a.txt").write_bytes(data)
    assert attachment(tmp_path / "a.txt")["type"] == "file"


def test_a_document_is_a_file_even_where_it_could_be_read(tmp_path: Path) -> None:
    """O06"""
    (tmp_path / "a.pdf").write_text("%PDF-1.7", encoding="ascii")
    assert attachment(tmp_path / "a.pdf")["type"] == "file"


def test_a_file_that_is_not_there_or_holds_nothing(tmp_path: Path) -> None:
    """O06"""
    (tmp_path / "empty.png").touch()
    with pytest.raises(ValueError, match=r"empty\.png is empty"):
        attachment(tmp_path / "empty.png")
    with pytest.raises(FileNotFoundError):
        attachment(tmp_path / "missing.png")
    with pytest.raises(IsADirectoryError):
        attachment(tmp_path)


def test_a_message_of_texts_and_parts() -> None:
    """O06"""
    image, sound, file = Image(BYTES), Audio(BYTES, "mp3"), File(BYTES, "application/pdf", "a.pdf")
    text = {"type": "text", "text": "Look"}
    assert user_message("Look") == {"role": "user", "content": "Look"}
    assert user_message(image) == {"role": "user", "content": [image.part]}
    assert user_message("Look", image, sound, file, {**text, "text": "!"})["content"] == [
        text,
        image.part,
        sound.part,
        file.part,
        {"type": "text", "text": "!"},
    ]
    assert repr(sound) == "Audio([mp3, 3 bytes])"
    assert placeholder(sound.part) == "[mp3, 3 bytes]"


def test_what_no_message_can_hold() -> None:
    """O06"""
    wrong: Any
    for wrong in (None, b"bytes", {"text": "no type"}, ["Look"], Path("a.png")):
        with pytest.raises(TypeError, match="a message cannot hold"):
            user_message("Look", wrong)
    with pytest.raises(ValueError, match="needs a text"):
        user_message()
    wrong = "text"
    with pytest.raises(TypeError, match="bytes"):
        Audio(wrong)
