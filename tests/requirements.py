"""What the library promises, one line a promise, each with an id that tests name and the places where people missed it.

A test declares what it covers by naming ids in its docstring (`\"\"\"T01, K11\"\"\"`) or in its name (`test_t01_broken_json`).
tests/test_requirements.py holds both directions: each id is covered by a test that runs, and each id that a test names stands here.
`python -m tests.covering` prints how many tests cover each, and what is still pending.

    P providers and the wire      H handoffs                 X execution: async, time, cancelling, approval
    S streams                     L limits and loops         O outputs
    T tool calls and results      C context and isolation    U use and observation
    J schemas and arguments       M history and sessions     K what code written for the small API relies on
    E evals                                                  D decisions of our own
"""

from __future__ import annotations

from typing import NamedTuple

PENDING: tuple[str, ...] = ()
"""Ids that no test covers yet. Empty in a release."""

_SEED = "https://github.com/openai/swarm"


class Requirement(NamedTuple):
    """One promise.

    Attributes:
        text: what holds.
        sources: where people ran into its opposite, as URLs; none for a decision of our own.
        note: why it is answered in another way than those people asked for; "" if it is not.
    """

    text: str
    sources: tuple[str, ...]
    note: str = ""


def _seen(text: str, threads: str, note: str = "") -> Requirement:
    """A promise that others' issue threads taught, written "owner/name#number"."""
    return Requirement(text, tuple(f"https://github.com/{thread.replace('#', '/issues/')}" for thread in threads.split()), note)


PROVIDERS = {
    "P01": _seen(
        "Bookkeeping and null fields stay in the Response and never go into a request", "QwenLM/Qwen3#1015 vllm-project/vllm#10015"
    ),
    "P02": _seen(
        "Beside tool calls, empty content is null, absent or an empty text, as the provider's profile says",
        "vllm-project/vllm#10015 SWE-agent/mini-swe-agent#704",
    ),
    "P03": _seen(
        "A provider that refuses empty text never gets any; streamed and whole replies leave the same content",
        "run-llama/llama_index#17278 aliasrobotics/cai#182",
    ),
    "P04": _seen("Without tools a request has no tools, tool_choice or parallel flag", "openai/swarm#30 openai/openai-agents-python#4359"),
    "P05": _seen("An empty list of tools is absent, not []", "partITech/php-mistral#76"),
    "P06": _seen(
        "The parallel flag is sent only if the user set it, and never to models known to refuse it",
        "pydantic/pydantic-ai#761 evalstate/fast-agent#279",
    ),
    "P07": _seen(
        "Instructions go as system, as developer, or into the first user message; a wrong choice shows the provider's own error",
        "pydantic/pydantic-ai#974 microsoft/agent-framework#1077",
    ),
    "P08": _seen(
        "An error body with status 200 is a typed error in the provider's words, and what was done is kept",
        "openai/openai-agents-python#604 openai/openai-agents-python#2850",
    ),
    "P09": _seen("A choice without a message is the same typed error", "openai/openai-agents-python#1732"),
    "P11": _seen(
        "Unknown fields of a message and inside a tool call come back verbatim, streamed or not",
        "openai/openai-agents-python#4506 OpenHands/software-agent-sdk#1500",
    ),
    "P12": _seen("Any object with chat.completions.create is a client", "VRSEN/agency-swarm#33 AzureCosmosDB/multi-agent-swarm#2"),
    "P13": _seen("A local endpoint works by configuration only", "openai/swarm#48 davidaparicio/swarm-ollama#1"),
    "P14": _seen(
        "A provider of one's own is one object with two methods; the official package is not needed",
        "yoheinakajima/ditto#3 rowboatlabs/rowboat#77",
    ),
    "P15": _seen("An option that was not set is absent from the request", "ggml-org/llama.cpp#10027"),
    "P16": _seen("An agent's name never goes over the wire as it is", "microsoft/semantic-kernel#9340 microsoft/autogen#4157"),
    "P17": _seen("An agent may have a name in any script; only what is derived from it is made legal", "ag2ai/ag2#575"),
    "P18": _seen("Usage is read whatever fields it has or lacks; no client library is pinned", "VRSEN/agency-swarm#719 openai/swarm#41"),
    "P19": _seen(
        "The distribution has another name than the import, and the README says so first",
        "AdieLaine/multi-agent-reasoning#4 ToolUse/tool-use-ai#22",
    ),
}

