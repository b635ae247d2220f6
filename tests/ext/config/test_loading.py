"""From a file to agents that run: what it says is what they are, and all that is wrong is told with its line."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, AsyncSwarm, Handoff, Limits, Swarm
from swarm.errors import ConfigError
from swarm.ext.config import ConfigFileError, load_config
from swarm.models.scripted import call
from swarm.prices import Price
from swarm.tools import tool_of
from tests.ext.config import shop
from tests.ext.config.conftest import MODULES, Load, Problems, Write, escaped
from tests.modes import Drive

WHOLE = """
functions_from = ["shop"]
agent = "triage"
client = "main"
parallel_tools = 4
tool_errors = "report"
embed = "shop.embed"

[clients.main]
base_url = "http://127.0.0.1:1/v1"
api_key_env = "SHOP_KEY"
profile = "vllm"
timeout = 5

[clients.spare]
base_url = "http://127.0.0.1:2/v1"

[defaults]
model = "small"
model_settings = { temperature = 0, seed = 1 }

[limits]
model_calls = 12
cost = 0.5
on_limit = "answer"

[prices.small]
input = 0.1
output = 0.4

[context_variables]
user = "ada"

[agents.triage]
name = "Triage"
instructions = "Hand over."
handoffs = [
  { to = "refunds", similar_to = ["I want my money back"], threshold = 0.9, name = "to_refunds", message = "Over to you." },
  { to = "sales", when = "context_variables.user == 'ada'", returns = true, limits = { tokens = 100 } },
]

[agents.refunds]
functions = [
  "shop.look_up",
  { use = "shop.refund", approval = "arguments.amount > 50", max_chars = 90 },
  { agent = "sales", name = "ask_sales" },
]
instructions = { file = "texts/refunds.md" }
model_settings = { seed = 2 }
handoffs = ["triage"]
output_type = "shop.Answer"
history_filter = { last = 3 }

