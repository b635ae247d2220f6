"""A bank's support desk with roles, consent, a budget, a spare model and guardrails, played offline from end to end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from examples.bank.agents import front_desk
from examples.bank.desk import BUDGET, service
from examples.bank.ledger import Declined, Ledger
from examples.bank.tools import in_cents
from swarm import Agent, AsyncSwarm, ChatClient, OfflineModel, Response, ScriptedModel, Swarm
from swarm.events import Event, PolicyActed
from swarm.policies import Retry
from swarm.testing import call
from swarm.types import Pending
from tests.loopback import Answer, Loopback

OVERLOADED = Answer(b'{"error": {"message": "overloaded"}}', status=503, headers={"Retry-After": "0"}, framing="length")


class Recorded:
    """A model that notes what it is sent."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.requests: list[Any] = []

    def complete(self, call: Any) -> Any:
        self.requests.append(call.request)
        return self.model.complete(call)

    def stream(self, call: Any) -> Any:
        self.requests.append(call.request)
        return self.model.stream(call)


class Visit:
    """A conversation with the bank: each message of the customer's is one run."""

    def __init__(self, make: type[Any], model: Any, spare: Any, consent: Any, **context: Any) -> None:
        self.asked: list[Pending] = []
        self.events: list[Event] = []
        self.agent: Agent = front_desk
        self.ledger: Ledger = context["ledger"]
        self.context = {"user": "Ada", "roles": "customer", "customer": "Ada", **context}
        self.messages: list[dict[str, Any]] = []

        def ask(call: Pending) -> Any:
            self.asked.append(call)
            return consent

        self.client = service(model, spare, ask, make, Retry(tries=2, random=lambda: 0.0))
        self.client._observers = (self.events.append,)

    def say(self, text: str) -> Response:
        self.messages.append({"role": "user", "content": text})
        coming = self.client.run(self.agent, self.messages, context_variables=self.context)
        response: Response = asyncio.run(coming) if isinstance(self.client, AsyncSwarm) else coming
        self.messages += response.messages
        self.agent = response.agent or self.agent
        return response

    @property
    def euros(self) -> float:
        return self.ledger.balance("ADA-1") / 100

    def acted(self, policy: str) -> list[str]:
        return [event.what for event in self.events if isinstance(event, PolicyActed) and event.policy == policy]


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    books = Ledger()
    yield books
    books.close()


@pytest.mark.parametrize("make", [Swarm, AsyncSwarm])
def test_a_customer_s_day(make: type[Any], ledger: Ledger) -> None:
    spare = Recorded(OfflineModel())
    with Loopback(OVERLOADED) as server:
        visit = Visit(make, ChatClient(server.url, "key"), spare, True, ledger=ledger)
        assert "2,500.00 euros" in (visit.say("how much money do I have?").text or "")
        # The first model was tried twice for each answer, then the spare one was asked.
        assert len(server.requests) == 2 * len(spare.requests)
        assert visit.acted("Retry")
        assert visit.acted("Fallback")

        visit.say("please send 20 euros to Bob")
        visit.say("yes")
        assert visit.euros == 2480
        assert visit.asked == []

        visit.say("please send 1500 euros to Bob")
        visit.say("yes")
        assert [(pending.name, pending.arguments["amount"]) for pending in visit.asked] == [("transfer_money", 1500)]
        assert visit.euros == 980

        visit.say("my card ending in 4821 was stolen, its number is 4111 1111 1111 4821")
        visit.say("yes")
        assert ledger.is_blocked("4821")
        seen = str([server_request.json for server_request in server.requests]) + str(spare.requests)
        assert "4111 1111" not in seen
        assert "[card number]" in seen


@pytest.mark.parametrize("make", [Swarm, AsyncSwarm])
def test_consent_that_is_refused(make: type[Any], ledger: Ledger) -> None:
    model = ScriptedModel([call("transfer_to_payments"), call("transfer_money", {"amount": 1500, "recipient": "Bob"}), "It was not sent."])
    visit = Visit(make, model, ScriptedModel([]), False, ledger=ledger)
    response = visit.say("Send Bob 1,500 euros")
    assert [made.outcome for made in response.calls] == ["ok", "refused"]
    assert visit.euros == 2500