STREAMS = {
    "S01": _seen("A chunk without choices gives no text, and its usage counts", "awslabs/llmeter#34 XSpoonAi/spoon-core#179"),
    "S02": _seen("A missing delta and null fields are nothing", "smallmain/vscode-unify-chat-provider#29 microsoft/graphrag#520"),
    "S03": _seen("A piece of a call without an index finds its call", "openai/openai-python#3246 ollama/ollama#7881"),
    "S07": _seen("An id that comes once names all pieces of its call", "BerriAI/litellm#11407 BerriAI/litellm#20711"),
    "S09": _seen("Interleaved calls stay apart, whatever their numbers", "agno-agi/agno#3826 danny-avila/LibreChat#13987"),
    "S11": _seen("A streamed run goes on after a tool as any other does", "pydantic/pydantic-ai#2308 pydantic/pydantic-ai#1472"),
    "S12": _seen(
        "Usage of a stream is counted where it comes, asked for where servers are known to give it, and 0 where none comes",
        "openai/openai-agents-python#948 microsoft/semantic-kernel#8618",
    ),
    "S15": _seen("Nothing is tried again once text was shown", "NousResearch/hermes-agent#12072"),
    "S16": _seen("Streamed or not, the request is the same but for the flags of the stream", "agno-agi/agno#5125"),
    "S17": _seen("An unknown keyword is a TypeError", "agno-agi/agno#7938"),
    "S18": _seen("Joined deltas are the text of the final message, once", "agno-agi/agno#9115"),
    "S19": _seen("Each turn is bracketed, and the one response comes last", "agno-agi/agno#4157"),
}

TOOLS = {
    "T01": _seen(
        "A call with broken JSON is told so; its siblings run and the run goes on",
        "openai/openai-agents-js#887 frankbria/codeframe#755",
    ),
    "T02": _seen("Blank arguments are none", "microsoft/autogen#5667 vllm-project/vllm#19419"),
    "T03": _seen("Arguments that are None are none", "langchain-ai/langchain#34242 pydantic/pydantic-ai#1802"),
    "T04": _seen("Arguments that are the text null are none", "langchain-ai/langchain#33896 NousResearch/hermes-agent#453"),
    "T06": _seen(
        "Arguments that come as an object work, and go back as JSON text", "microsoft/autogen#5260 NousResearch/hermes-agent#1393"
    ),
    "T08": _seen("Invented names of arguments are told, with those there are", "myriade-ai/agentlys#266"),
    "T09": _seen(
        "What a tool raises is told to the model and the run goes on, or is raised if asked",
        "openai/openai-agents-python#54 kyegomez/swarms#2007",
    ),
    "T10": _seen(
        "Error texts hold no traceback and can be redacted; details are logged at debug level only",
        "openai/openai-agents-python#5112",
    ),
    "T11": _seen("Failed calls are marked for machines", "gleanwork/glean-agent-toolkit#42"),
    "T12": _seen(
        "A call of an unknown tool is told the names there are; the run goes on within its limits",
        "openai/openai-agents-python#325 openai/openai-agents-python#2204",
    ),
    "T16": _seen(
        "What returns nothing says some text, the same in every mode", "microsoft/agent-framework#4677 microsoft/agent-framework#1179"
    ),
    "T17": _seen("Dicts, lists and models become JSON text", "microsoft/autogen#7873 microsoft/autogen#8186"),
    "T18": _seen("Results are readable in any script, whatever their type", "strands-agents/harness-sdk#2636 1Panel-dev/MaxKB#4801"),
    "T19": _seen("Coroutine functions of every kind are awaited in every mode", "microsoft/autogen#103 ag2ai/ag2#299"),
    "T20": _seen(
        "A blocking tool stalls no event loop, overlaps when parallel, and sees the caller's contextvars",
        "openai/openai-agents-python#2386 openai/openai-agents-python#2387",
    ),
    "T21": _seen(
        "Values that fit exactly are read from their texts; what does not fit is told",
        "NousResearch/hermes-agent#5265 agentscope-ai/agentscope#2222",
        "What does not fit is an error for the model to correct, where others pass the raw value on: the annotated type is a promise.",
    ),
    "T22": _seen("Models and dataclasses arrive as instances", "microsoft/autogen#5736 microsoft/autogen#5737"),
    "T23": _seen("Enumerations are sent as their values and arrive as members", "cadifyai/tool2schema#37"),
    "T24": _seen("Content that is None breaks no helper and no printing", "NousResearch/hermes-agent#276 earendil-works/pi#6258"),
}

