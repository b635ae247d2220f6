"""A handoff: a function that returns another agent. Whoever writes in Spanish is answered in Spanish."""

from swarm import Agent, Swarm

client = Swarm()

english_agent = Agent(name="English Agent", instructions="You speak English and nothing else.")
spanish_agent = Agent(name="Spanish Agent", instructions="Hablas español y ninguna otra lengua.")


def transfer_to_spanish_agent() -> Agent:
    """Hand over users who write in Spanish, at once."""
    return spanish_agent


english_agent.functions.append(transfer_to_spanish_agent)

messages = [{"role": "user", "content": "Hola. ¿Cómo estás?"}]
response = client.run(agent=english_agent, messages=messages)

print(f"{response.messages[-1]['sender']}: {response.messages[-1]['content']}")
