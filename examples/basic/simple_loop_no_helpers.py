"""A conversation in the terminal, without `run_demo_loop`: keep the messages and the agent of each response. Ctrl-D ends it."""

from typing import Any

from swarm import Agent, Swarm

client = Swarm()

agent = Agent(name="Agent", instructions="You are a helpful agent.")
messages: list[dict[str, Any]] = []

while True:
    try:
        messages.append({"role": "user", "content": input("> ")})
    except EOFError:
        break
    response = client.run(agent=agent, messages=messages)
    for message in response.messages:
        if message["role"] == "assistant" and message["content"]:
            print(f"{message['sender']}: {message['content']}")
    messages.extend(response.messages)
    agent = response.agent or agent