SCHEMAS = {
    "J02": _seen("A type that cannot be said is warned about; no parameter is ever dropped", "agno-agi/agno#9899"),
    "J03": _seen(
        "*args and **kwargs are no parameters; one that is called args is", "ollama/ollama-python#735 run-llama/llama_index#22135"
    ),
    "J04": _seen("A function with **kwargs gets every name", "google/adk-python#3036"),
    "J05": _seen(
        "A default makes optional, null may be sent for it, and strict schemas say so in their own way",
        "lydakis/alloy#11 livekit/agents#2080",
    ),
    "J06": _seen(
        "A tool that cannot be strict falls back alone, with a warning",
        "openai/openai-agents-python#794 gleanwork/glean-agent-toolkit#76",
    ),
    "J07": _seen(
        "A strict schema is closed at every depth, on a copy",
        "openai/openai-agents-python#992 openai/openai-agents-python#1041",
        "A schema written by hand, in an annotation or as Tool(parameters=...), is closed like any other.",
    ),
    "J08": _seen("A partial has its function's name, and what it binds is out of reach", "python/cpython#102323 Kludex/fastapi-health#21"),
    "J09": _seen("A callable object has its class's name; a lambda needs one", "ISISComputingGroup/lewis#229"),
    "J10": _seen(
        "Parameters are described from annotations and docstrings, the function without that block",
        "langchain-ai/langchain#20912 kyegomez/swarms#517",
    ),
    "J11": _seen("A tool without parameters has an empty object schema", "eclipse-theia/theia#14663"),
    "J13": _seen("What the documentation shows of a schema is what comes out", "openai/swarm#19"),
}

