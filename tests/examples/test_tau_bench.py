"""tau-bench's gold actions, played through agents: what each call returns and what the database is at the end is as it was recorded.

A handful of tasks of each domain is played by `make test`, all 165 by `make check`; the shop's other 520, and 200 recorded conversations
with a real model at the airline, by `make nightly`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from examples.tau_bench import airline, demo, retail
from examples.tau_bench.agents import team
from examples.tau_bench.database import Database, Domain, tables_of
from examples.tau_bench.gold import script
from examples.tau_bench.hashes import canonical, digest, full_hash, tau_hash
from examples.tau_bench.tasks import Task, differences, read_tasks, record_in, slice_hash, tasks_of
from swarm import Response
from swarm.effects import CallTool, Flow
from swarm.errors import ToolError
from swarm.testing import Turn, call
from swarm.tools import tool_of
from tests.examples.readmes import blocks
from tests.examples.talk import ROOT, environment
from tests.examples.talk import script as run_script
from tests.modes import Drive

DATA = ROOT / "tests" / "data" / "tau_bench"
TOOLS: dict[str, Any] = {"airline": airline, "retail": retail}
DOMAINS: tuple[Domain, ...] = ("airline", "retail")
# Bookings, gift cards, certificates, many steps, no step, every error text of the test tasks, changes that go back and forth.
SAMPLE = {"airline": (0, 2, 8, 9, 12, 20, 33, 45), "retail": (2, 12, 22, 30, 40, 46, 57, 64, 106)}


@pytest.fixture(scope="module", autouse=True)
def what_all_tasks_share_stays_as_it_is() -> Iterator[None]:
    """A tool that changed a record it had not copied would change it for every later task."""
    yield
    for domain in DOMAINS:
        untouched = next(task for task in tasks_of(domain).values() if not task["changes"])
        assert digest(canonical(tables_of(domain))) == untouched["full_hash"]


class Witness:
    """A policy that looks at the records a step reads, just before its call runs.

    Attributes:
        wrong: what was not as it was recorded.
    """

    def __init__(self, task: Task, database: Database) -> None:
        self.steps = task["steps"]
        self.database = database
        self.wrong: list[str] = []

    def tool(self, call: CallTool) -> Flow:
        kind, _, number = call.id.partition("_")
        if kind == "step":
            step = self.steps[int(number)]
            found = {name: digest(canonical(record_in(self.database, name)))[:16] for name in step["pre"]}
            if found != step["pre"]:
                self.wrong.append(f"before {call.id}: {found}, not {step['pre']}")
            self.wrong += [f"before {call.id}: {name} is there" for name in step.get("absent", ()) if record_in(self.database, name)]
        return (yield call)


class Recorded:
    """What the recorded patches make of the database, without any tool.

    Attributes:
        results: of each step, dumps in canonical form.
        changes: the records that are others at the end, in canonical form.
    """

    def __init__(self, task: Any) -> None:
        database = Database(task["domain"])
        self.results: list[str] = []
        for step in task["steps"]:
            for patch in step["patch"]:
                table, _, id = patch["rec"].partition("/")
                database.add(table, id, patch["new"] if "new" in patch else {**(database.find(table, id) or {}), **patch["set"]})
            dump = step["result"].get("dump")
            self.results.append(step["result"]["text"] if dump is None else canonical(record_in(database, dump)))
        self.changes = changes_in(database)


def changes_in(database: Database) -> dict[str, str]:
    """The records that are not what they were at the beginning, in canonical form. One may be set to what it was."""
    first = tables_of(database.domain)
    changed = {f"{table}/{id}": record for (table, id), record in database.changed.items() if record != first[table].get(id)}
    return {name: canonical(record) for name, record in changed.items()}


def results_in(response: Response, steps: list[Any]) -> list[str]:
    """What the tools of a task said, dumps in canonical form."""
    said = [
        message["content"] for message in response.messages if message["role"] == "tool" and message["tool_call_id"].startswith("step_")
    ]
    return [text if "text" in step["result"] else canonical(json.loads(text)) for text, step in zip(said, steps, strict=True)]


_recorded: dict[str, Recorded] = {}
_hashed: dict[tuple[str, str], list[str]] = {}


def wrong_hashes(task: Task, database: Database) -> list[str]:
    """As `differences`; counted once for each end that a task comes to, since all variants should come to the same."""
    end = (task["id"], canonical(changes_in(database)))
    if end not in _hashed:
        _hashed[end] = differences(task, database)
    return _hashed[end]


def play(drive: Drive, task: Task, size: Literal[1, 2], several: bool) -> list[str]:
    """What was not as it should be when a task was played."""
    agents, database = team(task["domain"], size), Database(task["domain"])
    turns, witness = script(task, agents[0], several), Witness(task, database)
    response = drive(agents[0], task["user"], turns, swarm={"policies": [witness]}, context_variables={"database": database})
    if task["id"] not in _recorded:
        _recorded[task["id"]] = Recorded(task)
    expected, wrong = _recorded[task["id"]], witness.wrong
    for number, (got, want) in enumerate(zip(results_in(response, task["steps"]), expected.results, strict=True)):
        if got != want:
            wrong.append(f"step {number} came to {got[:300]}, not {want[:300]}")
    made = [entry for entry in response.calls if entry.handoff_to is None]
    if [(entry.name, entry.outcome) for entry in made] != [
        (step["name"], "error" if text.startswith("Error: ") else "ok") for step, text in zip(task["steps"], expected.results, strict=True)
    ]:
        wrong.append(f"calls: {made}")
    writers = {entry.agent for entry in made if entry.name in {tool.__name__ for tool in TOOLS[task["domain"]].WRITES}}
    if not writers <= {agents[-1].name}:
        wrong.append(f"changes were made by {writers}")
    if (response.stop_reason, response.text, len(drive.requests)) != ("complete", turns[-1], len(turns)):
        wrong.append(f"ended with {response.stop_reason}, {response.text}, after {len(drive.requests)} of {len(turns)} turns")
    if (changed := changes_in(database)) != expected.changes:
        wrong.append(f"changed: {changed}")
    return wrong + wrong_hashes(task, database)


variants = pytest.mark.parametrize(
    ("size", "several"), [(1, False), (1, True), (2, False), (2, True)], ids=["1", "1-several", "2", "2-several"]
)


@pytest.mark.parametrize("domain", DOMAINS)
@variants
def test_gold_actions_of_some_tasks(drive: Drive, domain: Domain, size: Literal[1, 2], several: bool) -> None:
    """K09, K10, K13, D23"""
    tasks = [tasks_of(domain)[f"{domain}-test-{number:03}"] for number in SAMPLE[domain]]
    assert {task["id"]: wrong for task in tasks if (wrong := play(drive, task, size, several))} == {}


@pytest.mark.check
@pytest.mark.parametrize("domain", DOMAINS)
@variants
def test_gold_actions_of_all_tasks(drive: Drive, domain: Domain, size: Literal[1, 2], several: bool) -> None:
    """K09, K10, K13, D23"""
    tasks = list(tasks_of(domain).values())
    assert len(tasks) == {"airline": 50, "retail": 115}[domain]
    assert {task["id"]: wrong for task in tasks if (wrong := play(drive, task, size, several))} == {}


@pytest.mark.nightly
@pytest.mark.timeout(600)
@variants
def test_gold_actions_of_the_tasks_for_development_and_training(drive: Drive, size: Literal[1, 2], several: bool) -> None:
    tasks: list[Task] = read_tasks(DATA / "retail_dev_and_train.tasks.jsonl.gz")
    assert len(tasks) == 520
    assert {task["id"]: wrong for task in tasks if (wrong := play(drive, task, size, several))} == {}


def test_a_database_that_is_not_as_recorded_is_found_out() -> None:
    """What all the tests above rest on."""
    task, fresh = tasks_of("airline")["airline-test-008"], Database("airline")
    assert differences(task, fresh) == ["slice_hash", "full_hash", "tau_hash"]
    elsewhere = Database("airline")
    elsewhere.edit("flights", "HAT300")["origin"] = "XXX"
    unchanged = next(task for task in tasks_of("airline").values() if not task["changes"])
    assert differences(unchanged, fresh) == []
    assert differences(unchanged, elsewhere) == ["full_hash", "tau_hash"]


# Recorded conversations


def converse(drive: Drive, conversation: Any) -> list[str]:
    """What was not as recorded when a model's part of a conversation is played again, its calls with the very text it wrote."""
    agent, database = team("airline", 1)[0], Database("airline")
    messages: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = [*conversation["script"], {"user": ""}]
    turns: list[Turn] = []
    for entry in entries:
        if "user" not in entry:
            turns.append(Turn(entry["content"], [call(made["name"], made["argtext"], id=made["id"]) for made in entry["calls"]]))
            continue
        if turns:
            turns += [Turn("Goodbye.")] if turns[-1].calls else []
            response = drive(agent, messages, turns, context_variables={"database": database})
            drive.model.assert_done()
            messages, turns = messages + response.messages, []
        messages.append({"role": "user", "content": entry["user"]})
    expected, steps = Recorded(conversation), conversation["steps"]
    said = [message["content"] for message in messages if message["role"] == "tool"]
    results = [text if "text" in step["result"] else canonical(json.loads(text)) for text, step in zip(said, steps, strict=True)]
    wrong = [f"step {number}: {got[:300]}" for number, got in enumerate(results) if got != expected.results[number]]
    wrong += [] if changes_in(database) == expected.changes else [f"changed: {changes_in(database)}"]
    return wrong + ([] if slice_hash(conversation, database) == conversation["slice_hash"] else ["slice_hash"])


