"""Mail on its way out: an address that can be trusted, a message, a server. Nothing is sent that does not stand in the outbox first."""

from __future__ import annotations

import re
import smtplib
import ssl
from contextlib import suppress
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from swarm.errors import ConfigError

from . import settings
from .desk import Desk, Mail

SECONDS = 20.0
NO_SERVER = "no mail server is set up (SMTP_URL)"
SUBJECT = "Your question to Inkwharf support"

# What servers take (RFC 5321, section 4.1.2, and RFC 6531 for other letters than ASCII), without quoted local parts and address literals.
_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_][\w-]{0,61}[^\W_]")


class Server(NamedTuple):
    """A mail server, from an address such as smtp://user:password@host:587; smtps:// is encrypted from the start."""

    host: str
    port: int
    user: str
    password: str
    encrypted: bool


def server_at(url: str) -> Server:
    """The server that an address names.

    Raises:
        ConfigError: it names none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ConfigError("SMTP_URL must look like smtp://host:25, smtp://user:password@host:587 or smtps://host:465")
    encrypted = parts.scheme == "smtps"
    return Server(
        parts.hostname, port or (465 if encrypted else 25), unquote(parts.username or ""), unquote(parts.password or ""), encrypted
    )


def checked_address(address: str) -> str:
    """One plain address, its domain in ASCII. Nothing else gets into a header: no line break, no second address, no name.

    Raises:
        ValueError: it is none.
    """
    local, _, domain = address.strip().rpartition("@")
    if len(address) > 254 or not _ADDRESS.fullmatch(f"{local}@{domain}") or ".." in local or local[0] == "." or local[-1] == ".":
        raise ValueError(f"{address!r} is no e-mail address; give one address like name@example.com")
    try:
        return f"{local}@{domain.encode('idna').decode()}"
    except UnicodeError:
        raise ValueError(f"{address!r} has a domain that cannot exist") from None


def deliver(desk: Desk, number: int) -> Mail:
    """Hand a queued mail to the server, if there is one; one that is not queued is left alone. Returns the mail as it is then.

    Raises:
        ConfigError: SMTP_URL names no server, or MAIL_FROM is no address.
    """
    url = settings.smtp_url()
    if not url:
        mail = desk.mail(number)
        return mail._replace(reason=mail.reason or NO_SERVER) if mail.state == "queued" else mail
    server, message = server_at(url), _message(desk.mail(number))
    if desk.claim(number):
        desk.settle(number, *_handed_over(server, message))
    return desk.mail(number)


def _message(mail: Mail) -> EmailMessage:
    try:
        sender = checked_address(settings.sender())
    except ValueError as error:
        raise ConfigError(f"MAIL_FROM: {error}") from None
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, mail.recipient, SUBJECT
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain="inkwharf.example")
    message.set_content(mail.message)
    return message


def _handed_over(server: Server, message: EmailMessage) -> tuple[str, str]:
    """State and reason after a try. Before the message is on its way a failure leaves it queued; after that nobody knows."""
    try:
        smtp = _connected(server)
    except (OSError, smtplib.SMTPException, UnicodeError) as error:  # a host, user or password that cannot be sent
        return "queued", f"the mail server at {server.host}:{server.port} cannot be used: {_said(error)}"
    try:
        smtp.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        [(code, text)] = error.recipients.values()
        return _refused(code, text)
    except (smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as error:
        return _refused(error.smtp_code, error.smtp_error)
    except smtplib.SMTPNotSupportedError:
        return "refused", "the mail server takes addresses in plain ASCII only"
    except (OSError, smtplib.SMTPException) as error:
        return "unclear", f"the connection to the mail server broke: {_said(error)}"
    finally:
        with suppress(OSError):  # what is said to a goodbye changes nothing about the mail
            smtp.quit()
        smtp.close()
    return "sent", ""


def _connected(server: Server) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if server.encrypted:
        smtp: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=SECONDS, context=context)
    else:
        smtp = smtplib.SMTP(server.host, server.port, timeout=SECONDS)
    try:
        smtp.ehlo_or_helo_if_needed()
        if not server.encrypted and smtp.has_extn("starttls"):
            smtp.starttls(context=context)
            smtp.ehlo()
        elif not server.encrypted and server.user:
            raise smtplib.SMTPException("it offers no encryption, and a password is not sent without")
        if server.user:
            smtp.login(server.user, server.password)
    except BaseException:
        smtp.close()
        raise
    return smtp


def _refused(code: int, text: bytes | str) -> tuple[str, str]:
    """4xx may pass, 5xx is for good (RFC 5321, section 4.2.1); what is neither says nothing."""
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return {4: "queued", 5: "refused"}.get(code // 100, "unclear"), f"the mail server said {code} {' '.join(said.split())}"


def _said(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return _refused(error.smtp_code, error.smtp_error)[1]
    return str(error) or type(error).__name__