HANDOFFS = {
    "H03": _seen("What tools found before a handoff is seen by the next agent", "microsoft/autogen#5045"),
    "H05": _seen(
        "The switch comes after the batch; messages and events name who acted", "strands-agents/harness-sdk#1147 VRSEN/agency-swarm#341"
    ),
    "H06": _seen(
        "Names of transfer tools are legal, whatever the agent's", "langchain-ai/langgraph-swarm-py#12 pontus-espe/agent-sdk-go#8"
    ),
    "H08": _seen("A transfer to nobody is told the names there are", "google/adk-python#3736 google/adk-python#2164"),
    "H09": _seen("Agents are told apart by identity; where names decide, two of one name are refused", "google/adk-python#7110"),
    "H10": _seen("An agent without instructions works", "google/adk-python#5241"),
    "H11": _seen("Made-up arguments do not hinder a handoff", "google/adk-python#1786"),
    "H12": _seen("If the target cannot begin, the error surfaces and the history claims no success", "google/adk-python#1206"),
    "H13": _seen("A handoff can be forced by tool_choice, once", "openai/openai-agents-python#479"),
    "H14": _seen(
        "A call of an old agent's tool is told the new agent's; foreign tool traffic can be filtered out",
        "microsoft/autogen#6859 openai/openai-agents-python#69",
    ),
    "H15": _seen(
        "Filters decide what an agent sees of the history; the Response keeps it all",
        "openai/openai-agents-python#1244 openai/openai-agents-python#627",
    ),
    "H16": _seen(
        "Each message is sent once and in order, however often agents switch",
        "openai/openai-agents-python#2171 microsoft/agent-framework#4695",
    ),
    "H17": _seen("Chains of handoffs, there and back, work in one run", "VRSEN/agency-swarm#727"),
    "H18": _seen(
        "The next message goes to the agent that was active last, in the REPL too",
        "langchain-ai/langgraph-swarm-py#31 langchain-ai/langgraph-swarm-py#29",
    ),
    "H19": _seen(
        "A text without calls ends the run, even one that promises a handoff", "openai/openai-agents-python#2352 microsoft/autogen#7313"
    ),
    "H20": _seen("Every example imports and runs offline; the triage helper can be called twice", "openai/swarm#57 openai/swarm#49"),
    "H21": _seen("A tool or handoff may be on offer only under a condition", "ag2ai/ag2#201"),
    "H22": _seen("A function may end the run with a value", "ag2ai/ag2#357"),
    "H23": _seen(
        "Handoffs can be watched, refused and redirected",
        "openai/swarm#65 openai/swarm#67",
        "By a policy's handoff hook, which returns an agent or a Refuse with its reason, instead of a callback that returns False.",
    ),
    "H24": _seen(
        "A run that waits for a person can be saved and resumed in another process",
        "microsoft/autogen#4199 microsoft/autogen#5912",
        "The pause is a tool that needs approval, not a marker that it returns: so nothing has run before the person decides.",
    ),
}

LIMITS = {
    "L02": _seen(
        "The same calls with the same results, again and again, are noticed and stopped",
        "openai/openai-agents-python#191 openai/openai-agents-js#512",
        "On by default but lenient: it warns at 10 and stops at 50. Calls that vary, even slightly, or get other results are no circle.",
    ),
    "L03": _seen(
        "Agents that hand over for ever are stopped; failed, refused and earlier handoffs do not count",
        "langchain-ai/langgraph-swarm-py#8 strands-agents/harness-sdk#3168",
    ),
    "L04": _seen("An empty answer ends the run", "microsoft/autogen#6428 microsoft/autogen#5831"),
    "L05": _seen(
        "A limit returns what was done, asks for a last answer, or raises with the response",
        "openai/openai-agents-python#844 openai/openai-agents-python#2054",
    ),
    "L06": _seen(
        "max_turns counts messages added; model calls have a limit of their own", "QwenLM/Qwen3#1015 attevon-llc/OpenTranscribe#386"
    ),
    "L07": _seen("Only a change of agent is a handoff", "strands-agents/sdk-typescript#627"),
    "L08": _seen("Each run has a fresh budget", "SWE-agent/mini-swe-agent#910"),
    "L09": _seen("The REPL takes max_turns and survives it", "openai/openai-agents-python#2431"),
    "L10": _seen("An agent can know its turn and its limits", "openai/openai-agents-python#1630"),
}

CONTEXT = {
    "C03": _seen("No default is shared between agents or runs", "openai/swarm#37 kyegomez/swarms#1789"),
    "C04": _seen(
        "A copy of an agent has lists of its own, and so has an agent", "openai/openai-agents-python#1296 openai/openai-agents-python#4474"
    ),
    "C06": _seen("Instructions are sent verbatim, braces and all", "google/adk-python#5706 google/adk-python#628"),
    "C07": _seen("Instructions are asked before each reply, with the variables of the moment", "ag2ai/ag2#77 ag2ai/ag2#104"),
    "C08": _seen("Messages may be a text or a list; anything else is refused clearly", "ag2ai/ag2#1618"),
    "C09": _seen("A run that was given no variables still has them", "ag2ai/ag2#1685"),
    "C10": _seen(
        "Messages, variables and active agent survive a restart; a state of another version is refused", "openai/swarm#87 openai/swarm#70"
    ),
    "C11": _seen("What one agent says of a function is not said of it in another", "run-llama/llama_index#22146"),
    "C12": _seen("What cannot be saved is an error that names it", "agno-agi/agno#9763"),
    "C13": _seen(
        "Of two handoffs in one reply the last by call order wins, whichever finishes first", "langchain-ai/langgraph-swarm-py#23"
    ),
}

