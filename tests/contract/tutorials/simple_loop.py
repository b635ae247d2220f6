import json

from swarm import Agent, Swarm

client = Swarm()

my_agent = Agent(name="Agent", instructions="You are a helpful agent.")


def look_up(item: str, count: int):
    return f"{count} of {item}"


my_agent.functions = [look_up]


def pretty_print_messages(messages):
    for message in messages:
        if message["role"] == "tool":
            print(f"[{message['tool_name']}] {message['content']}")
        if message["role"] != "assistant":
            continue
        print(f"{message['sender']}:", end=" ")
        if message["content"]:
            print(message["content"])
        for tool_call in message["tool_calls"] or []:
            function = tool_call["function"]
            arguments = json.dumps(json.loads(function["arguments"])).replace(":", "=")
            print(f"{function['name']}({arguments[1:-1]})")


messages = []
agent = my_agent
while True:
    user_input = input("> ")
    if user_input == "quit":
        break
    messages.append({"role": "user", "content": user_input})
    response = client.run(agent=agent, messages=messages)
    messages = messages + response.messages
    agent = response.agent
    pretty_print_messages(response.messages)
print(len(messages))
