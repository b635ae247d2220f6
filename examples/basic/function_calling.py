"""A function: its name, docstring and parameters are what the model sees."""

from swarm import Agent, Swarm

client = Swarm()


def get_weather(location: str) -> str:
    """Get the weather at a location."""
    return "{'temp':67, 'unit':'F'}"


agent = Agent(name="Agent", instructions="You are a helpful agent.", functions=[get_weather])

messages = [{"role": "user", "content": "What's the weather in New York?"}]
response = client.run(agent=agent, messages=messages)

print(response.messages[-1]["content"])