HISTORY = {
    "M03": _seen(
        "Open calls at the end of a history run only if asked for; else they are refused before anything is sent",
        "pydantic/pydantic-ai#2562 langgenius/dify#41846",
        "Not run by themselves, since messages from outside can be forged.",
    ),
    "M04": _seen("Batches that follow one another or interleave are put in order", "pydantic/pydantic-ai#2860"),
    "M05": _seen(
        "Who has seen the last item of a stream finds the session saved",
        "openai/openai-agents-python#1658 openai/openai-agents-python#1745",
    ),
    "M06": _seen("The partial text of a cancelled run is kept and sent again; what is empty is not", "agno-agi/agno#5816"),
    "M07": _seen("What a filter leaves replaces what that agent sees, and nothing else", "langchain-ai/langgraph-swarm-py#93"),
    "M08": _seen(
        "A saved state is checked against the agents given; it can approve nothing and import nothing",
        "openai/openai-agents-python#5105",
    ),
    "M09": _seen("Resuming repeats and skips nothing, however often a process dies", "strands-agents/harness-sdk#3391"),
}

EXECUTION = {
    "X01": _seen(
        "A sync run works inside a running loop, in a thread and after a closed loop",
        "openai/openai-agents-python#77 openai/openai-agents-python#127",
    ),
    "X02": _seen("Sync code makes no event loop", "openai/openai-agents-python#1391"),
    "X03": _seen("A stream can be cancelled after its turn or at once, and leaves nothing open", "openai/openai-agents-python#1895"),
    "X04": _seen("A tool may have a time limit, which the model is told of", "pydantic/pydantic-ai#3594 openJiuwen-ai/agent-core#91"),
    "X05": _seen(
        "A run may have a time limit; the error carries what was done", "openai/openai-agents-python#1425 strands-agents/harness-sdk#566"
    ),
    "X06": _seen(
        "A model call has a time limit by default, and the time left reaches it", "microsoft/autogen#7424 openai/openai-agents-python#511"
    ),
    "X07": _seen("A model call can be tried again, without repeating a message or a tool", "TransformerOptimus/SuperAGI#1361"),
    "X08": _seen(
        "Calls run in order by default, side by side if asked, up to a number", "OpenHands/software-agent-sdk#2390 TracecatHQ/tracecat#1772"
    ),
    "X09": _seen(
        "A call may wait for a person; nothing of its reply runs before, all of it once after",
        "openai/openai-agents-python#636 openai/openai-agents-python#2011",
    ),
}

OUTPUTS = {
    "O01": _seen(
        "A final text that does not fit its type costs one repair without tools or a typed error with the response",
        "openai/openai-agents-python#3728 pydantic/pydantic-ai#1192",
    ),
    "O02": _seen("A typed answer works together with tools and handoffs", "syntropix-ai/synthora#31 openai/openai-agents-python#2351"),
    "O03": _seen(
        "A tool may return images and files that the model sees", "openai/openai-agents-python#341 openai/openai-agents-python#787"
    ),
    "O05": _seen(
        "While a typed answer streams in, whoever reads events gets what there is of it so far, at a cost that grows with its length",
        "pydantic/jiter#100 pydantic/pydantic-ai#3194",
    ),
    "O06": _seen(
        "Images, sound and files reach the models that take them; others are told what they do not see; screens and logs get placeholders",
        "rikkahub/rikkahub#1433 nesquena/hermes-webui#2297 QwenLM/qwen-code#2020",
    ),
    "O04": _seen(
        "Large results are cut only with a mark that says so, base64 never", "openai/openai-agents-python#1553 MervinPraison/PraisonAI#2365"
    ),
}

