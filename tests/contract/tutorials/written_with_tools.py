from swarm import Agent, Response, Swarm

client = Swarm()


def execute_order(product, price: int):
    """Price should be in USD."""
    print(f"Order: {product} at ${price}")
    return "Success"


def transfer_to_sales_agent():
    """Use for anything sales or buying related."""
    return sales_agent


sales_agent = Agent(name="Sales Agent", instructions="Sell.", tools=[execute_order])
triage_agent = Agent(name="Triage Agent", instructions="Find out what they want.", tools=[transfer_to_sales_agent])


def run_full_turn(agent, messages) -> Response:
    return client.run(agent, messages)


agent = triage_agent
messages = [{"role": "user", "content": "I want a catapult"}]
response = run_full_turn(agent, messages)
print(response.agent.name, [tool.__name__ for tool in response.agent.tools])
print(response.messages[-1]["content"])
