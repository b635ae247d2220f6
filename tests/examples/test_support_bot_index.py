"""The support bot's help center: what preparing does, in a folder and on a server, and every way in which it can be wrong."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from examples.support_bot import help_center as module
from examples.support_bot import settings
from examples.support_bot.articles import FOLDER, Article, load
from examples.support_bot.edge import EdgeIndex
from examples.support_bot.embeddings import Endpoint, Offline
from examples.support_bot.errors import HelpCenterError, NotPrepared, OtherModel
from examples.support_bot.help_center import TOP, Changes, HelpCenter, help_center
from examples.support_bot.index import Index
from examples.support_bot.retrieval import measure, questions
from examples.support_bot.server import ServerIndex, connected
from tests.examples.talk import ROOT, environment
from tests.loopback import DROP, Answer, Loopback, Request, json_answer


class ByLength:
    """An embedder without a model; it counts what it is given.

    Args:
        model: its name.
        size: how many numbers a vector has.
    """

    floor = 0.0

    def __init__(self, model: str = "toy", size: int = 4) -> None:
        self.model = model
        self.size = size
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.seen += texts
        return [[1.0, *(float(sum(map(ord, text)) % (number + 7)) for number in range(self.size - 1))] for text in texts]


def article(id: str, text: str = "Text.") -> Article:
    return Article(id, id.title(), f"https://help.example/{id}", text)


ARTICLES = [article("a"), article("b"), article("c", "Another text.")]


@pytest.fixture(params=["folder", "server"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Index:
    """An empty index of each kind. The server is qdrant-client's own, in memory."""
    return EdgeIndex(tmp_path / "index") if request.param == "folder" else ServerIndex(QdrantClient(":memory:"), ":memory:")


# The articles


def test_there_are_enough_articles_of_different_lengths() -> None:
    articles = load()
    assert len(articles) >= 40
    assert len({one.title for one in articles}) == len({one.url for one in articles}) == len(articles)
    lengths = sorted(len(one.text.split()) for one in articles)
    assert lengths[0] < 50
    assert lengths[-1] > 100


@pytest.mark.parametrize("text", ["No title\n\nText.", "# \n\nText.", "# Title only\n", "# Title\n\n  \n"])
def test_a_file_that_is_no_article_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.md").write_text(text, encoding="utf-8")
    with pytest.raises(HelpCenterError, match=r"bad\.md is no article: its first line must be"):
        load(tmp_path)