def conversations() -> list[Any]:
    return read_tasks(DATA / "airline_gpt4o.tasks.jsonl.gz")


def test_some_recorded_conversations(drive: Drive) -> None:
    """D52: models repeat the ids of their calls; also the failures that the tasks do not show."""
    some = conversations()[:20]
    ids = [[made["id"] for entry in conversation["script"] for made in entry.get("calls", ())] for conversation in some]
    assert sum(len(set(made)) < len(made) for made in ids) >= 3
    assert any("Error: " in step["result"].get("text", "") for conversation in some for step in conversation["steps"])
    assert {conversation["id"]: wrong for conversation in some if (wrong := converse(drive, conversation))} == {}


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_all_recorded_conversations(drive: Drive) -> None:
    assert len(conversations()) == 200
    assert {conversation["id"]: wrong for conversation in conversations() if (wrong := converse(drive, conversation))} == {}


# The tools


def without_line_breaks(value: Any) -> Any:
    """A docstring is written in lines, the recorded descriptions are not."""
    if isinstance(value, dict):
        return {key: without_line_breaks(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [without_line_breaks(item) for item in cast("list[Any]", value)]
    return " ".join(value.split()) if isinstance(value, str) else value


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_schemas_are_those_of_the_benchmark(domain: Domain) -> None:
    """K20, K21, D22: names, descriptions, types, enums, required, nested objects; nothing else is sent."""
    recorded_tools = json.loads((DATA / f"{domain}.tools.json").read_text(encoding="utf-8"))
    module = TOOLS[domain]
    made = {
        tool_of(function).name: without_line_breaks(tool_of(function).wire) for function in (*module.READS, *module.WRITES, *module.BOTH)
    }
    assert made == {tool["schema"]["function"]["name"]: without_line_breaks(tool["schema"]) for tool in recorded_tools}
    assert {tool_of(function).name for function in module.WRITES} == {
        t["schema"]["function"]["name"] for t in recorded_tools if t["writes"]
    }


def test_a_change_is_seen_through_its_own_database_only() -> None:
    one, other = Database("retail"), Database("retail")
    retail.modify_user_address("aarav_anderson_8794", "a", "b", "c", "d", "e", "f", {"database": one})
    assert len(one.changed) == 1
    [((table, id), record)] = one.changed.items()
    assert one.find(table, id) is record
    assert dict(one.rows(table))[id] is record
    assert other.find(table, id) == tables_of("retail")[table][id] != record
    one.add(table, "new", {})
    assert list(dict(one.rows(table)))[-1] == "new"
    assert full_hash(one) != full_hash(other)
    assert tau_hash(one) != tau_hash(other)


def test_a_run_works_on_the_very_database_that_it_is_given(drive: Drive) -> None:
    """K10"""
    database = Database("airline")
    turns = [call("cancel_reservation", {"reservation_id": "Z7GOZK"}), "Cancelled."]
    response = drive(team("airline", 1)[0], "Cancel Z7GOZK", turns, context_variables={"database": database})
    assert response.context_variables["database"] is database
    assert list(database.changed) == [("reservations", "Z7GOZK")]


def order_with(status: str) -> str:
    return next(id for id, order in tables_of("retail")["orders"].items() if order["status"] == status)


LEG, PERSON = airline.Leg(flight_number="HAT136", date="2024-05-20"), airline.Passenger(first_name="A", last_name="B", dob="1990-01-01")
BOOKING: tuple[Any, ...] = ("mia_li_3668", "JFK", "ATL", "one_way", "economy", [LEG], [PERSON], [], 0, 0, "no")
ORDER, OWN_CARD, ITEM = "#W4776164", "credit_card_9513926", "8349118980"
FAILURES: list[tuple[str, str, tuple[Any, ...], str]] = [
    ("airline", "get_user_details", ("nobody",), "user not found"),
    ("airline", "get_reservation_details", ("ZZZZZZ",), "reservation not found"),
    ("airline", "update_reservation_passengers", ("JG7FMM", []), "number of passengers does not match"),
    ("airline", "update_reservation_baggages", ("JG7FMM", 1, 0, "paypal"), "payment method not found"),
    (
        "airline",
        "book_reservation",
        (*BOOKING[:5], [LEG.model_copy(update={"flight_number": "HAT999"})], *BOOKING[6:]),
        "flight HAT999 not found",
    ),
    (
        "airline",
        "book_reservation",
        (*BOOKING[:5], [LEG.model_copy(update={"date": "2025-05-20"})], *BOOKING[6:]),
        "flight HAT136 not found on date 2025-05-20",
    ),
    ("airline", "book_reservation", BOOKING, "payment amount does not add up, total price is 152, but paid 0"),
    ("airline", "book_reservation", (*BOOKING[:-1], "yes"), "payment amount does not add up, total price is 182, but paid 0"),
    ("airline", "book_reservation", (*BOOKING[:-2], 2, "no"), "payment amount does not add up, total price is 252, but paid 0"),
    ("retail", "get_user_details", ("nobody",), "user not found"),
    ("retail", "cancel_pending_order", (order_with("delivered"), "no longer needed"), "non-pending order cannot be cancelled"),
    ("retail", "modify_pending_order_address", (order_with("processed"), *"abcdef"), "non-pending order cannot be modified"),
    ("retail", "return_delivered_order_items", (order_with("pending"), [], OWN_CARD), "non-delivered order cannot be returned"),
    ("retail", "modify_pending_order_payment", (ORDER, OWN_CARD), "the order is already paid by this method"),
    ("retail", "modify_pending_order_payment", (ORDER, "credit_card_1"), "payment method not found"),
    ("retail", "modify_pending_order_items", (ORDER, ["1"], ["2"], OWN_CARD), "items to be modified not found in the order: 1"),
    (
        "retail",
        "modify_pending_order_items",
        (ORDER, [ITEM] * 2, [ITEM] * 2, OWN_CARD),
        f"items to be modified not found in the order: {ITEM}",
    ),
    ("retail", "modify_pending_order_items", (ORDER, [ITEM], ["2"], OWN_CARD), "new item 2 not found or not available"),
    (
        "retail",
        "modify_pending_order_items",
        (ORDER, [ITEM], [], OWN_CARD),
        "the number of items to be modified does not match the number of new items",
    ),
    ("airline", "calculate", ("__import__('os')",), "invalid characters in expression"),
    ("airline", "calculate", ("2 ** 9 ** 9 ** 9",), "the expression cannot be calculated: there may be numbers, + - * / and parentheses"),
    ("airline", "calculate", ("1 / 0",), "the expression cannot be calculated: division by zero"),
]


@pytest.mark.parametrize(("domain", "name", "arguments", "text"), FAILURES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_failure_says_why_and_changes_nothing(domain: Domain, name: str, arguments: tuple[Any, ...], text: str) -> None:
    """Failures that no recording shows; those that one shows are in the tasks and conversations above."""
    database = Database(domain)
    context = ({"database": database},) if tool_of(getattr(TOOLS[domain], name)).context_parameter else ()
    with pytest.raises(ToolError) as caught:
        getattr(TOOLS[domain], name)(*arguments, *context)
    assert str(caught.value) == text
    assert database.changed == {}


@pytest.mark.parametrize(
    "expression", ["", "1 +", "(" * 300 + "1" + ")" * 300, "9" * 5_000, "9" * 400, "1(2)", "1 2", "1.2.3", "()", "-" * 5_000 + "1"]
)
def test_what_is_no_sum_is_refused(expression: str) -> None:
    with pytest.raises(ToolError, match="the expression cannot be calculated"):
        airline.calculate(expression)


def test_there_is_an_end_to_bookings_and_certificates() -> None:
    """The benchmark's new ids are three of each, so that what is recorded can be compared."""
    database = Database("airline")
    context = {"database": database}
    paid = [airline.Payment(payment_id="credit_card_4421486", amount=152)]
    for id in airline.NEW_RESERVATIONS:
        assert (
            airline.book_reservation("mia_li_3668", "JFK", "ATL", "one_way", "economy", [LEG], [PERSON], paid, 0, 0, "no", context)[
                "reservation_id"
            ]
            == id
        )
        assert airline.NEW_CERTIFICATES[airline.NEW_RESERVATIONS.index(id)] in airline.send_certificate("mia_li_3668", 0.5, context)
    with pytest.raises(ToolError, match="too many reservations"):
        airline.book_reservation("mia_li_3668", "JFK", "ATL", "one_way", "economy", [LEG], [PERSON], paid, 0, 0, "no", context)
    with pytest.raises(ToolError, match="too many certificates"):
        airline.send_certificate("mia_li_3668", 50, context)


def test_an_order_that_changed_hands_is_refunded_to_the_last() -> None:
    """Items are modified once, paid by another card, then the order is cancelled: nobody keeps or gets more than was paid."""
    database = Database("retail")
    context = {"database": database}
    retail.modify_pending_order_items(ORDER, [ITEM], ["9647292434"], OWN_CARD, context)
    with pytest.raises(ToolError, match="the items of an order can be modified only once"):
        retail.modify_pending_order_items(ORDER, ["9647292434"], [ITEM], OWN_CARD, context)
    order = database.edit("orders", ORDER)
    database.edit("users", order["user_id"])["payment_methods"]["gift_card_1"] = {
        "source": "gift_card",
        "id": "gift_card_1",
        "balance": 5000,
    }
    retail.modify_pending_order_payment(ORDER, "gift_card_1", context)
    assert order["payment_history"][-2:] == [
        {"transaction_type": "payment", "amount": pytest.approx(2772.49), "payment_method_id": "gift_card_1"},
        {"transaction_type": "refund", "amount": pytest.approx(2772.49), "payment_method_id": OWN_CARD},
    ]
    assert database.edit("users", order["user_id"])["payment_methods"]["gift_card_1"]["balance"] == 2227.51
    retail.cancel_pending_order(ORDER, "ordered by mistake", context)
    assert order["payment_history"][-1] == {
        "transaction_type": "refund",
        "amount": pytest.approx(2772.49),
        "payment_method_id": "gift_card_1",
    }
    assert len(order["payment_history"]) == 5
    assert database.edit("users", order["user_id"])["payment_methods"]["gift_card_1"]["balance"] == 5000


# The desk and the policies


def test_the_desk_leads_to_both_domains_each_with_a_database_of_its_own(drive: Drive) -> None:
    """K10, K13, H17"""
    turns = [
        call("transfer_to_airline"),
        call("cancel_reservation", {"reservation_id": "NO6JO3"}),
        call("transfer_to_desk"),
        call("transfer_to_shop"),
        call("find_user_id_by_email", {"email": "mia.garcia2723@example.com"}),
        call("transfer_to_desk"),
        call("transfer_to_airline"),
        call("get_reservation_details", {"reservation_id": "NO6JO3"}),
        "Cancelled, and you are known to the shop.",
    ]
    response = drive(demo.agent, "cancel my flight, and do you know me?", turns, context_variables=demo.context_variables)
    told = {message["tool_name"]: message["content"] for message in response.messages if message["role"] == "tool"}
    assert told["find_user_id_by_email"] == "mia_garcia_4516"
    assert json.loads(told["get_reservation_details"])["status"] == "cancelled"
    assert {domain: len(own.changed) for domain, own in response.context_variables["databases"].items()} == {"airline": 1, "retail": 0}
    assert demo.context_variables == {}, "the next conversation begins anew"


@pytest.mark.parametrize(
    ("domain", "rules"),
    [
        (
            "airline",
            ["15 May 2024", "user id first", "regular members 0, 1, 2", "50 dollars", "not in basic economy", "24 hours", "100 dollars"],
        ),
        ("retail", ["zip code", "that customer only", "ordered by mistake", "only once", "gift card must cover", "5 to 7 business days"]),
    ],
)
def test_every_agent_of_a_domain_is_told_its_policy(domain: Domain, rules: list[str]) -> None:
    for agent in (*team(domain, 1), *team(domain, 2)):
        for rule in (*rules, "answered yes", "one tool call at a time", "to a human only if"):
            assert rule in str(agent.instructions), rule


# The command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["airline", "50"], "there is no task airline-test-050; the last is airline-test-049"), (["bank"], "invalid choice: 'bank'")],
)
def test_the_command_says_what_there_is(arguments: list[str], said: str) -> None:
    done = run_script("-m", "examples.tau_bench", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_the_python_in_its_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    readme = ROOT / "examples" / "tau_bench" / "README.md"
    play, measure = blocks(readme, "python")
    names: dict[str, Any] = {}
    exec(play, names)
    assert names["response"].stop_reason == "complete"
    assert names["database"].changed
    exec(measure, {})
    assert f"{measure}```\n\n```text\n{capsys.readouterr().out}```" in readme.read_text(encoding="utf-8")


def test_it_runs_from_an_installed_package(tmp_path: Path) -> None:
    """H20: the data is found beside the code, which does not name itself."""
    shutil.copytree(ROOT / "src" / "swarm", tmp_path / "swarm", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "swarm" / "_examples").mkdir()
    shutil.copy(ROOT / "examples" / "__init__.py", tmp_path / "swarm" / "_examples")
    shutil.copytree(
        ROOT / "examples" / "tau_bench", tmp_path / "swarm" / "_examples" / "tau_bench", ignore=shutil.ignore_patterns("__pycache__")
    )
    command = [sys.executable, "-m", "swarm._examples.tau_bench", "retail", "retail-test-030", "--agents", "1", "--several"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(PYTHONPATH=str(tmp_path)), capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("The whole database is as recorded.\n")
