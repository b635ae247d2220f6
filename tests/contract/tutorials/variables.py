from swarm import Agent, Swarm
from swarm.types import Result

client = Swarm()


def instructions(context_variables):
    name = context_variables.get("name", "User")
    return f"You are a helpful agent. Greet the user by name ({name})."


def print_account_details(context_variables: dict):
    user_id = context_variables.get("user_id")
    name = context_variables.get("name")
    print(f"Account Details: {name} {user_id}")
    return "Success"


def upgrade(plan, context_variables):
    context_variables["asked"] = True
    return Result(value=f"Welcome to {plan}", context_variables={"plan": plan})


agent = Agent(name="Agent", instructions=instructions, functions=[print_account_details, upgrade])
context_variables = {"name": "James", "user_id": 123}

response = client.run(
    messages=[{"role": "user", "content": "Print my account details, then upgrade me to gold!"}],
    agent=agent,
    context_variables=context_variables,
)
print(response.messages[-1]["content"])
print(response.context_variables)
print(context_variables)