@pytest.mark.parametrize("make", [Swarm, AsyncSwarm])
def test_consent_that_is_not_there_yet_pauses_the_run(make: type[Any], ledger: Ledger) -> None:
    model = ScriptedModel([call("transfer_to_payments"), call("transfer_money", {"amount": 1500, "recipient": "Bob"}), "It is sent."])
    visit = Visit(make, model, ScriptedModel([]), None, ledger=ledger)
    response = visit.say("Send Bob 1,500 euros")
    assert response.stop_reason == "approval"
    assert visit.euros == 2500
    coming = visit.client.run(visit.agent, visit.messages, visit.context, approvals={response.pending[0].id: True})
    resumed: Response = asyncio.run(coming) if make is AsyncSwarm else coming
    assert (resumed.text, resumed.stop_reason) == ("It is sent.", "complete")
    assert visit.euros == 1000


@pytest.mark.parametrize("make", [Swarm, AsyncSwarm])
def test_what_a_role_may_not_do_is_neither_offered_nor_done(make: type[Any], ledger: Ledger) -> None:
    script = [call("transfer_to_accounts"), call("refund_fee", {"entry": 3}), "Done."]
    model = ScriptedModel(script)
    visit = Visit(make, model, ScriptedModel([]), True, ledger=ledger)
    assert [made.outcome for made in visit.say("I want the fee of entry 3 back").calls] == ["ok", "refused"]
    assert "refund_fee" not in str(model.requests[1]["tools"])
    assert visit.euros == 2500

    model = ScriptedModel(script)
    clerk = Visit(make, model, ScriptedModel([]), True, ledger=ledger, user="Carol", roles="clerk")
    assert [made.outcome for made in clerk.say("Refund the fee of entry 3").calls] == ["ok", "ok"]
    assert "refund_fee" in str(model.requests[1]["tools"])
    assert clerk.euros == 2515


def test_more_than_a_branch_may_send_is_refused_before_anybody_is_asked(ledger: Ledger) -> None:
    model = ScriptedModel(
        [call("transfer_to_payments"), call("transfer_money", {"amount": 20000, "recipient": "Bob"}), "That is done at a branch."]
    )
    visit = Visit(Swarm, model, ScriptedModel([]), True, ledger=ledger)
    response = visit.say("Send Bob 20,000 euros")
    assert response.calls[1].outcome == "refused"
    assert "at a branch only" in response.messages[-2]["content"]
    assert visit.asked == []
    assert visit.euros == 2500


def test_a_link_to_elsewhere_is_not_shown(ledger: Ledger) -> None:
    visit = Visit(Swarm, ScriptedModel(["Log in at https://bank.example.evil.test/now"]), ScriptedModel([]), True, ledger=ledger)
    response = visit.say("How do I log in?")
    assert response.stop_reason == "guardrail:links"
    assert "evil" not in str(response.messages)


def test_a_conversation_that_goes_in_circles_ends_at_its_budget(ledger: Ledger) -> None:
    there_and_back = [call("transfer_to_accounts"), call("transfer_to_front_desk")] * 10
    visit = Visit(Swarm, ScriptedModel(there_and_back), ScriptedModel([]), True, ledger=ledger)
    response = visit.say("Hello?")
    assert response.stop_reason == "limit:handoffs"
    assert response.used["handoffs"] == BUDGET.handoffs


def test_money_is_counted_in_cents() -> None:
    assert [in_cents(euros) for euros in (0.1 + 0.2, 19.99, 1e-9, 1.005)] == [30, 1999, 0, 101]


def test_the_ledger_neither_makes_nor_loses_money(ledger: Ledger) -> None:
    def pay(number: int) -> None:
        for turn in range(20):
            try:
                ledger.transfer("ADA-1", "BOB-1", 2_000, "test", f"{number}-{turn}")
            except Declined:
                return

    threads = [threading.Thread(target=pay, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (ledger.balance("ADA-1"), ledger.balance("BOB-1")) == (0, 262_000)
    assert not ledger.transfer("ADA-1", "BOB-1", 2_000, "again", "0-0")
    with pytest.raises(Declined, match="not enough"):
        ledger.transfer("ADA-1", "BOB-1", 1, "more", "new")
    with pytest.raises(Declined, match="no fee"):
        ledger.refund_fee("ADA-1", 2)
    assert ledger.refund_fee("ADA-1", 3) == 1500
    with pytest.raises(Declined, match="before"):
        ledger.refund_fee("ADA-1", 3)
