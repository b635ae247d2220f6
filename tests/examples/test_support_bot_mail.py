"""The support bot's tickets and mail: a real table, a real SMTP connection, and every way in which a mail may not arrive."""

from __future__ import annotations

import email
import os
import sqlite3
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from examples.support_bot.desk import Desk
from examples.support_bot.mail import SUBJECT, Server, checked_address, deliver, server_at
from swarm.errors import ConfigError
from tests.examples.talk import script

CERTIFICATE = Path(__file__).parent.parent / "models" / "loopback.pem"


class Post:
    """What a mail server does with mail: keeps it, unless the recipient's name says otherwise."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.data = "250 OK"
        self.quit = "221 Bye"

    async def handle_QUIT(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        return self.quit

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]) -> str:
        if address.startswith("nobody"):
            return "550 5.1.1 No such user"
        if address.startswith("busy"):
            return "450 4.2.1 Try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.data == "cut":
            assert server.transport is not None
            server.transport.abort()
        elif self.data.startswith("250"):
            self.envelopes.append(envelope)
        return self.data


def only(post: Post) -> EmailMessage:
    """The one message that came."""
    [envelope] = post.envelopes
    assert isinstance(envelope.content, bytes)
    message = email.message_from_bytes(envelope.content, policy=default)
    assert isinstance(message, EmailMessage)
    return message


class MailServer(Controller):
    """A mail server on a free port of this machine, for a `with` block.

    Args:
        post: what it does with mail.
        options: as for aiosmtpd's Controller.
    """

    def __init__(self, post: Post, **options: Any) -> None:
        super().__init__(post, hostname="127.0.0.1", port=0, **options)

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()

    def __enter__(self) -> MailServer:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
def server(post: Post, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    """A mail server on this machine, named by SMTP_URL."""
    with MailServer(post) as server:
        monkeypatch.setenv("SMTP_URL", f"smtp://127.0.0.1:{server.port}")
        yield server


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delenv("SMTP_URL", raising=False)
    monkeypatch.delenv("MAIL_FROM", raising=False)
    return Desk(tmp_path / "some" / "desk.sqlite")


# Tickets


def test_tickets_are_rows_of_a_table(desk: Desk, tmp_path: Path) -> None:
    assert desk.submit("It crashes; DROP TABLE ticket; -- 'ü'") == 1
    assert desk.submit("Something else.") == 2
    with sqlite3.connect(tmp_path / "some" / "desk.sqlite") as database:
        rows = database.execute("SELECT id, state, description, created FROM ticket ORDER BY id").fetchall()
    database.close()
    assert (
        [row[:3] for row in rows]
        == desk.tickets()
        == [(1, "open", "It crashes; DROP TABLE ticket; -- 'ü'"), (2, "open", "Something else.")]
    )
    assert all(row[3] for row in rows)


def test_one_order_is_one_ticket_whoever_gives_it_again(desk: Desk) -> None:
    """D86"""
    with ThreadPoolExecutor(20) as pool:
        numbers = list(pool.map(lambda number: desk.submit(f"Try {number}.", f"key-{number % 2}"), range(40)))
    assert len(desk.tickets()) == 2
    assert set(numbers) == {1, 2}


def test_a_database_that_cannot_be_opened_names_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be opened: .* name another folder with SUPPORT_BOT_HOME"):
        Desk(tmp_path / "file" / "desk.sqlite").tickets()


def test_a_damaged_database_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "desk.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(ConfigError, match=r"desk\.sqlite cannot be used: file is not a database"):
        Desk(tmp_path / "desk.sqlite").submit("Help.")


# Addresses


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("ann@example.com", "ann@example.com"),
        (" o'hara+tag@mail.example.co.uk ", "o'hara+tag@mail.example.co.uk"),
        ("jürgen@example.com", "jürgen@example.com"),
        ("ann@bücher.example", "ann@xn--bcher-kva.example"),
    ],
)
def test_addresses(given: str, address: str) -> None:
    assert checked_address(given) == address


@pytest.mark.parametrize(
    "given",
    [
        "",
        "ann",
        "@example.com",
        "ann@",
        "ann@localhost",
        "ann@example.com\r\nBcc: everybody@example.com",
        "ann@example.com\nSubject: Buy",
        "ann\r\n@example.com",
        "ann@example.com, bo@example.com",
        "ann@example.com;bo@example.com",
        "Ann <ann@example.com>",
        "a n n@example.com",
        "ann@@example.com",
        ".ann@example.com",
        "ann..a@example.com",
        "ann@-example.com",
        "ann@example.com\0",
        "ann@example.com\u2028x",
        "a" * 65 + "@example.com",
        "ann@" + "a" * 64 + ".com",
        "ann@" + "abcdefgh." * 40 + "com",
        "ann@[127.0.0.1]",
    ],
)
def test_what_is_no_single_plain_address_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"give one address like|a domain that cannot exist"):
        checked_address(given)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example", Server("mail.example", 25, "", "", False)),
        ("smtps://mail.example", Server("mail.example", 465, "", "", True)),
        ("smtp://ann%40example.com:p%3Aw@mail.example:587", Server("mail.example", 587, "ann@example.com", "p:w", False)),
    ],
)
def test_servers(url: str, server: Server) -> None:
    assert server_at(url) == server


@pytest.mark.parametrize("url", ["mail.example", "http://mail.example", "smtp://", "smtp://mail.example:port", "smtp://[::1"])
def test_an_address_that_names_no_server(url: str) -> None:
    with pytest.raises(ConfigError, match="SMTP_URL must look like"):
        server_at(url)


# Sending


def test_a_mail_goes_through_a_server(desk: Desk, server: MailServer, post: Post) -> None:
    mail = deliver(desk, desk.queue("ann@example.com", "Grüße, 你好.\n.\nA line that begins with a full stop."))
    assert (mail.state, mail.reason) == ("sent", "")
    [envelope] = post.envelopes
    assert (envelope.mail_from, envelope.rcpt_tos) == ("support@inkwharf.example", ["ann@example.com"])
    assert (only(post)["To"], only(post)["From"], only(post)["Subject"]) == ("ann@example.com", "support@inkwharf.example", SUBJECT)
    assert only(post).get_content().replace("\r\n", "\n") == "Grüße, 你好.\n.\nA line that begins with a full stop.\n"
    assert only(post)["Date"] and only(post)["Message-ID"].endswith("@inkwharf.example>")


def test_the_sender_can_be_named(desk: Desk, server: MailServer, post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_FROM", "help@example.org")
    deliver(desk, desk.queue("ann@example.com", "Hello."))
    assert post.envelopes[0].mail_from == only(post)["From"] == "help@example.org"


def test_a_sender_that_is_no_address_leaves_the_mail_queued(desk: Desk, server: MailServer, monkeypatch: pytest.MonkeyPatch) -> None:
    number = desk.queue("ann@example.com", "Hello.")
    monkeypatch.setenv("MAIL_FROM", "help@example.org\nBcc: all@example.org")
    with pytest.raises(ConfigError, match=r"MAIL_FROM: .* is no e-mail address"):
        deliver(desk, number)
    assert desk.mail(number).state == "queued"


def test_letters_beyond_ascii_in_an_address(desk: Desk, server: MailServer, post: Post) -> None:
    """RFC 6531, if the server can."""
    assert deliver(desk, desk.queue("jürgen@example.com", "Hello.")).state == "sent"
    assert post.envelopes[0].rcpt_tos == ["jürgen@example.com"]


def test_letters_beyond_ascii_where_the_server_cannot(desk: Desk, post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    with MailServer(post, enable_SMTPUTF8=False) as server:
        monkeypatch.setenv("SMTP_URL", f"smtp://127.0.0.1:{server.port}")
        mail = deliver(desk, desk.queue("jürgen@example.com", "Hello."))
    assert (mail.state, mail.reason) == ("refused", "the mail server takes addresses in plain ASCII only")
    assert post.envelopes == []


def test_without_a_server_a_mail_waits(desk: Desk) -> None:
    mail = deliver(desk, desk.queue("ann@example.com", "Hello."))
    assert (mail.state, mail.reason) == ("queued", "no mail server is set up (SMTP_URL)")


def test_a_refused_recipient_is_refused_for_good(desk: Desk, server: MailServer, post: Post) -> None:
    number = desk.queue("nobody@example.com", "Hello.")
    mail = deliver(desk, number)
    assert (mail.state, mail.reason) == ("refused", "the mail server said 550 5.1.1 No such user")
    assert deliver(desk, number) == mail
    assert post.envelopes == []


@pytest.mark.parametrize(
    ("data", "state", "reason"),
    [
        ("554 5.7.1 Spam", "refused", "the mail server said 554 5.7.1 Spam"),
        ("451 4.3.0 Later", "queued", "the mail server said 451 4.3.0 Later"),
    ],
)
def test_a_message_that_the_server_does_not_want(desk: Desk, server: MailServer, post: Post, data: str, state: str, reason: str) -> None:
    post.data = data
    mail = deliver(desk, desk.queue("ann@example.com", "Hello."))
    assert (mail.state, mail.reason) == (state, reason)


def test_a_recipient_to_be_tried_later_stays_queued(desk: Desk, server: MailServer) -> None:
    mail = deliver(desk, desk.queue("busy@example.com", "Hello."))
    assert (mail.state, mail.reason) == ("queued", "the mail server said 450 4.2.1 Try again later")


def test_a_server_that_is_down_leaves_the_mail_queued_until_it_is_up(
    desk: Desk, post: Post, server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = os.environ["SMTP_URL"]
    monkeypatch.setenv("SMTP_URL", "smtp://127.0.0.1:9")
    number = desk.queue("ann@example.com", "Hello.")
    mail = deliver(desk, number)
    assert mail.state == "queued"
    assert mail.reason.startswith("the mail server at 127.0.0.1:9 cannot be used: ")
    monkeypatch.setenv("SMTP_URL", up)
    assert deliver(desk, number).state == "sent"
    assert len(post.envelopes) == 1


def test_a_connection_that_breaks_half_way_leaves_it_unclear_and_is_not_repeated(desk: Desk, server: MailServer, post: Post) -> None:
    post.data = "cut"
    number = desk.queue("ann@example.com", "Hello.")
    mail = deliver(desk, number)
    assert mail.state == "unclear"
    assert mail.reason.startswith("the connection to the mail server broke: ")
    post.data = "250 OK"
    assert deliver(desk, number) == mail
    assert post.envelopes == []


@pytest.mark.parametrize("goodbye", ["421 4.3.2 Busy", "500 What?", "250 OK"])
@pytest.mark.parametrize(("recipient", "state"), [("ann", "sent"), ("nobody", "refused")])
def test_what_is_said_to_a_goodbye_changes_nothing(
    desk: Desk, server: MailServer, post: Post, recipient: str, state: str, goodbye: str
) -> None:
    post.quit = goodbye
    number = desk.queue(f"{recipient}@example.com", "Hello.")
    assert deliver(desk, number).state == deliver(desk, number).state == state
    assert len(post.envelopes) == (state == "sent")


@pytest.mark.parametrize("data", ["nonsense", "250 " + "x" * 9000])
def test_an_answer_that_cannot_be_understood_leaves_it_unclear(desk: Desk, server: MailServer, post: Post, data: str) -> None:
    post.data = data
    assert deliver(desk, desk.queue("ann@example.com", "Hello.")).state == "unclear"


@pytest.mark.parametrize("url", ["smtp://mail..example", f"smtp://{'m' * 64}.example"])
def test_a_host_that_cannot_exist_leaves_it_queued(desk: Desk, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("SMTP_URL", url)
    mail = deliver(desk, desk.queue("ann@example.com", "Hello."))
    assert mail.state == "queued"
    assert "cannot be used: " in mail.reason


def test_a_mail_is_handed_over_once_by_many_at_once(desk: Desk, server: MailServer, post: Post) -> None:
    """D86"""
    number = desk.queue("ann@example.com", "Hello.", "key")
    assert desk.queue("ann@example.com", "Hello.", "key") == number
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: deliver(desk, number), range(10)))
    assert desk.mail(number).state == "sent"
    assert len(post.envelopes) == 1


def test_a_password_goes_over_encrypted_connections_only(desk: Desk, server: MailServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP_URL", os.environ["SMTP_URL"].replace("smtp://", "smtp://ann:secret@"))
    mail = deliver(desk, desk.queue("ann@example.com", "Hello."))
    assert mail.state == "queued"
    assert mail.reason.endswith("it offers no encryption, and a password is not sent without")


@pytest.mark.parametrize("password", ["secret", "wrong"])
def test_encryption_and_a_password(desk: Desk, post: Post, monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    """STARTTLS, which the server offers and asks for."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))

    def authenticator(server: Any, session: Any, envelope: Any, mechanism: str, given: Any) -> AuthResult:
        return AuthResult(success=given == LoginPassword(b"ann", b"secret"), handled=False)

    with MailServer(post, tls_context=context, require_starttls=True, authenticator=authenticator) as server:
        monkeypatch.setenv("SMTP_URL", f"smtp://ann:{password}@localhost:{server.port}")
        mail = deliver(desk, desk.queue("ann@example.com", "Hello."))
    assert mail.state == ("sent" if password == "secret" else "queued"), mail.reason
    assert len(post.envelopes) == (password == "secret")
    assert ("535" in mail.reason) == (password == "wrong")
    assert "wrong" not in mail.reason


def test_the_outbox_is_sent_by_a_command(desk: Desk, server: MailServer, post: Post, tmp_path: Path) -> None:
    for recipient in ("ann@example.com", "nobody@example.com"):
        desk.queue(recipient, "Hello.")
    variables = {"SUPPORT_BOT_HOME": str(tmp_path / "some"), "SMTP_URL": os.environ["SMTP_URL"]}
    done = script("-m", "examples.support_bot.outbox", **variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 to ann@example.com: sent\n2 to nobody@example.com: refused, the mail server said 550 5.1.1 No such user\n"
    assert script("-m", "examples.support_bot.outbox", **variables).stdout == done.stdout
    assert len(post.envelopes) == 1
    desk.queue("bo@example.com", "Hello.")
    wrong = script("-m", "examples.support_bot.outbox", **{**variables, "SMTP_URL": "nonsense"})
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("Error: SMTP_URL must look like")
