from swarm import Agent, Result, Swarm


def process_refund(item_id, reason="NOT SPECIFIED"):
    """Refund an item. Make sure you have the item_id of the form item_... Ask for confirmation first."""
    print(f"[mock] Refunding item {item_id} because {reason}...")
    return "Success!"


def transfer_back_to_triage():
    """Call this function if a user asks about a topic that is not handled by the current agent."""
    return triage_agent


def transfer_to_refunds(context_variables):
    context_variables.setdefault("path", []).append("refunds")
    return Result(value="Transfered to Refunds Agent. Adopt persona immediately.", agent=refunds_agent)


triage_agent = Agent(name="Triage Agent", instructions="Find out which agent should help.")
refunds_agent = Agent(name="Refunds Agent", instructions="Help with refunds.", functions=[process_refund])
triage_agent.functions = [transfer_to_refunds]
refunds_agent.functions.append(transfer_back_to_triage)

client = Swarm()
agent, messages, variables = triage_agent, [], {}
for line in ["I want my money back for item_99", "It is broken", "Thanks, one more thing"]:
    messages.append({"role": "user", "content": line})
    response = client.run(agent, messages, variables, max_turns=10)
    messages.extend(response.messages)
    agent, variables = response.agent, response.context_variables
    print(f"{agent.name}: {messages[-1]['content']}")
print(variables)
print([m["content"] for m in messages if m["role"] == "tool"])
