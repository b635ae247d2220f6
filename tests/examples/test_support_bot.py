"""The support bot played through: against a script with all that can happen, offline from end to end, and as it is installed."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.support_bot.agents import agents, help_center_agent, user_interface_agent
from examples.support_bot.articles import load
from examples.support_bot.desk import Desk
from examples.support_bot.help_center import Changes, help_center
from examples.support_bot.tools import NOTHING_FITS, query_docs, send_email, submit_ticket
from swarm import OfflineModel, Response
from swarm.models.scripted import call
from swarm.tools import tool_of
from swarm.util import function_to_json
from tests.examples.talk import ROOT, Talk, environment, script
from tests.examples.test_support_bot_mail import MailServer, Post, only
from tests.modes import Drive


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the index."""
    home = tmp_path_factory.mktemp("home")
    assert help_center(home, offline=True).prepare(load()) == Changes(len(load()), 0, 0, 0)
    return home


@pytest.fixture
def home(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a test's own, with the index and nothing else."""
    monkeypatch.delenv("SMTP_URL", raising=False)
    monkeypatch.delenv("QDRANT_URL", raising=False)
    shutil.copytree(prepared / "index", tmp_path / "index")
    return tmp_path


def talk_at(drive: Drive, home: Path) -> Talk:
    return Talk(drive, user_interface_agent, {"home": str(home), "offline": True})


def say(talk: Talk, text: str, *turns: Any) -> Response:
    """As `Talk.say`, for what may end in an error."""
    talk.messages.append({"role": "user", "content": text})
    response = talk.drive(talk.agent, talk.messages, list(turns), context_variables=talk.context)
    talk.messages += response.messages
    talk.agent, talk.context = response.agent or talk.agent, response.context_variables
    talk.told += [message["content"] for message in response.messages if message["role"] == "tool"]
    return response


def test_the_agents_and_their_functions() -> None:
    assert {agent.name: [tool_of(function).name for function in agent.functions] for agent in agents} == {
        "User Interface Agent": ["transfer_to_help_center"],
        "Help Center Agent": ["query_docs", "submit_ticket", "send_email"],
    }


def test_the_functions_as_a_model_sees_them() -> None:
    """K06, K20"""
    parameters = {
        tool_of(function).name: function_to_json(function)["function"]["parameters"] for function in (query_docs, submit_ticket, send_email)
    }
    assert {name: list(schema["properties"]) for name, schema in parameters.items()} == {
        "query_docs": ["query"],
        "submit_ticket": ["description"],
        "send_email": ["email_address", "message"],
    }
    assert all(schema["required"] == list(schema["properties"]) for schema in parameters.values())
    assert [tool_of(function).effect for function in (query_docs, submit_ticket, send_email)] == ["repeatable", "once", "once"]


def test_a_question_is_answered_from_the_best_article(drive: Drive, home: Path) -> None:
    """K13: the handoff and the search in one turn of the user's."""
    talk = talk_at(drive, home)
    talk.say(
        "I was billed twice",
        call("transfer_to_help_center"),
        call("query_docs", {"query": "I was billed twice, give me my cash"}),
        "Double charges are always returned.",
    )
    assert talk.agent is help_center_agent
    answer = talk.told[-1]
    article = next(article for article in load() if article.id == "refunds")
    assert answer.startswith(f"{article.title} (article refunds, https://help.inkwharf.example/refunds): {article.text}\n\nOther articles")
    assert answer.count("; ") - article.text.count("; ") == 3, "four others, by title and id"


def test_no_article_fits_and_a_ticket_is_opened(drive: Drive, home: Path) -> None:
    talk = talk_at(drive, home)
    talk.say(
        "how do I bake sourdough bread?",
        call("transfer_to_help_center"),
        call("query_docs", {"query": "bake sourdough bread"}),
        "No article answers this. Shall I submit a ticket?",
    )
    assert talk.told[-1] == NOTHING_FITS
    talk.say("yes, please", call("submit_ticket", {"description": "How to bake sourdough bread"}), "Ticket 1 is open.")
    assert talk.told[-1] == "Ticket 1 is open. The support team answers within three working days."
    assert Desk(home / "desk.sqlite").tickets() == [(1, "open", "How to bake sourdough bread")]


def test_the_user_gets_a_mail(drive: Drive, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    post = Post()
    talk = talk_at(drive, home)
    with MailServer(post) as server:
        monkeypatch.setenv("SMTP_URL", f"smtp://127.0.0.1:{server.port}")
        mail = call("send_email", {"email_address": "ann@example.com", "message": "Grüße. Press “Try now”."})
        talk.say("mail me that", call("transfer_to_help_center"), mail, "It is sent.")
    assert talk.told[-1] == "The e-mail to ann@example.com is sent."
    assert only(post)["To"] == "ann@example.com"
    assert only(post).get_content().strip() == "Grüße. Press “Try now”."


def test_a_mail_that_waits_is_not_called_sent(drive: Drive, home: Path) -> None:
    talk = talk_at(drive, home)
    mail = call("send_email", {"email_address": "ann@example.com", "message": "Hello."})
    talk.say("mail me that", call("transfer_to_help_center"), mail, "It waits.")
    assert talk.told[-1] == (
        "The e-mail to ann@example.com is not sent yet. It waits in the outbox as number 1: no mail server is set up (SMTP_URL)."
    )


@pytest.mark.parametrize(
    ("address", "data", "says"),
    [
        (
            "nobody@example.com",
            "250 OK",
            "Error: The e-mail to nobody@example.com is not sent: the mail server said 550 5.1.1 No such user.",
        ),
        (
            "busy@example.com",
            "250 OK",
            "is not sent yet. It waits in the outbox as number 1: the mail server said 450 4.2.1 Try again later.",
        ),
        ("ann@example.com", "cut", "Nobody can say whether the e-mail to ann@example.com arrives: the connection to the mail server broke"),
        ("ann@example.com\r\nBcc: bo@example.com", "250 OK", "is no e-mail address; give one address like name@example.com"),
    ],
)
def test_a_mail_that_does_not_arrive(drive: Drive, home: Path, monkeypatch: pytest.MonkeyPatch, address: str, data: str, says: str) -> None:
    """K11, D86: what went wrong is told to the model, and nothing else is sent."""
    post = Post()
    post.data = data
    talk = talk_at(drive, home)
    with MailServer(post) as server:
        monkeypatch.setenv("SMTP_URL", f"smtp://127.0.0.1:{server.port}")
        mail = call("send_email", {"email_address": address, "message": "Hello."})
        say(talk, "mail me that", call("transfer_to_help_center"), mail, "I could not.")
    assert says in talk.told[-1]
    assert post.envelopes == []


def test_a_mail_server_that_is_set_up_wrongly_is_for_the_log(
    drive: Drive, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SMTP_URL", "mail.example:secret")
    talk = talk_at(drive, home)
    mail = call("send_email", {"email_address": "ann@example.com", "message": "Hello."})
    talk.say("mail me that", call("transfer_to_help_center"), mail, "It waits.")
    assert talk.told[-1].endswith("It waits in the outbox as number 1: the mail server is set up wrongly.")
    assert "SMTP_URL must look like smtp://host:25" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("state", ["missing", "damaged", "other model"])
def test_a_help_center_that_cannot_be_searched_offers_a_ticket(
    drive: Drive, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, state: str
) -> None:
    if state == "missing":
        shutil.rmtree(home / "index")
    elif state == "damaged":
        (home / "index" / "edge_config.json").write_bytes(b"?")
    else:
        monkeypatch.setenv("EMBEDDINGS_MODEL", "another")
        monkeypatch.setenv("SWARM_OFFLINE", "")
    talk = Talk(drive, user_interface_agent, {"home": str(home), "offline": state != "other model"})
    with caplog.at_level(logging.ERROR):
        search = call("query_docs", {"query": "where are my bills?"})
        response = say(talk, "where are my bills?", call("transfer_to_help_center"), search, "I cannot search now.")
    assert talk.told[-1] == "Error: The help center cannot be searched at the moment. A ticket can be submitted."
    assert response.calls[-1].outcome == "error"
    assert "python -m examples.support_bot.prep" in caplog.text
    talk.say("then open a ticket", call("submit_ticket", {"description": "Where are my bills?"}), "Done.")
    assert Desk(home / "desk.sqlite").tickets() == [(1, "open", "Where are my bills?")]


def test_a_desk_that_cannot_be_used_is_for_the_log(drive: Drive, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / "desk.sqlite").write_bytes(b"no database" * 100)
    talk = talk_at(drive, home)
    say(talk, "a ticket", call("transfer_to_help_center"), call("submit_ticket", {"description": "Help."}), "Sorry.")
    assert talk.told[-1] == "Error: No ticket can be opened at the moment."
    say(talk, "a mail then", call("send_email", {"email_address": "ann@example.com", "message": "Hello."}), "Sorry.")
    assert talk.told[-1] == "Error: No e-mail can be sent at the moment."
    assert caplog.text.count("desk.sqlite cannot be used: file is not a database") == 2


@pytest.mark.parametrize("description", ["", "  \n", "x" * 10_001])
def test_a_ticket_must_say_something_and_not_too_much(drive: Drive, home: Path, description: str) -> None:
    talk = talk_at(drive, home)
    say(talk, "a ticket", call("transfer_to_help_center"), call("submit_ticket", {"description": description}), "What about?")
    assert talk.told[-1].startswith("Error: the description must have between 1 and 10,000 characters")
    assert Desk(home / "desk.sqlite").tickets() == []


def test_the_whole_conversation_offline(drive: Drive, home: Path) -> None:
    """D30: no key, no server, no script; tickets and mail are asked about first."""
    talk, model = talk_at(drive, home), OfflineModel()

    def offline(text: str) -> Response:
        talk.messages.append({"role": "user", "content": text})
        response = drive(talk.agent, talk.messages, model, context_variables=talk.context)
        talk.messages += response.messages
        talk.agent = response.agent or talk.agent
        talk.called += [entry.name for entry in response.calls]
        return response

    assert offline("hello").text.startswith("Hello.")
    assert offline("where do I get a bill for my accountant?").text.startswith("Invoices and tax numbers (article invoices, ")
    assert offline("why does my microphone crackle?").text == f"{NOTHING_FITS} Anything else?"
    assert offline("please open a ticket: my voice memos crackle").text.startswith("Shall I submit ticket")
    assert Desk(home / "desk.sqlite").tickets() == []
    assert offline("yes").text.startswith("Ticket 1 is open.")
    assert offline("mail ann@example.com that a ticket is open").text.startswith("Shall I send email")
    assert "is not sent yet. It waits in the outbox" in offline("yes").text
    assert talk.called == ["transfer_to_help_center", "query_docs", "query_docs", "submit_ticket", "send_email"]
    assert Desk(home / "desk.sqlite").tickets() == [(1, "open", "my voice memos crackle")]


def demo(*said: str, **changes: str) -> subprocess.CompletedProcess[str]:
    arguments = [word for text in said for word in ("--say", text)]
    return script("-m", "swarm.cli", "demo", "support_bot", *arguments, **changes)


def test_the_demo_prepares_at_its_first_start_only(tmp_path: Path) -> None:
    """H20"""
    first = demo("where do I get a bill for my accountant?", HOME=str(tmp_path), XDG_DATA_HOME="")
    assert (first.returncode, first.stderr) == (0, "")
    assert "The help center is prepared, since this is the first start.\n" in first.stdout
    assert f"Articles: {len(load())} added, 0 changed, 0 removed, 0 as they were.\n" in first.stdout
    assert "(article invoices, " in first.stdout
    assert (tmp_path / ".local" / "share" / "openswarm" / "support_bot" / "index").is_dir()
    again = demo("where do I get a bill for my accountant?", HOME=str(tmp_path), XDG_DATA_HOME="")
    assert "first start" not in again.stdout
    assert "(article invoices, " in again.stdout


def test_a_demo_on_an_index_of_another_model_ends_with_advice(home: Path) -> None:
    done = demo("hello", SUPPORT_BOT_HOME=str(home), OPENAI_API_KEY="sk-1", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: the index in {home / 'index'} was made with all-MiniLM-L6-v2")
    assert "prep --anew" in done.stderr
    offline = script(
        "-m", "swarm.cli", "demo", "support_bot", "--offline", "--say", "hello", SUPPORT_BOT_HOME=str(home), OPENAI_API_KEY="sk-1"
    )
    assert (offline.returncode, offline.stderr) == (0, "")


def test_the_loop_without_a_model_says_what_to_do(home: Path) -> None:
    done = script("-m", "examples.support_bot.main", SUPPORT_BOT_HOME=str(home))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: no model to talk to.")


def test_it_runs_from_an_installed_package(tmp_path: Path) -> None:
    """H20: the articles are found beside the code, and the index is written elsewhere, since the package need not be writable."""
    shutil.copytree(ROOT / "src" / "swarm", tmp_path / "swarm", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "swarm" / "_examples").mkdir()
    shutil.copy(ROOT / "examples" / "__init__.py", tmp_path / "swarm" / "_examples")
    examples = tmp_path / "swarm" / "_examples" / "support_bot"
    shutil.copytree(ROOT / "examples" / "support_bot", examples, ignore=shutil.ignore_patterns("__pycache__"))
    before = sorted(path for path in examples.rglob("*") if "__pycache__" not in path.parts)
    command = [sys.executable, "-m", "swarm", "demo", "support_bot", "--say", "where do I get a bill for my accountant?"]
    variables = environment(PYTHONPATH=str(tmp_path), XDG_DATA_HOME=str(tmp_path / "data"))
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    assert "(article invoices, " in done.stdout
    assert (tmp_path / "data" / "openswarm" / "support_bot" / "index").is_dir()
    assert sorted(path for path in examples.rglob("*") if "__pycache__" not in path.parts) == before
