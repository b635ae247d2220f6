"""The ACME shop: triage, sales, issues and repairs, each with a routine. Run it: `python -m examples.routines.acme`.

The agents hand over with `adopt`, so they run under the loop of step 3 as they do under Swarm: `python -m examples.routines.acme by-hand`.
An order needs an approval. Under Swarm the policy `Approval` asks the person at the keyboard, before any call of the reply runs.
"""

from __future__ import annotations

import sys
from typing import Any

from swarm import Agent, Refuse, Response, Result, RunInfo, Swarm, tool
from swarm.policies import Approval

from .step1_routine import execute_refund, look_up_item
from .step3_handoffs import adopt, run_full_turn


@tool(examples=["get me a human", "I want to complain to your manager"])
def escalate_to_human(summary: str) -> None:
    """Get a human. Only if the customer asks for one.

    Args:
        summary: What the conversation was about.
    """
    print("Escalating to a human agent...\n")
    print("=== Escalation report ===")
    print(f"Summary: {summary}")
    print("=========================")
    sys.exit()


@tool(examples=["I'd like to buy an anvil", "what rockets do you sell?"])
def transfer_to_sales_agent() -> Result:
    """For anything about buying or ordering."""
    return adopt(sales_agent)


@tool(examples=["my jet pack is broken", "I want my money back for the trap", "the giant magnet does not work"])
def transfer_to_issues_and_repairs() -> Result:
    """For issues, repairs and refunds."""
    return adopt(issues_and_repairs_agent)


@tool(examples=["that is not what I need, I have another question"])
def transfer_back_to_triage() -> Result:
    """Hand back to triage. For whatever is not handled by this agent, a human included."""
    return adopt(triage_agent)


def confirm(arguments: dict[str, Any]) -> bool | Refuse:
    """Ask the person at the keyboard whether an order stands."""
    print("\n=== Order ===")
    print(f"Product: {arguments['product']}")
    print(f"Price: ${arguments['price']}")
    if input("Confirm the order? y/n: ").strip().lower() == "y":
        return True
    print("Order cancelled.")
    return Refuse("The customer has cancelled the order.")


@tool(approval=True, examples=["yes, I'll take the rocket skates for 300 dollars", "place the order, please"])
def execute_order(product: str, price: int, run: RunInfo | None = None) -> str:
    """Order a product. Only once the customer has agreed to its price.

    Args:
        product: What is ordered.
        price: Its price, in US dollars.
    """
    if run is None and confirm({"product": product, "price": price}) is not True:  # the loop by hand knows no approvals
        return "The customer has cancelled the order."
    print("Order placed.")
    return "The order is placed."


triage_agent = Agent(
    name="Triage Agent",
    instructions=(
        "You are the customer service of ACME Inc. Introduce yourself, and be brief. Find out what the customer wants, with questions that "
        "sound natural, and hand over to the right agent."
    ),
    tools=[transfer_to_sales_agent, transfer_to_issues_and_repairs, escalate_to_human],
)
sales_agent = Agent(
    name="Sales Agent",
    instructions="""You sell for ACME Inc. Answer in one sentence at most. Follow this routine with the customer:
1. Ask about the problem in their life that involves catching roadrunners.
2. Pitch one of our contraptions as the remedy, without naming a price.
3. Once they want it, name a price that is beyond belief.
4. Only when they have agreed to it: mention a caveat in passing, and execute the order.""",
    tools=[execute_order, transfer_back_to_triage],
)
issues_and_repairs_agent = Agent(
    name="Issues and Repairs Agent",
    instructions="""You are the customer service of ACME Inc. Answer in one sentence at most. Follow this routine with the customer:
1. Ask questions until you understand the problem, unless the customer has told you the reason already.
2. Propose a fix. Make one up.
3. Offer a refund only if the customer is not satisfied with the fix.
4. If the customer accepts: look up the id of the item, then execute the refund.""",
    tools=[
        tool(execute_refund, examples=["yes, refund item_17", "I accept the refund for item_17"]),
        tool(look_up_item, examples=["it is a rubber band, the large one", "find the thing I bought"]),
        transfer_back_to_triage,
    ],
)
agents = [triage_agent, sales_agent, issues_and_repairs_agent]
swarm = Swarm(policies=[Approval(confirm)])


def run_with_swarm(agent: Agent, messages: list[Any]) -> Response:
    """One message's answer, with Swarm."""
    return swarm.run(agent, messages)


def main(run: Any) -> None:
    """A conversation in the terminal, with the loop by hand or with Swarm. Ctrl-D ends it."""
    agent, messages = triage_agent, list[Any]()
    while True:
        try:
            messages.append({"role": "user", "content": input("User: ")})
        except EOFError:
            break
        response = run(agent, messages)
        for message in response.messages:
            if message["role"] == "assistant" and message.get("content"):
                print("Assistant:", message["content"])
        messages.extend(response.messages)
        agent = response.agent


if __name__ == "__main__":
    main(run_full_turn if "by-hand" in sys.argv else run_with_swarm)