[agents.sales]
description = "Sells."
instructions = { function = "shop.policy" }
model = "big"
client = "spare"
profile = "ollama"
parallel_tool_calls = false
tool_choice = "auto"
history_filter = "without_tools"
output_type = { type = "object", properties = { x = { type = "integer" } }, required = ["x"] }
"""


@pytest.fixture
def whole(load: Load, write: Write) -> Any:
    write("texts/refunds.md", "Be kind.\n")
    return load(WHOLE, environ={"SHOP_KEY": "sk-very-secret"})


def test_agents_are_what_the_file_says(whole: Any) -> None:
    """D73"""
    triage, refunds, sales = whole.agents.values()
    assert list(whole.agents) == ["triage", "refunds", "sales"]
    assert whole.agent is triage
    assert (triage.name, triage.model, triage.instructions, triage.model_settings) == (
        "Triage",
        "small",
        "Hand over.",
        {"temperature": 0, "seed": 1},
    )
    assert (refunds.name, refunds.instructions, refunds.output_type) == ("refunds", "Be kind.\n", shop.Answer)
    assert refunds.model_settings == {"temperature": 0, "seed": 2}
    assert refunds.handoffs == [triage]
    assert sales.model == "big" and sales.parallel_tool_calls is False and sales.tool_choice == "auto" and sales.description == "Sells."
    assert sales.instructions is shop.policy
    assert sales.client.base_url == "http://127.0.0.1:2/v1"
    assert sales.profile == "ollama"
    to_refunds, to_sales = triage.handoffs
    assert isinstance(to_refunds, Handoff) and (to_refunds.agent, to_refunds.name, to_refunds.message) == (
        refunds,
        "to_refunds",
        "Over to you.",
    )
    assert to_sales.returns and to_sales.limits.tokens == 100
    assert triage.copy(name="other").handoffs == triage.handoffs


def test_functions_are_what_the_file_says(whole: Any) -> None:
    look_up, refund, ask_sales = whole.agents["refunds"].functions
    assert look_up is shop.look_up
    assert (ask_sales.name, ask_sales.description) == ("ask_sales", "Sells.")
    assert refund.fn is shop.refund.fn
    assert (refund.max_chars, refund.effect, refund.examples) == (90, "once", ("give me my money back",)), "what the file leaves out stays"
    assert callable(refund.approval)
    assert shop.refund.approval is True, "the function itself is not changed"


def test_what_stands_around_them(whole: Any) -> None:
    assert whole.limits.model_calls == 12 and whole.limits.cost == 0.5 and whole.limits.on_limit == "answer" and whole.limits.repeats == 50
    assert whole.prices == {"small": Price(0.1, 0.4)}
    assert whole.context_variables == {"user": "ada"}
    assert whole.client.base_url == "http://127.0.0.1:1/v1"
    assert isinstance(whole.swarm(), Swarm) and whole.swarm().client is whole.client
    assert isinstance(whole.async_swarm(), AsyncSwarm)
    assert [path.name for path in whole.files] == ["shop.toml", "refunds.md"]
    assert "secret" not in repr(vars(whole))


def test_a_run_with_it(whole: Any, drive: Drive) -> None:
    """D73: conditions, approvals and types of a file hold in each mode."""
    shop.calls.clear()
    turns: list[Any] = [call("to_refunds"), [call("look_up", {"order": 7}), call("refund", {"order": 7, "amount": 20})], '{"number": 7}']
    response = drive(whole.agent, "my money, please", turns, swarm={key: value for key, value in whole.options.items() if key != "limits"})
    assert response.output == shop.Answer(number=7)
    assert shop.calls == ["look_up 7", "refund 7 20"]
    tools = [[tool["function"]["name"] for tool in request["tools"]] for request in drive.requests]
    assert tools[0] == ["to_refunds"], "sales is for ada only"
    assert drive.requests[-1]["seed"] == 2
    response = drive(whole.agents["refunds"], "money", [call("refund", {"order": 7, "amount": 51})])
    assert response.stop_reason == "approval"
    response = drive(whole.agents["refunds"], "money", [call("refund", {"order": 7})])
    assert response.stop_reason == "approval", "an argument that is not there cannot be told, so somebody is asked"


def test_a_json_schema_as_the_type_of_an_answer(whole: Any, drive: Drive) -> None:
    sales = whole.agents["sales"].copy(client=None, profile=None)
    response = drive(sales, "hi", ['{"x": "no"}', '{"x": 1}'], context_variables={"user": "ada"})
    assert response.output == {"x": 1}
    assert 'is not of type "integer"' in drive.requests[1]["messages"][-1]["content"]


def test_a_key_that_is_not_there_is_missed_when_it_is_needed(load: Load, write: Write) -> None:
    write("texts/refunds.md", "")
    config = load(WHOLE.replace('base_url = "http://127.0.0.1:2/v1"', 'base_url = "http://127.0.0.1:2/v1"\napi_key_env = "SPARE_KEY"'))
    with pytest.raises(ConfigError, match=r"set SHOP_KEY \(for clients.main\)"):
        _ = config.client
    with pytest.raises(ConfigError, match=r"set SPARE_KEY \(for clients.spare\)"):
        config.swarm(object())


def test_no_key_is_sent_to_a_server_it_is_not_for(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client without a key of its own does not get that of OPENAI_API_KEY."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-another-server")
    config = load('client = "x"\n[clients.x]\nbase_url = "http://127.0.0.1:1/v1"\n[agents.a]\n')
    assert "Authorization" not in config.client._endpoint.headers
    assert load("[agents.a]\n").client is None


def test_one_agent_is_the_one_that_begins(load: Load) -> None:
    assert load("[agents.x]\n").agent.name == "x"
    assert load("[agents.x]\n").agent.model_fields_set >= {"name", "functions", "handoffs"}
    assert "model" not in load("[agents.x]\n").agent.model_fields_set, "SWARM_MODEL goes on to hold"


def test_all_mistakes_of_the_form_are_told_at_once(problems: Problems) -> None:
    """D78"""
    found = problems(
        """\
        agnet = "triage"
        agent = 3
        [clients.main]
        base_url = "http://127.0.0.1:1/v1"
        api_key = "sk-123"
        api_key_env = "sk-123"
        [limits]
        model_calls = "12"
        on_limit = "answr"
        tokens = -1
        [agents.a]
        tools = []
        instructions = { fil = "x" }
        functions = [
          "look_up",
          { use = "shop.refund", approval = "arguments. >" },
        ]
        handoffs = [{ when = 3 }]
        output_type = 3
        model_settings.day = 1979-05-27
        [[policies]]
        type = "Retri"
        [[policies]]
        tries = 3
        [[policies]]
        type = "Permission"
        allow = [{ tools = 3 }, { tools = "a", to = "b" }]
        [[policies]]
        type = "Guardrail"
        on = "inputs"
        check = { pattern = "x" }
        """
    )
    assert "sk-123" not in "".join(found)
    assert [line.partition(" is no expression in CEL")[0] for line in found] == [
        "1: agnet: there is no such key; did you mean 'agent'? The keys are: agent, agents, client, clients, context_variables, defaults, "
        "embed, functions_from, limits, parallel_tools, policies, prices, profile, tool_errors",
        "2: agent: must be a text in quotes, not a whole number",
        "5: clients.main.api_key: there is no such key; a key never stands in a file: "
        "api_key_env names the environment variable that holds it",
        "6: clients.main.api_key_env: must be the name of an environment variable, never the key itself",
        "8: limits.model_calls: must be a whole number, not a text",
        "9: limits.on_limit: must be 'return', 'answer' or 'raise', not 'answr'",
        "10: limits.tokens: must be greater than or equal to 0",
        "12: agents.a.tools: there is no such key; these are called functions here",
        "13: agents.a.instructions.fil: there is no such key; did you mean 'file'? The keys are: file, function",
        "15: agents.a.functions[0]: must be a dotted path: module.function",
        "16: agents.a.functions[1].approval: 'arguments. >'",
        "18: agents.a.handoffs[0].to: is missing",
        "18: agents.a.handoffs[0].when: must be a text in quotes, not a whole number",
        "19: agents.a.output_type: must be a text in quotes or a table, not a whole number",
        "20: agents.a.model_settings.day: must be what JSON can hold; write a date in quotes, not a date or time",
        "21: policies[0]: there is no such type; the types are: Approval, Cache, ContextWindow, Fallback, Guardrail, Permission, "
        "RateLimit, Retry, Router, SmallModel",
        "23: policies[1]: is missing its type; the types are: Approval, Cache, ContextWindow, Fallback, Guardrail, Permission, "
        "RateLimit, Retry, Router, SmallModel",
        "27: policies[2].allow[0].tools: must be a text in quotes or a list, not a whole number",
        "27: policies[2].allow[1]: has both tools and to; calls and handoffs need a rule each",
        "30: policies[3].on: must be 'input', 'output', 'arguments' or 'result', not 'inputs'",
        "31: policies[3].check: is missing its type; the types are: Pattern, Length, Hosts, JsonSchema, Judge, function",
    ]


def test_all_mistakes_of_the_building_are_told_at_once(problems: Problems) -> None:
    """D78"""
    found = problems(
        """\
        functions_from = ["shop"]
        agent = "a"
        client = "man"
        profile = "vlm"
        [clients.main]
        base_url = "ftp:x"
        [agents.a]
        profile = "vlm"
        instructions = { file = "none.md" }
        functions = ["shop.look_pu", { agent = "c" }, { use = "shop.look_up", name = "no name" }]
        handoffs = [
          "nobody",
          { to = "b", limits = { tokens = 1 } },
        ]
        output_type = { type = "objct" }
        [agents.b]
        client = "main"
        functions = ["shop.look_up", "shop.look_up"]
        [[policies]]
        type = "Fallback"
        [[policies]]
        type = "Router"
        start = "x"
        routes.a = ["hi"]
        [[policies]]
        type = "SmallModel"
        agents = ["a", "y"]
        [[policies]]
        type = "Guardrail"
        check = { type = "Pattern", pattern = "(a+)+" }
        [[policies]]
        type = "RateLimit"
        """
    )
    assert [line[: line.index(":", 4)] for line in found] == [
        "3: client",
        "4: profile",
        "5: clients.main",
        "8: agents.a.profile",
        "9: agents.a.instructions.file",
        "10: agents.a.functions[0]",
        "10: agents.a.functions[1].agent",
        "10: agents.a.functions[2]",
        "12: agents.a.handoffs[0]",
        "13: agents.a.handoffs[1]",
        "15: agents.a.output_type",
        "16: agents.b",
        "19: policies[0]",
        "23: policies[1].start",
        "27: policies[2].agents[1]",
        "30: policies[3].check",
        "31: policies[4]",
    ]
    assert "3: client: there is no 'man'; did you mean 'main'? The clients are: main" in found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "1: agents: is missing"),
        ("[agents]", "1: agents: must have at least 1 item after validation, not 0"),
        ("[agents.a]\n[agents.b]", "1: agent: is missing: there are several agents, so say which begins: a, b"),
        ('agent = "c"\n[agents.a]', "1: agent: there is no 'c'; the agents are: a"),
        ("agents = 3", "1: agents: must be a table, not a whole number"),
        ("agents = [3]", "1: agents: must be a table, not a list"),
        ("[agents.a]\ninstructions = {}", "2: agents.a.instructions: needs one of file, function"),
        ('[agents.a]\nhandoffs = [{to = "a", when = "true", similar_to = ["x"]}]', "2: agents.a.handoffs[0]: has both when and similar_to"),
        ('[agents.a]\nhandoffs = [{to = "a", threshold = 1}]', "2: agents.a.handoffs[0]: threshold needs similar_to"),
        ("[defaults]\ntools = []\n[agents.a]", "2: defaults.tools: there is no such key; the keys are: client, model"),
        ('[agents.a]\n[[policies]]\ntype = "Approval"\ntools = "x"', "4: policies[0].tools: there is no such key; the keys are: ask, type"),
        ('[agents.a]\n[[policies]]\ntype = "Cache"\npath = "../x.db"', "4: policies[0].path: '../x.db' lies outside of the folder"),
        ('[agents.a]\n[clients.c]\nbase_url = ""', "3: clients.c.base_url: must have at least 1 character"),
        ("[agents.a]\nhandoffs = [3]", "2: agents.a.handoffs[0]: must be a text in quotes, not a whole number"),
        (
            "[agents.a]\nmodel_settings.model = 'x'",
            "1: agents.a: Agent(name='a') cannot be made: model_settings: holds what has a place of its own",
        ),
    ],
)
def test_one_mistake(problems: Problems, text: str, told: str) -> None:
    assert problems(text)[0].startswith(told)


@given(st.integers(0, 12), st.sampled_from(["model_calls = 'x'", "toknes = 3", "on_limit = 3", "seconds = true"]), st.data())
def test_a_mistake_is_on_its_line(tmp_path_factory: pytest.TempPathFactory, above: int, mistake: str, data: st.DataObject) -> None:
    """D78: whatever stands above it."""
    fillers = st.sampled_from(
        ["", "# [limits]", "agent = 'a'", "prices.x = {input = 1, output = 2}", "context_variables.t = '''\n\n[x]\n'''"]
    )
    lines = list(dict.fromkeys(data.draw(st.lists(fillers, max_size=above))))
    text = "\n".join([*lines, "[agents.a]", "instructions = '''", "x", "'''", "[limits]", "repeats = 3", mistake, "[agents.b]"])
    path = tmp_path_factory.mktemp("config") / "x.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigFileError) as caught:
        load_config(path, environ={})
    assert [problem.line for problem in caught.value.problems] == [text.splitlines().index(mistake) + 1]


NAMES = st.text("abcxyz", min_size=1, max_size=5)
WORDS = st.text(max_size=8).filter(lambda text: "\r" not in text)
AMOUNTS = st.dictionaries(st.sampled_from(["model_calls", "tokens", "handoffs", "tool_calls", "repeats"]), st.integers(0, 99), min_size=1)


@given(st.dictionaries(NAMES, st.tuples(WORDS, st.lists(NAMES, max_size=2)), min_size=1, max_size=4), AMOUNTS)
def test_what_is_written_out_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, agents: dict[str, Any], amounts: dict[str, int]
) -> None:
    """D73: in TOML and in YAML alike."""
    folder, first = tmp_path_factory.mktemp("config"), next(iter(agents))
    written: dict[str, Any] = {
        "agent": first,
        "limits": amounts,
        "agents": {
            key: {"instructions": text, "handoffs": sorted({name for name in names if name in agents})}
            for key, (text, names) in agents.items()
        },
    }
    (folder / "x.yaml").write_text(escaped(json.dumps(written, ensure_ascii=False)), encoding="utf-8")
    lines = [f"agent = {json.dumps(first)}", *(f"limits.{name} = {amount}" for name, amount in amounts.items())]
    for key, agent in written["agents"].items():
        text = escaped(json.dumps(agent["instructions"], ensure_ascii=False))
        lines += [f"[agents.{key}]", f"instructions = {text}", f"handoffs = {json.dumps(agent['handoffs'])}"]
    (folder / "x.toml").write_text("\n".join(lines), encoding="utf-8")
    for name in ("x.toml", "x.yaml"):
        config = load_config(folder / name, environ={})
        assert config.agent.name == first
        assert {key: agent.instructions for key, agent in config.agents.items()} == {key: text for key, (text, _) in agents.items()}
        assert all([one.name for one in config.agents[key].handoffs] == agent["handoffs"] for key, agent in written["agents"].items())
        assert repr(config.limits) == repr(Limits(**amounts))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("none.toml", None, "none.toml: it cannot be read: No such file or directory"),
        ("x.json", b"{}", "x.json: a configuration's name ends in .toml, .yaml, .yml"),
        ("x.toml", b"a = 1\nb = '\xff'", "x.toml:2: it is no text in UTF-8; save it in that encoding"),
        ("x.toml", b"#" * 1_000_001, "x.toml: it has more than 1,000,000 bytes; is it the right file?"),
        ("x.yaml", b"#" * 1_000_001, "x.yaml: it has more than 1,000,000 bytes; is it the right file?"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None, told: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigFileError) as caught:
        load_config(tmp_path / name, environ={})
    assert str(caught.value) == str(tmp_path / "x").removesuffix("x") + told


def test_a_pipe_is_no_file(load: Load, tmp_path: Path) -> None:
    """Reading one that nobody writes to would wait for ever."""
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(ConfigFileError, match=r"a\.md: it is no file"):
        load('[agents.a]\ninstructions = { file = "a.md" }')


def test_lines_may_end_as_windows_ends_them(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbf# x\r\n[agents.a]\r\nmodel = 3\r\n")
    with pytest.raises(ConfigFileError) as caught:
        load_config(path, environ={})
    assert caught.value.problems[0].line == 3


@pytest.mark.parametrize("name", ["modules", "folders"])
def test_a_single_text_is_no_list(tmp_path: Path, name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}='x'\) must be a list"):
        load_config(tmp_path / "x.toml", **{name: "x"})  # type: ignore[arg-type]


def test_a_handoff_is_offered_while_a_text_is_near(load: Load, drive: Drive) -> None:
    config = load(
        """
        functions_from = ["shop"]
        agent = "a"
        embed = "shop.embed"
        [agents.a]
        handoffs = [{ to = "b", similar_to = ["money"] }]
        history_filter = { function = "shop.only_last" }
        [agents.b]
        """
    )
    drive(config.agent, "my money", ["x"])
    assert "tools" in drive.requests[0]
    drive(config.agent, "the weather", ["x"])
    assert "tools" not in drive.requests[0]
    drive(config.agent, [{"role": "user", "content": "1"}, {"role": "user", "content": "2"}], ["x"])
    assert [message["content"] for message in drive.requests[0]["messages"][1:]] == ["2"]


def test_numbers_that_json_cannot_hold(load: Load) -> None:
    assert load("[agents.a]\n[limits]\nseconds = inf\n").limits.seconds == math.inf
    assert isinstance(load("[agents.a]\n").agent, Agent)
    assert tool_of(shop.look_up).name == "look_up"
    assert MODULES["shop"] is shop


KEYS = st.sampled_from(
    [
        "agents",
        "a",
        "b",
        "name",
        "model",
        "instructions",
        "file",
        "function",
        "functions",
        "use",
        "agent",
        "handoffs",
        "to",
        "when",
        "similar_to",
        "policies",
        "type",
        "check",
        "pattern",
        "rules",
        "allow",
        "deny",
        "tools",
        "limits",
        "tokens",
        "clients",
        "client",
        "base_url",
        "api_key_env",
        "defaults",
        "model_settings",
        "output_type",
        "history_filter",
        "last",
        "prices",
        "input",
        "functions_from",
        "context_variables",
        "embed",
        "routes",
        "start",
        "on",
        "strategy",
        "schema",
        "secrets",
        "profile",
        "parallel_tools",
    ]
)
SOMETHING = st.sampled_from(
    [*"ab", "x.y", "shop.look_up", "Retry", "Guardrail", "Pattern", "Permission", "Router", 0, 1, -1, 0.5, True, None, ""]
)
ANYTHING = st.recursive(
    SOMETHING, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)), max_leaves=20
)
VARIABLES = st.dictionaries(
    st.lists(st.sampled_from(["AGENTS", "A", "LIMITS", "TOKENS", "POLICIES", "0", "MODEL_SETTINGS", "X"]), min_size=2, max_size=4).map(
        lambda parts: f"SWARM_{'__'.join(parts)}"
    ),
    st.sampled_from(["1", "x", "{}", "[1]", "null"]),
    max_size=2,
)


@given(st.dictionaries(KEYS, ANYTHING, max_size=5), st.dictionaries(st.sampled_from("ab"), ANYTHING, max_size=2), VARIABLES)
def test_whatever_stands_there_is_taken_or_told(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any], agents: dict[str, Any], environ: dict[str, str]
) -> None:
    """D78: each mistake has a line of the file, or the name of a variable."""
    path = tmp_path_factory.getbasetemp() / "anything.yaml"
    path.write_text(json.dumps({**data, **({"agents": agents} if agents else {})}, indent=1), encoding="utf-8")
    try:
        load_config(path, modules=MODULES, environ=environ)
    except ConfigFileError as error:
        lines = path.read_text(encoding="utf-8").count("\n") + 1
        for problem in error.problems:
            assert problem.source in environ if problem.line is None else problem.line <= lines
            assert problem.text and "\n" not in problem.text