@pytest.mark.parametrize("kind", ["another encoding", "folder", "broken link"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, kind: str) -> None:
    bad = tmp_path / "bad.md"
    if kind == "another encoding":
        bad.write_bytes("# Über\n\nText.".encode("latin-1"))
    elif kind == "folder":
        bad.mkdir()
    else:
        bad.symlink_to(tmp_path / "nothing")
    with pytest.raises(HelpCenterError, match=r"bad\.md cannot be read as UTF-8 text"):
        load(tmp_path)


def test_a_byte_order_mark_is_no_part_of_a_title(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbf# Title\r\n\r\nText.\r\n")
    [article] = load(tmp_path)
    assert (article.title, article.text) == ("Title", "Text.")


def test_a_folder_without_articles_empties_no_index(tmp_path: Path) -> None:
    with pytest.raises(HelpCenterError, match="there are no articles"):
        load(tmp_path)


# Preparing


def test_preparing_does_only_what_is_to_do(index: Index) -> None:
    """D85"""
    embedder = ByLength()
    center = HelpCenter(index, embedder)
    assert not center.is_prepared()
    assert center.prepare(ARTICLES) == Changes(added=3, changed=0, removed=0, kept=0)
    assert center.is_prepared()
    embedder.seen.clear()
    assert center.prepare(ARTICLES) == Changes(0, 0, 0, 3)
    assert embedder.seen == []
    assert center.prepare([ARTICLES[0], article("c", "Changed."), article("d")]) == Changes(added=1, changed=1, removed=1, kept=1)
    assert embedder.seen == ["C\n\nChanged.", "D\n\nText."]
    assert index.digests().keys() == {"a", "c", "d"}
    assert str(Changes(1, 2, 3, 4)) == "1 added, 2 changed, 3 removed, 4 as they were"


def test_the_best_comes_first_with_all_that_was_written(index: Index) -> None:
    center = HelpCenter(index, ByLength())
    articles = [article(f"article-{number}", "x" * number) for number in range(1, 20)]
    center.prepare(articles)
    hits = center.search(articles[6].whole)
    assert len(hits) == TOP
    assert hits[0].article == articles[6]
    assert hits[0].score == pytest.approx(1.0, abs=1e-5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_what_is_too_far_is_no_answer(index: Index) -> None:
    embedder = ByLength()
    center = HelpCenter(index, embedder)
    center.prepare(ARTICLES)
    embedder.floor = 1.1
    assert center.search("anything") == []


def test_every_article_is_told_when_it_is_done(index: Index) -> None:
    many = [article(f"article-{number}") for number in range(40)]
    center = HelpCenter(index, ByLength())
    center.prepare(many[:5])
    told: list[int] = []
    center.prepare(many, told.append)
    assert told == [5, 16, 16, 3]


def test_an_interruption_loses_nothing_that_was_done(index: Index) -> None:
    many = [article(f"article-{number}") for number in range(40)]

    class Breaks(ByLength):
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            if len(self.seen) >= 16:
                raise KeyboardInterrupt
            return super().embed(texts)

    with pytest.raises(KeyboardInterrupt):
        HelpCenter(index, Breaks()).prepare(many)
    assert HelpCenter(index, ByLength()).prepare(many) == Changes(24, 0, 0, 16)


def test_an_index_of_another_model_is_refused_with_advice(index: Index) -> None:
    """D85"""
    HelpCenter(index, ByLength("old", 4)).prepare(ARTICLES)
    other = HelpCenter(index, ByLength("new", 4))
    for use in (other.is_prepared, lambda: other.search("x"), lambda: other.prepare(ARTICLES)):
        with pytest.raises(OtherModel, match=r"made with old \(4 numbers a vector\), and now new .* --anew"):
            use()
    index.clear()
    assert other.prepare(ARTICLES).added == 3


def test_a_model_whose_vectors_became_longer_is_refused(index: Index) -> None:
    HelpCenter(index, ByLength(size=4)).prepare(ARTICLES)
    center = HelpCenter(index, ByLength(size=5))
    for use in (lambda: center.search("x"), lambda: center.prepare([*ARTICLES, article("d")])):
        with pytest.raises(OtherModel, match=r"toy \(4 numbers a vector\), and now toy \(5 numbers a vector\)"):
            use()


def test_what_was_never_prepared_says_how_to(index: Index) -> None:
    with pytest.raises(NotPrepared, match=r"is not prepared: there is nothing in .*support_bot\.prep"):
        HelpCenter(index, ByLength()).search("x")
    index.clear()


def test_ten_threads_on_one_index(tmp_path: Path) -> None:
    center = HelpCenter(EdgeIndex(tmp_path / "index"), ByLength())
    center.prepare(ARTICLES)
    with ThreadPoolExecutor(10) as pool:
        found = list(pool.map(lambda number: center.search(ARTICLES[number % 3].whole)[0].article, range(30)))
    assert found == [ARTICLES[number % 3] for number in range(30)]


# The folder


def test_a_folder_in_use_is_waited_for_and_then_refused(tmp_path: Path) -> None:
    """Another process has it; when that process dies, it is free."""
    HelpCenter(EdgeIndex(tmp_path / "index"), ByLength()).prepare(ARTICLES)
    holder = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('BEGIN EXCLUSIVE')\n"
        "print(flush=True)\n"
        "input()"
    )
    command = [sys.executable, "-c", holder, str(tmp_path / "index.lock")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(HelpCenterError, match=r"has been in use by another process for 0\.1 seconds; wait"):
            EdgeIndex(tmp_path / "index", wait=0.1).about()
        threading.Timer(0.2, process.kill).start()
        assert EdgeIndex(tmp_path / "index").about() is not None


def test_a_shard_held_open_by_something_else_says_so(tmp_path: Path) -> None:
    import qdrant_edge

    index = EdgeIndex(tmp_path / "index")
    HelpCenter(index, ByLength()).prepare(ARTICLES)
    shard = qdrant_edge.EdgeShard.load(str(tmp_path / "index"))
    with pytest.raises(HelpCenterError, match="If another program holds it open, close that"):
        index.digests()
    shard.close()
    assert len(index.digests()) == 3


@pytest.mark.parametrize("damaged", ["edge_config.json", "wal/open-1", "segment.json", "page_0.dat", "vectors/status.dat"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a panic of the engine
def test_a_damaged_folder_says_how_to_make_it_anew(tmp_path: Path, damaged: str) -> None:
    center = HelpCenter(EdgeIndex(tmp_path / "index"), ByLength())
    center.prepare(ARTICLES)
    [file] = (path for path in (tmp_path / "index").rglob("*") if path.as_posix().endswith(damaged))
    file.write_bytes(b"")
    with pytest.raises(HelpCenterError, match=r"cannot be used: .* make it anew: python -m examples\.support_bot\.prep --anew"):
        center.search("x")
    center.index.clear()
    assert center.prepare(ARTICLES).added == 3


def test_a_file_in_the_place_of_the_folder_is_removed_with_it(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("")
    center = HelpCenter(EdgeIndex(tmp_path / "index"), ByLength())
    with pytest.raises(HelpCenterError, match="--anew"):
        center.prepare(ARTICLES)
    center.index.clear()
    assert center.prepare(ARTICLES).added == 3


def test_a_damaged_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "index.lock").write_bytes(b"no database" * 100)
    with pytest.raises(HelpCenterError, match=r"index\.lock cannot be used: .* remove that file"):
        HelpCenter(EdgeIndex(tmp_path / "index"), ByLength()).prepare(ARTICLES)


def test_a_folder_that_cannot_be_written_names_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HelpCenterError, match=r"cannot be written: .* name another folder with SUPPORT_BOT_HOME"):
        EdgeIndex(tmp_path / "file" / "index").put([])


# The server


def test_a_server_that_is_not_there() -> None:
    with Loopback(DROP) as server, pytest.raises(HelpCenterError, match=r"the Qdrant server at http://127\.0\.0\.1.* check QDRANT_URL"):
        connected(f"http://127.0.0.1:{server.port}").about()


def test_a_server_is_used_where_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes over the wire is qdrant-client's; here it is only seen that the address and the key reach the server."""
    with Loopback(json_answer({"result": {"exists": False}, "status": "ok", "time": 0.1})) as server:
        monkeypatch.setenv("QDRANT_URL", f"http://127.0.0.1:{server.port}")
        monkeypatch.setenv("QDRANT_API_KEY", "secret-1")
        monkeypatch.setattr("warnings.warn", lambda *given, **named: None)  # the client warns of a key without TLS
        assert not help_center(tmp_path, offline=True).is_prepared()
    module._opened.cache_clear()
    assert server.requests[0].target == "/collections/support_bot/exists"
    assert server.requests[0].headers["api-key"] == "secret-1"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("package", "extra"), [("qdrant_edge", "vector"), ("qdrant_client", "qdrant")])
def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(HelpCenterError, match=rf'pip install "openswarm\[{extra}\]"'):
        EdgeIndex(tmp_path) if extra == "vector" else connected("http://127.0.0.1:1")


# The embeddings


def embeddings(request: Request) -> Answer:
    """Vectors in another order than the texts, as the API allows."""
    texts: list[str] = request.json["input"]
    data = [{"object": "embedding", "index": number, "embedding": [len(text), 1, 0.5]} for number, text in enumerate(texts)]
    return json_answer({"object": "list", "data": data[::-1], "model": request.json["model"], "usage": {}})


def test_an_endpoint_turns_texts_into_vectors() -> None:
    with Loopback(embeddings) as server:
        endpoint = Endpoint("text-embedding-3-small", server.url, "sk-12345678")
        assert endpoint.embed(["abc", "Übung"]) == [[3.0, 1.0, 0.5], [5.0, 1.0, 0.5]]
    assert endpoint.model == f"text-embedding-3-small at {server.url}"
    [request] = server.requests
    assert (request.method, request.target, request.headers["authorization"]) == ("POST", "/v1/embeddings", "Bearer sk-12345678")
    assert request.json == {"model": "text-embedding-3-small", "input": ["abc", "Übung"], "encoding_format": "float"}


def test_a_server_that_is_busy_is_asked_again() -> None:
    busy = json_answer({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0"})
    with Loopback(busy, busy, embeddings) as server:
        assert Endpoint("m", server.url, "").embed(["abc"]) == [[3.0, 1.0, 0.5]]
    assert len(server.requests) == 3
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            json_answer({"error": "wrong key sk-12345678"}, status=401),
            r"refused with status 401: .*wrong key \*\*\*.*EMBEDDINGS_MODEL=offline",
        ),
        (json_answer({"choices": []}), "answered no embeddings: .* is it an embeddings endpoint"),
        (json_answer([1]), "answered no embeddings"),
        (json_answer({"data": []}), r"answered 0 vectors of the sizes \[\] for 2 texts"),
        (
            json_answer({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}),
            r"answered 2 vectors of the sizes \[1, 2\] for 2 texts",
        ),
        (Answer(b"[" * 100_000), "answered no embeddings"),
        *(
            (json_answer({"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [number, 0]}]}), "no direction")
            for number in (0, math.nan, math.inf, 1e300)
        ),
    ],
)
def test_an_endpoint_that_answers_something_else(answer: Answer, says: str) -> None:
    with Loopback(answer) as server, pytest.raises(HelpCenterError, match=says) as caught:
        Endpoint("m", server.url, "sk-12345678").embed(["a", "b"])
    assert "sk-12345678" not in str(caught.value)


@pytest.mark.parametrize("key", ["ключ", "sk-1\nX-Other: 1"])
def test_a_key_that_no_header_can_hold_is_not_sent_and_not_shown(key: str) -> None:
    with Loopback() as server, pytest.raises(HelpCenterError, match="OPENAI_API_KEY cannot be sent") as caught:
        Endpoint("m", server.url, key).embed(["a"])
    assert key not in str(caught.value)


def test_an_endpoint_that_is_not_there() -> None:
    with Loopback(DROP) as server, pytest.raises(HelpCenterError, match="cannot be reached"):
        Endpoint("m", server.url, "").embed(["a"])


@pytest.mark.parametrize(
    ("variables", "model"),
    [
        ({}, ""),
        ({"OPENAI_API_KEY": "k"}, "text-embedding-3-small"),
        ({"OPENAI_API_KEY": "k", "EMBEDDINGS_MODEL": "offline"}, ""),
        ({"OPENAI_API_KEY": "k", "SWARM_OFFLINE": "1"}, ""),
        ({"OPENAI_BASE_URL": "http://localhost:1/v1"}, ""),
        ({"OPENAI_BASE_URL": "http://localhost:1/v1", "EMBEDDINGS_MODEL": "nomic-embed-text"}, "nomic-embed-text"),
    ],
)
def test_the_environment_chooses_the_model(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], model: str) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EMBEDDINGS_MODEL", "SWARM_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert settings.embeddings_model() == model


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"SUPPORT_BOT_HOME": "/here", "XDG_DATA_HOME": "/data"}, "/here"),
        ({"XDG_DATA_HOME": "/data"}, "/data/openswarm/support_bot"),
        ({"LOCALAPPDATA": "/local"}, "/local/openswarm/support_bot"),
        ({"HOME": "/me"}, "/me/.local/share/openswarm/support_bot"),
    ],
)
def test_the_environment_chooses_the_folder(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str) -> None:
    for name in ("SUPPORT_BOT_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert settings.home() == Path(folder)


# The command


def prep(home: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "examples.support_bot.prep", "--home", str(home), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment(**changes), capture_output=True, text=True, timeout=50)


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "articles")
    arguments = ("--articles", str(tmp_path / "articles"))
    first = prep(tmp_path, *arguments)
    assert (first.returncode, first.stderr) == (0, "")
    count = len(load())
    assert first.stdout == (
        f"{count} articles: {count} added, 0 changed, 0 removed, 0 as they were.\nIndex: {tmp_path / 'index'}, by {Offline.model}.\n"
    )
    (tmp_path / "articles" / "search.md").unlink()
    (tmp_path / "articles" / "trash.md").write_text("# Bin\n\nIt is emptied after 30 days.\n")
    (tmp_path / "articles" / "new.md").write_text("# New\n\nSomething new.\n")
    assert prep(tmp_path, *arguments).stdout.startswith(f"{count} articles: 1 added, 1 changed, 1 removed, {count - 2} as they were.")
    with Loopback(embeddings) as server:
        key = {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": server.url}
        refused = prep(tmp_path, *arguments, **key)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.startswith(f"Error: the index in {tmp_path / 'index'} was made with all-MiniLM-L6-v2")
        assert prep(tmp_path, *arguments, "--anew", **key).stdout.startswith(f"{count} articles: {count} added")
    assert {request.target for request in server.requests} == {"/v1/embeddings"}


def test_two_processes_prepare_the_same_folder_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda number: prep(tmp_path), range(2)))
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 2
    assert len(EdgeIndex(tmp_path / "index").digests()) == len(load())