USE = {
    "U01": _seen(
        "Nothing is printed or logged of what tools get, unless asked, and then redacted", "aden-hive/hive#1983 crewAIInc/crewAI-tools#460"
    ),
    "U02": _seen(
        "Events are complete, in order and the same in every mode; a listener that raises breaks nothing",
        "traceloop/openllmetry#2148 openai/openai-agents-js#1760",
        "Events hold no copy of the history: it is the messages of the events before, and a policy's model hook sees each request.",
    ),
    "U03": _seen("Usage is summed over a run and split by agent", "openai/openai-agents-python#70 AgentOps-AI/agentops#886"),
    "U04": _seen("A scripted model is part of the library; evals run offline", "davidaparicio/swarm-ollama#4 openai/swarm#15"),
    "U05": _seen(
        "What the README shows runs; a session ends at end of input and survives empty lines",
        "openai/swarm#5 prathyushnallamothu/swarmgo#23",
    ),
    "U06": _seen("Which model is used is documented; an override beats every agent's", "patchy631/ai-engineering-hub#2"),
    "U07": _seen(
        "A wrong definition fails at once with advice, and no name of any script is wrong",
        "google/adk-python#57 openai/openai-agents-python#1801",
    ),
    "U08": _seen("There may be any number of agents", "strands-agents/harness-sdk#224"),
    "U09": _seen("The final text is found in one documented way, also behind real clients' objects", "strands-agents/tools#438"),
    "U10": _seen(
        "An agent can be used as a function: its messages stay inside, usage and limits add up",
        "ag2ai/ag2#494 openai/openai-agents-python#224",
    ),
}

EVALS = {
    "E05": _seen(
        "An accuracy comes with its interval, which repetitions of one case do not narrow as new cases would",
        "UKGovernmentBEIS/inspect_ai#1251 marin-community/marin#9196",
    ),
    "E06": _seen("How reliably a case passes k times in a row is estimated without bias", "UKGovernmentBEIS/inspect_ai#3969"),
    "E07": _seen("A cost that is not known is no zero, and how many are not known is told", "tidyverse/vitals#121 Agenta-AI/agenta#1745"),
    "E08": _seen(
        "Two runs are compared case by case, and a difference is called one only if it is more than chance",
        "EleutherAI/lm-evaluation-harness#3831 UKGovernmentBEIS/inspect_ai#4206",
    ),
    "E09": _seen(
        "The page of results is one file that asks nobody, and no text in it becomes markup",
        "anthropics/skills#1394 anthropics/skills#1393",
    ),
}

CONTRACT = {
    id: Requirement(text, (_SEED,))
    for id, text in {
        "K01": "The names that existing code imports are there",
        "K02": "Swarm, run and the low-level methods take the arguments of the small API, in its order",
        "K03": "Agent, Result and Response have its defaults, none shared",
        "K04": "The active agent's instructions come first; functions that give them get the context variables, every turn",
        "K05": "The active agent's model and tools are sent, or the overriding model",
        "K06": "Context variables never reach the model or a schema",
        "K07": "Response.messages are the new messages as plain dicts of one form",
        "K08": "The caller's objects are never changed, and no state is left between runs",
        "K09": "Functions get keyword arguments of JSON types; results become text; calls run in order",
        "K10": "A parameter called context_variables is filled wherever it stands, and in-place changes last",
        "K11": "A wrong call is a tool message that begins with Error and names the cause; exits are not swallowed",
        "K12": "Empty arguments are a call without arguments",
        "K13": "A function that returns an Agent hands over; the last of several wins, after the batch",
        "K14": "A Result may carry value, agent and variables, merged in call order",
        "K15": "max_turns and execute_tools mean what they mean in the small API",
        "K16": "debug prints a trace with times; without it nothing is printed",
        "K17": "A stream is lazy, brackets each turn and ends with the response",
        "K18": "Deltas have the form of Chat Completions, the first of a turn with its sender",
        "K19": "The final response of a stream is that of a run without",
        "K20": "function_to_json gives the plain schema of a signature",
        "K21": "The description is the docstring; on the wire it is richer",
        "K22": "A function without a signature is a ValueError that names it; each schema is a fresh dict",
        "K23": "run_demo_loop keeps history, agent and context, and is patched the way people patch it",
        "K24": "pretty_print_messages prints what it always printed",
        "K25": "process_and_print_streaming_response prints what it always printed, and returns the response",
    }.items()
}

