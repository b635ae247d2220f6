"""What a guardrail does around a model call: it checks the user's input, once, and the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..effects import CallModel, Cut, Flow, Gate, Message, Reply, Together
from ..inside import inside
from ..messages import text_of
from .checking import Block, caught
from .gates import Windows, passed
from .rewording import OTHERS, check_anew, reworded, said

if TYPE_CHECKING:
    from ..run import Run
    from .guardrail import Guardrail


def checked(guard: Guardrail, call: CallModel) -> Flow:
    """Check the input once, beside the first call of the run, and what each call answers before it is shown."""
    if call.run is None or call.agent is not call.run.agent:  # asked by a policy, such as a judge
        return (yield call)
    if call.path or "output" not in guard.on:
        return (yield from checked_input(guard, call))
    run = inside(call.run)
    blocks: list[Block] = []
    # Once it was checked, and nothing of it is said in other words, the input costs nothing more.
    is_settled = call.run.state(guard).get(OTHERS) == {}
    if call.stream:

        def gate() -> Gate:
            blocks.clear()
            return _gate(guard, run, blocks, hook=False)

        call = call.replace(gates=(gate, *call.gates))
    reply: Reply = (yield call) if is_settled else (yield from checked_input(guard, call))
    if reply.finish_reason == guard.reason:
        return reply
    text = text_of(reply.message)
    if not reply.told and text:
        blocks.clear()
        shown = yield from passed(_gate(guard, run, blocks, hook=True), text)
        if blocks:
            reply.message = {"role": "assistant", "content": shown}
        elif shown != text:
            reply.message = {**reply.message, "content": shown}
            yield guard.acted(run, "rewrote the output")
    if not blocks:
        return reply
    yield guard.acted(run, "blocked the output", why=blocks[0].reason)
    if guard.on_block == "raise":
        error = guard.tripped(blocks[0], "output")
        error.partial = reply.message if text_of(reply.message) else None
        raise error
    return _ended(guard, reply)


def _gate(guard: Guardrail, run: Run, blocks: list[Block], hook: bool) -> Gate:
    """The gate for one answer; a Block is noted, and ends the answer with what is said of it."""

    def cut(block: Block, begun: bool) -> Cut:
        blocks.append(block)
        return Cut("" if guard.on_block == "raise" else "\n\n" * begun + guard.says(block, "output"))

    own: Any = getattr(guard.check, "gate", None)  # a check that can look at a text as it comes
    return Windows(lambda text: guard.asking.verdict(run, text, hook=hook), guard.window, cut) if own is None else own(cut)


def checked_input(guard: Guardrail, call: CallModel) -> Flow:
    """Ask the model; at the first time in a run the user's last message is checked before, or beside it."""
    assert call.run is not None
    run, kept = inside(call.run), call.run.state(guard)
    if "input" not in guard.on:
        return (yield call)
    if call.path or OTHERS in kept:
        return (yield _rewritten(call, kept))
    verdicts: dict[str, str] = {}
    reply: Any = None
    texts = said(guard, run, call.run)
    kept["said"] = frozenset(texts)
    checked = texts if getattr(guard.check, "everywhere", False) else texts[-1:]
    for text in dict.fromkeys(text for text in checked if text):
        if guard.beside:
            flow = caught(guard.asking.verdict(run, text, hook=False))
            verdict, reply = yield Together([flow, call], decides=lambda came: came is None)
            if isinstance(verdict, Exception):
                raise verdict
        else:
            verdict = yield from guard.asking.verdict(run, text)
        if verdict is not None and guard.beside and reply is None:
            _count_given_up(run, call)
        if isinstance(verdict, Block):
            return (yield from _refused(guard, run, verdict))
        if verdict is not None:
            verdicts[text], reply = verdict, None
            check_anew(guard, run, call.run)
    kept[OTHERS] = verdicts
    if verdicts:
        yield guard.acted(run, "rewrote the input")
    if isinstance(reply, Exception):
        raise reply
    return (yield _rewritten(call, kept)) if reply is None else reply


def _refused(guard: Guardrail, run: Run, block: Block) -> Flow:
    yield guard.acted(run, "blocked the input", why=block.reason)
    if guard.on_block == "raise":
        raise guard.tripped(block, "input")
    return _ended(guard, Reply({"role": "assistant", "content": guard.says(block, "input")}))


def _ended(guard: Guardrail, reply: Reply) -> Reply:
    """The reply as one that ends the run: without the calls that it made."""
    reply.message = {"role": "assistant", "content": text_of(reply.message)}
    reply.finish_reason = guard.reason
    return reply


def _rewritten(call: CallModel, kept: dict[str, Any]) -> CallModel:
    """The call with other texts of the user."""
    others: dict[str, str] = kept.get(OTHERS, {})
    if not others:
        return call
    messages: list[Message] = [
        reworded(message, others, kept["said"]) if message["role"] == "user" else message for message in call.request["messages"]
    ]
    return call.replace(request={**call.request, "messages": messages})


def _count_given_up(run: Run, call: CallModel) -> None:
    """Count a call whose answer nobody waited for, with the tokens that it was sent."""
    lost = Reply({"role": "assistant", "content": ""})
    lost.cut = True
    run.count(lost, call)