def test_a_person_sees_a_progress_bar(tmp_path: Path) -> None:
    """On a terminal, which is a pseudo-terminal here."""
    pty = __import__("pty")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "examples.support_bot.prep", "--home", str(tmp_path)]
    variables = environment(TERM="xterm", COLUMNS="100")
    with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=slave) as process:
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 4096):
                shown += piece
        except OSError:  # Linux reports the other side's end like this
            pass
        os.close(master)
    assert process.returncode == 0
    assert b"Articles" in shown
    assert b"100%" in shown


# How good it is


def test_there_are_enough_questions_for_articles_that_exist() -> None:
    ids = {one.id for one in load()}
    halves = [questions(half) for half in ("development", "held_out")]
    asked = [case["question"] for half in halves for case in half]
    assert len(set(asked)) == len(asked)
    assert sum(case["article"] is not None for half in halves for case in half) >= 60
    assert {case["article"] for half in halves for case in half} - {None} == ids


def test_questions_find_their_articles_as_often_as_the_readme_says(tmp_path: Path) -> None:
    center = HelpCenter(EdgeIndex(tmp_path / "index"), Offline())
    center.prepare(load())
    told = (ROOT / "examples" / "support_bot" / "README.md").read_text(encoding="utf-8")
    for half in ("development", "held_out"):
        assert f"{half.replace('_', ' ')}: {measure(center, half)}" in told