DECISIONS = {
    id: Requirement(text, ())
    for id, text in {
        "D1": "A reply is executed whole or not at all",
        "D2": "A history that ends in open calls is never executed by itself",
        "D3": "Approvals act on the calls that were open when the run began, and on no other",
        "D4": "A state is plain JSON that names agents, and refuses what JSON cannot hold",
        "D5": "A reply that was cut off runs none of its calls; two in a row end the run",
        "D6": "timeout is hard, Limits are soft and nest; going in circles is noticed",
        "D7": "A forcing tool_choice is sent once per agent and run",
        "D8": "Response.calls and Usage say what was done and used",
        "D10": "An effect made by a policy passes all policies but those it has passed",
        "D11": "A stream's text passes the gates before it is shown; a reply that nobody streamed is told as one delta",
        "D12": "Text that was shown is never repeated, and a turn starts once",
        "D13": "Closing a stream keeps a partial text, leaves valid history and the response",
        "D14": "Only tools go to threads, which hold up no exit",
        "D15": "contextvars reach models and tools",
        "D16": "Exits, interrupts and cancellations are never swallowed",
        "D17": "Context variables are copied with their aliases; what cannot be copied is shared",
        "D18": "Callbacks get what they ask for by name; RunInfo by annotation",
        "D19": "Agents are equal by identity, checked when made and when used, and can be copied",
        "D20": "A handoff's filter comes first, then the agent's, while that agent is active",
        "D21": "Wire names are derived by rule, legal and unique",
        "D22": "Schemas are plain, warn about unknown types, and wrong signatures fail at once",
        "D23": "A failed call's text begins with Error, or the failure is raised if asked",
        "D24": "An agent as a tool sees its input only and shares context and limits; Handoff(returns=True) comes back",
        "D25": "Steps that a subclass overrides are honoured in every mode",
        "D26": "What a model sent goes back to that provider, and to no other",
        "D27": "Pieces of streamed calls are matched by everything they have",
        "D28": "Usage in streams is asked for by profile or by a limit; else it is an estimate that says so",
        "D29": "Our client speaks to one endpoint for all threads, loops and processes",
        "D30": "The offline model answers only where it was asked for",
        "D31": "Foreign clients are told sync from async by what they do",
        "D32": "debug prints to standard output, redacted; the logger's level is the user's",
        "D33": "The parallel flag is sent only if it was given",
        "D36": "check and graph read and never call",
        "D38": "The core and the policies stay within their budgets",
        "D40": "A hook is a generator function of one effect",
        "D41": "Inside hooks a failed call is an exception, outside an outcome; no failure cancels a sibling",
        "D42": "A pause is an outcome, which policies leave alone",
        "D43": "After a cut each open call is answered by what is known of it",
        "D44": "A batch that paused half-way goes on where it was",
        "D45": "Runs inside runs share usage and counts, and their events are nested",
        "D46": "A reply that was not told is told as one delta",
        "D47": "Events are made only for watchers, and are the same for all of them",
        "D48": "Async streams are closed in order, whoever closes them",
        "D49": "Cancelling from the inside is not cancelling from the outside",
        "D50": "Parallel calls in sync have threads of their own, and stop when asked",
        "D51": "The private loop survives fork and nesting; a run's time limit holds everywhere",
        "D52": "What filters and policies made is prepared again; repeated ids get numbers",
        "D53": "Tapes hold the context after a call, and effects are numbered per flow",
        "D54": "Kept exceptions have no traceback, and a run leaves no cycle",
        "D55": "Handoffs and callbacks run inline",
        "D60": "Cases of evals are read from JSON, YAML and CSV; what is wrong with one is named with file and line",
        "D61": "Each field of a case is scored by itself, with what was expected and what there was; own functions are scorers too",
        "D62": "Eval conversations go on side by side with a limit; one that fails is a result and ends no other",
        "D63": "Eval results are written as they come; a killed run is resumed without repeating any, and with the same cases only",
        "D64": "swarm eval exits with 1 below what was asked, with 2 when used wrongly",
        "D66": "A swarm is a solver of inspect-ai, with its models or with one of its own; its log holds messages, calls and usage",
        "D67": "Each case of evals is a test of pytest; a share of them may be asked for, over all processes",
        "D68": "A judge model answers apart from what it judges, counts apart, and passes nothing when it fails",
        "D69": "A simulated user, script or model, talks with whoever is active until it is done, cut off, or a run stops; it counts apart",
        "D70": "An example's application looks up and changes real records: in one transaction, nothing twice, nothing of somebody else's",
        "D71": "The tasks of tau-bench are cases of evals, each on a fresh database that is compared whole at the end",
        "D73": "A configuration in TOML or YAML says agents, handoffs, limits, policies and models",
        "D74": "Training data is valid, and holds each answer once, with what its agent was told and offered",
        "D75": "A configuration names public functions of modules that it and its reader allow; nothing else of it is code",
        "D76": "Environment variables stand in the place of a configuration's values, typed as these are",
        "D77": "A configuration that changes is read again; runs keep their version, and a broken one leaves the last good",
        "D78": "All that is wrong with a configuration is told at once, each mistake with its file and line",
        "D80": "A run in a session is saved before each next step and before its end is told; what was shown is there",
        "D81": "Of two runs on one session the second is refused; nothing of it is kept, whenever it began",
        "D82": "Sessions are found by text, tag, time and user, exported, deleted for good, and expire",
        "D83": "What a session holds is encrypted with keys that may change; a text that was changed or moved is noticed",
        "D84": "A full disk, an outage, damage and a newer form of a store are clear errors; nothing acknowledged is lost",
        "D85": "The support bot's index holds what its articles say, embeds only what changed, and refuses vectors of another model",
        "D86": "Tickets and mail are kept once per call; a mail is queued, sent, refused or unclear, and said to be what it is",
        "D9": "Policies have five hooks, keep a run's state with the run, and tell the watcher",
        "D90": "An MCP server's tools are functions with its own schemas, legal and unique names, results with all there is to see",
        "D91": "A broken MCP connection is made again once; a call that may have run is repeated only if the tool allows it",
        "D92": "MCP sessions serve threads and loops at once; a cancelled run cancels its call, and a process ends with its program",
        "D93": "An agent follows the changes of an MCP server's tools from the next run on",
        "D94": "Agents offered over MCP keep conversations, tell progress, can be cancelled, and write nothing but the protocol",
        "D95": "A LangChain tool is a function with its own schema; what LangChain injects comes from the program, never from the model",
        "D96": "A swarm is a LangChain runnable: in chains, streamed and in batches, with callbacks, messages of LangChain in and out",
        "D97": "Function tools of pydantic-ai and openai-agents are functions; what only their own runs can do is refused at once",
        "D98": "An agent offered over A2A has a card, tells task states, keeps conversations by context id, and can be cancelled",
    }.items()
}

REQUIREMENTS: dict[str, Requirement] = {
    **PROVIDERS,
    **STREAMS,
    **TOOLS,
    **SCHEMAS,
    **HANDOFFS,
    **LIMITS,
    **CONTEXT,
    **HISTORY,
    **EXECUTION,
    **OUTPUTS,
    **USE,
    **EVALS,
    **CONTRACT,
    **DECISIONS,
}
"""Every promise by its id."""
