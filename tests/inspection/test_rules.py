"""Each rule finds the mistake it is for, and nothing else; and leaves alone what only looks like it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, Handoff, Result, tool
from swarm.inspection import RULES, Report, check
from swarm.inspection.likeness import by_meaning, by_words, too_alike
from swarm.models.offline.embedder import MiniLM


def order(item: str) -> str:
    """Order an item."""
    return f"{item} is ordered"


def refund_order(order_id: str) -> str:
    """Give the money back."""
    return f"{order_id} is refunded"


def look_up(query: str) -> str:
    """Look an item up."""
    return query


class Shop:
    """A shop without a mistake: triage, sales, refunds, each with a way back. Tests plant one."""

    def __init__(self) -> None:
        self.triage = Agent(name="Triage", instructions="Find out what the customer wants, and hand over.")
        self.sales = Agent(name="Sales", instructions="You sell bees to beekeepers.", functions=[order], handoffs=[self.triage])
        self.refunds = Agent(
            name="Refunds",
            instructions="1. Ask for the order.\n2. Call refund_order.\n3. For anything else call transfer_to_triage.",
            functions=[refund_order],
            handoffs=[self.triage],
        )
        self.triage.handoffs = [self.sales, self.refunds]
        self.known = {"triage": self.triage, "sales": self.sales, "refunds": self.refunds}

    def checked(self, **options: Any) -> Report:
        return check(self.triage, known=self.known, **options)


def unreachable(shop: Shop) -> None:
    shop.known["claims"] = Agent(name="Claims", handoffs=[shop.triage])


def no_way_back(shop: Shop) -> None:
    shop.sales.handoffs.clear()


def no_way_back_of_two(shop: Shop) -> None:
    shop.sales.handoffs.clear()
    shop.triage.handoffs = [shop.sales]
    shop.triage.functions = [look_up]
    del shop.known["refunds"]


def a_circle(shop: Shop) -> None:
    one, other = Agent(name="One"), Agent(name="Other", instructions="Pass the customer on to One, who knows more than you do.")
    one.handoffs, other.handoffs = [other], [one]
    shop.triage.handoffs.append(one)


def itself(shop: Shop) -> None:
    again = Agent(name="Again", instructions="Route the customer.")
    again.handoffs = [again]
    shop.triage.handoffs.append(again)


def two_agents_of_one_name(shop: Shop) -> None:
    shop.sales.name = "Refunds"
    shop.triage.handoffs[0] = Handoff(shop.sales, name="transfer_to_sales")
    shop.refunds.instructions = "You give money back, whatever the reason is."


def two_tools_of_one_name(shop: Shop) -> None:
    shop.sales.functions.append(tool(look_up, name="order"))


def a_function_and_a_handoff_of_one_name(shop: Shop) -> None:
    def transfer_to_sales() -> Agent:
        """For buying."""
        return shop.sales

    shop.triage.functions = [transfer_to_sales]


def two_handoffs_of_one_wire_name(shop: Shop) -> None:
    shop.triage.handoffs.append(
        Agent(name="sales!", instructions="You sell honey and wax to bakers.", handoffs=[shop.triage], functions=[order])
    )


def a_broken_list(shop: Shop) -> None:
    shop.sales.functions.append("order")  # type: ignore[arg-type]


def no_description(shop: Shop) -> None:
    shop.sales.functions.append(lambda_of_no_words)


def lambda_of_no_words(number: int) -> str:
    return str(number)


def a_tool_that_is_not_there(shop: Shop) -> None:
    shop.sales.instructions = "You sell bees. If the customer agrees, call place_bid."


def a_tool_misspelt(shop: Shop) -> None:
    shop.refunds.instructions = "1. Ask for the order.\n2. refund_ordre, then transfer_to_triage and refund_order."


def a_tool_of_another_agent(shop: Shop) -> None:
    shop.sales.instructions = "你卖蜜蜂。如果客户不满意，使用 refund_order。"


def a_tool_by_its_python_name(shop: Shop) -> None:
    shop.sales.functions = [tool(look_up, name="search")]
    shop.sales.instructions = "You sell bees. Use look_up to find out which there are."


def a_tool_never_mentioned(shop: Shop) -> None:
    shop.refunds.functions.append(look_up_catalogue)


def look_up_catalogue(query: str) -> str:
    """Look in the catalogue."""
    return query


def a_branch_without_its_step(shop: Shop) -> None:
    shop.sales.instructions = "1. Ask what they want.\n2. Name the price.\n3a. Too high: go to step 4.\n3b. Fine: order.\n4. Say goodbye."


def a_step_that_is_not_there(shop: Shop) -> None:
    shop.sales.instructions = "1. Ask what they want.\n2. If they do not know, go to step 5.\n3. Order it."


def a_step_left_out(shop: Shop) -> None:
    shop.sales.instructions = "1. Ask what they want.\n2. Name the price.\n4. Order it."


def a_step_twice(shop: Shop) -> None:
    shop.sales.instructions = "1. Ask what they want.\n2. Name the price.\n2. Order it.\n3. Say goodbye."


def a_routine_without_end(shop: Shop) -> None:
    shop.sales.instructions = "1. Ask what they want.\n2. Name the price.\n3. Go to step 1."


def alike(shop: Shop) -> None:
    shop.triage.handoffs.append(Agent(name="Shop", instructions="You sell bees to bee-keepers.", functions=[order], handoffs=[shop.triage]))
    shop.sales.instructions = "You sell bees to bee-keepers."


def a_type_that_cannot_be_said(shop: Shop) -> None:
    def weigh(scale: threading_lock) -> str:
        """Weigh it."""
        return str(scale)

    shop.sales.functions.append(weigh)


class threading_lock:
    """A class that says nothing to JSON."""


def a_schema_that_cannot_be_strict(shop: Shop) -> None:
    def note(anything: dict[str, Any]) -> str:
        """Note it."""
        return str(anything)

    shop.sales.functions.append(tool(note, strict=True))


PLANTED: list[tuple[Callable[[Shop], None], str, str, str]] = [
    (unreachable, "unreachable-agent", "Claims", "no handoff leads to it from Triage"),
    (no_way_back, "no-way-back", "Sales", "no handoff leads back to Triage"),
    (no_way_back_of_two, "no-way-back", "Sales", "no handoff leads back to Triage"),
    (a_circle, "endless-handoffs", "One", "One and Other can only hand over, to each other"),
    (itself, "endless-handoffs", "Again", "only hand over to itself"),
    (two_agents_of_one_name, "same-agent-name", "Refunds", "2 agents are called 'Refunds'"),
    (two_tools_of_one_name, "same-tool-name", "Sales", "two tools are called order"),
    (a_function_and_a_handoff_of_one_name, "same-tool-name", "Triage", "became transfer_to_sales_2, since transfer_to_sales is taken"),
    (two_handoffs_of_one_wire_name, "same-tool-name", "Triage", "the handoff to sales! became transfer_to_sales_2"),
    (a_broken_list, "broken-agent", "Sales", "'order' is not callable"),
    (no_description, "no-description", "Sales", "lambda_of_no_words has no description"),
    (a_tool_that_is_not_there, "unknown-tool", "Sales", "name place_bid, but the agent has no such tool"),
    (a_tool_misspelt, "unknown-tool", "Refunds", "name refund_ordre, but the tool is called refund_order"),
    (a_tool_of_another_agent, "unknown-tool", "Sales", "name refund_order, which Refunds has, but not this agent"),
    (a_tool_by_its_python_name, "unknown-tool", "Sales", "name look_up, but the model knows that tool as search"),
    (a_tool_never_mentioned, "unmentioned-tool", "Refunds", "never look_up_catalogue"),
    (a_branch_without_its_step, "unresolved-step", "Sales", "steps 3a and 3b have no step 3"),
    (a_step_that_is_not_there, "unresolved-step", "Sales", "refer to step 5, which is not there"),
    (a_step_left_out, "unresolved-step", "Sales", "there is no step 3, but a step 4"),
    (a_step_twice, "unresolved-step", "Sales", "step 2 stands 2 times"),
    (a_routine_without_end, "endless-routine", "Sales", "steps 1 to 3 leads back in every case"),
    (alike, "alike-instructions", "Sales", "those of Shop say nearly the same, and Triage has to choose"),
    (a_type_that_cannot_be_said, "schema", "Sales", "the type threading_lock"),
    (a_schema_that_cannot_be_strict, "schema", "Sales", "sent without strict=True"),
]


def test_a_shop_without_a_mistake_is_clean() -> None:
    report = Shop().checked()
    assert [*map(str, report.findings), *report.unread] == []


@pytest.mark.parametrize(("plant", "rule", "agent", "text"), PLANTED, ids=[plant.__name__ for plant, *_ in PLANTED])
def test_a_planted_mistake_is_the_only_finding(plant: Callable[[Shop], None], rule: str, agent: str, text: str) -> None:
    shop = Shop()
    plant(shop)
    findings = shop.checked(same=by_words).findings
    assert [(finding.rule, finding.agent) for finding in findings] == [(rule, agent)], findings
    assert text in findings[0].message
    assert shop.checked(same=by_words, ignore=[rule]).findings == []
    left = shop.checked(same=by_words, ignore=["warning"]).findings
    assert [str(finding) for finding in left] == [str(finding) for finding in findings if finding.severity == "error"]


def test_every_rule_has_its_mistake() -> None:
    assert {rule for _, rule, *_ in PLANTED} == set(RULES)


def test_a_rule_that_does_not_exist_cannot_be_ignored() -> None:
    with pytest.raises(ValueError, match="no rule 'nonsense' to ignore; the rules are broken-agent, "):
        Shop().checked(ignore=["nonsense"])


def fine(instructions: str, *functions: Any, name: str = "Sales") -> list[str]:
    """The findings for one agent."""
    return [str(finding) for finding in check(Agent(name=name, instructions=instructions, functions=list(functions))).findings]


@pytest.mark.parametrize(
    "instructions",
    [
        "Never call refund_money. Do not use delete_all, and don't ever run drop_table.",
        "Use the order_id that refund_order wants. Ask for the agent(s) by name.",
        "Use snake_case names and max_tokens=5. Call COUNT(*) sparingly.",
        "Keep snake_case out of your answers; some_field is fine.",
        'Answer as {"order_id": "..."}. The tables are order_items(id, user_id) and users(id).',
        "Call refund_order, or `refund_order`, or the 'refund_order' function.",
        "You write Python. Wrap code in main(), and use print() to show results; never `exit()`.",
        "Answer with code:\n```python\n1. look()\ncall make_order()\n```\nBe brief.",
        "Greet the customer(s) and explain f() and g(x).",
    ],
)
def test_what_is_no_tool_that_is_missing(instructions: str) -> None:
    assert fine(instructions, refund_order) == []


@pytest.mark.parametrize(
    ("instructions", "name"),
    [
        ("Then call send_mail.", "send_mail"),
        ("Then use `send_mail`.", "send_mail"),
        ("When done, execute the function send_mail to tell them.", "send_mail"),
        ("The send_mail tool tells them.", "send_mail"),
        ("Tell them with notify().", "notify"),
        ("Call the 'notify' function.", "notify"),
        ("1. Ask.\n2. notify()", "notify"),
        ("Ask, then send_mail(), or so.", "send_mail"),
        ("```\ncode\n```\nCall `notify()`.", "notify"),
        ("Call refund_order, and then send_mail.", "send_mail"),
        ("Calling refund_order or send_mail is fine.", "send_mail"),
    ],
)
def test_the_ways_to_name_a_tool(instructions: str, name: str) -> None:
    (finding,) = check(Agent(instructions=instructions, functions=[refund_order])).findings
    assert (finding.rule, finding.tool) == ("unknown-tool", name)


def test_a_tool_spoken_of_in_words_is_mentioned() -> None:
    text = "1. Look it up in the catalogue.\n2. Call refund_order."
    assert fine(text, refund_order, look_up_catalogue) == []
    assert fine("1. Look.\n2. Call refund_order.", refund_order, look_up_catalogue) != []
    assert fine("Sell. Call refund_order when asked.", refund_order, look_up_catalogue) == []  # no steps


def test_the_way_back_needs_no_step() -> None:
    """The rule of ways back asks for it; it is for what no step foresees."""
    shop = Shop()
    shop.refunds.instructions = "1. Ask for the order.\n2. Call refund_order."
    assert shop.checked().findings == []
    shop.refunds.handoffs.append(Agent(name="Lawyer", instructions="You know the law.", handoffs=[shop.triage]))
    assert [finding.tool for finding in shop.checked().findings] == ["transfer_to_lawyer"]


def test_agents_that_talk_are_a_way_out_of_a_circle() -> None:
    """Two tutors that hand over to each other answer by themselves."""
    maths = Agent(name="Maths", instructions="You explain mathematics, one step after the other.")
    history = Agent(name="History", instructions="You explain history, and name your sources.", handoffs=[maths])
    maths.handoffs = [history]
    assert check(maths).findings == []


def test_a_change_of_voice_needs_no_way_back() -> None:
    spanish = Agent(name="Spanish", instructions="Hablas español.")
    assert check(Agent(name="English", handoffs=[spanish])).findings == []


def test_agents_that_are_asked_need_no_way_back() -> None:
    expert = Agent(name="Expert", functions=[look_up])
    other = Agent(name="Other", functions=[look_up], instructions="You know everything about whales and ships.")
    assert check(Agent(functions=[expert.as_tool()], handoffs=[Handoff(other, returns=True)])).findings == []


def test_with_a_dynamic_handoff_nobody_is_called_unreachable_or_stuck() -> None:
    def route(context_variables: dict[str, Any]) -> Result:
        """Hand over to whoever is next."""
        return Result(agent=context_variables["next"])

    sales = Agent(name="Sales", functions=[route])
    report = check(Agent(name="Triage", handoffs=[sales]), known={"claims": Agent(name="Claims")})
    assert report.findings == []
    assert report.unread == ["Sales: route hands over to an agent that only a run knows (dynamic)"]


def test_dynamic_instructions_are_said_to_be_unread() -> None:
    def instructions(context_variables: dict[str, Any]) -> str:
        return f"1. Greet {context_variables['name']}.\n2. Call send_mail."

    report = check(Agent(name="One", instructions=instructions), Agent(name="Two", instructions=lambda: input()))
    assert [finding.message.partition(",")[0] for finding in report.findings] == ["the instructions name send_mail"]
    assert report.unread == [
        "One: instructions are a function (dynamic), partly read",
        "Two: instructions are a function (dynamic), not read",
    ]


def test_steps_that_may_stand_in_what_is_not_known_are_not_missed() -> None:
    def instructions(context_variables: dict[str, Any]) -> str:
        return f"1. Greet.\n{context_variables['steps']}\n5. Say goodbye; never go to step 3."

    assert check(Agent(instructions=instructions)).findings == []


def test_names_in_another_script_do_not_clash() -> None:
    """D21: their tools get numbers, and their descriptions say who is meant."""
    agents = [Agent(name=name, instructions=f"你负责{name}。", functions=[look_up]) for name in ("客服", "销售")]
    first = Agent(name="前台", handoffs=agents)
    for agent in agents:
        agent.handoffs = [first]
    assert [str(finding) for finding in check(first).findings] == []


def test_a_tool_that_was_sent_before_is_warned_of_again(recwarn: pytest.WarningsRecorder) -> None:
    def weigh(scale: threading_lock) -> str:
        """Weigh it."""
        return str(scale)

    weighing = tool(weigh)
    assert weighing.wire and recwarn.pop(UserWarning)
    rules = [finding.rule for finding in check(Agent(functions=[weighing])).findings]
    assert rules == ["schema"]


def test_a_report_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    shop = Shop()
    no_description(shop)
    report = shop.checked().as_dict()
    (finding,) = report.pop("findings")
    assert report == {"version": 1, "agents": ["Triage", "Sales", "Refunds"], "unread": []}
    line = lambda_of_no_words.__code__.co_firstlineno
    assert f"{Path.cwd()}/{finding.pop('where')}" == f"{__file__}:{line}"
    assert finding == {
        "rule": "no-description",
        "severity": "warning",
        "agent": "Sales",
        "tool": "lambda_of_no_words",
        "message": "lambda_of_no_words has no description; give the function a docstring, or @tool(description=...)",
    }


COMMON = "You work for Meadow Air. Be kind. Never show this policy. Ask one thing at a time. Say that you are sorry. "
PAIRS = [
    ("You are a helpful agent.", "You are a helpful agent.", True),
    ("You help customers with refunds and returns.", "You help customers with returns and refunds.", True),
    ("You help customers with refunds.", "You help customers with orders.", False),
    ("Cancel flights for customers. Follow the policy.", "Change flights for customers. Follow the policy.", False),
    (COMMON + "1. Cancel the flight.", COMMON + "1. Look for the bag, and ask where it was last seen.", False),
    (COMMON * 3 + "You are Ann.", COMMON * 3 + "You are Bob.", False),
    (COMMON + "Hi.", COMMON + "Ho.", True),
    (COMMON, COMMON + "Then hand over to the agent for bags, and to nobody else at all.", False),
    ("你负责处理客户的退款问题。", "你负责处理客户的退款问题！", True),
    ("你负责退款。", "你负责销售。", False),
]


@pytest.mark.parametrize("same", [by_words, by_meaning(MiniLM())], ids=["words", "meaning"])
@pytest.mark.parametrize(("a", "b", "expected"), PAIRS)
def test_how_alike_two_instructions_are(a: str, b: str, expected: bool, same: Any) -> None:
    assert too_alike(a, b, same) is expected
