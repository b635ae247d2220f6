from swarm import Agent, Swarm

client = Swarm()


def get_weather(location: str, time: str = "now") -> str:
    """Get the current weather in a given location."""
    return "{'temp':67, 'unit':'F'}"


def transfer_to_poet():
    return poet


poet = Agent(name="Poet", instructions="Answer in verse.")
agent = Agent(name="Weather Agent", functions=[get_weather, transfer_to_poet])


def show(stream):
    text = ""
    sender = ""
    for chunk in stream:
        if "sender" in chunk:
            sender = chunk["sender"]
        if "content" in chunk and chunk["content"] is not None:
            if not text and sender:
                print(f"{sender}:", end=" ")
            print(chunk["content"], end="")
            text += chunk["content"]
        if "tool_calls" in chunk and chunk["tool_calls"] is not None:
            for tool_call in chunk["tool_calls"]:
                name = tool_call["function"]["name"]
                if not name:
                    continue
                print(f"{sender}: {name}()")
        if "delim" in chunk and chunk["delim"] == "end" and text:
            print()
            text = ""
        if "response" in chunk:
            return chunk["response"]
    return None


def collect(stream):
    said = []
    for chunk in stream:
        if "delim" in chunk:
            said.append(chunk["delim"])
        elif "response" in chunk:
            said.append(chunk["response"].agent.name)
        elif chunk["content"]:
            said.append(chunk["content"])
        elif chunk["tool_calls"][0]["function"]["name"]:
            said.append(chunk["tool_calls"][0]["function"]["name"])
    return said


messages = [{"role": "user", "content": "What's the weather in NYC?"}]
response = show(client.run(agent=agent, messages=messages, stream=True))
print(response.agent.name, len(response.messages))

messages.extend(response.messages)
messages.append({"role": "user", "content": "And a poem about it?"})
print(collect(client.run(response.agent, messages, stream=True)))
