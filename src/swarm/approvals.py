"""Which calls of a reply wait for a person, and what decisions do to them.

A call may run if its tool asks for no approval, or if it was decided: by the caller (`approvals=`), or by a policy (`approval` hooks, see
`effects.Decide`). Decisions of the caller act on the calls that were open when the run began, never on calls made later: some providers use
the function's name as id, so an id could be guessed. All are looked at before the first call of a reply runs; if one is missing, none runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .effects import Decide, Flow
from .errors import StateError, ToolArgumentsError
from .events import PolicyActed
from .history import open_calls
from .offers import CALL_NAMES, ask
from .run import Run, RunInfo
from .types import Approve, Pending, Refuse

if TYPE_CHECKING:
    from .calls import Planned

REFUSED = "The call was not approved."


class ApprovalError(StateError):
    """A decision that fits no open call, or something else in its place. It ends the run, also from inside a call."""


def undecided(run: Run, planned: list[Planned]) -> Flow:
    """Apply the decisions at hand. Returns every gated call of the batch if one of them still waits, else [].

    Raises:
        ApprovalError: a decision for a call that is not open, or something else in its place.
    """
    given = run.approvals or {}
    if not run.path:
        _check_ids(run, given)
    decided: list[tuple[Planned, Any]] = []
    for call in planned:
        if call.outcome is None and call.tool is not None and call.id not in run.held:
            decided.append((call, (yield from _decided(run, call))))
    if any(answer is None for _, answer in decided):
        return [
            Pending(call.id, call.name, call.arguments, run.agent.name)
            for call, answer in decided
            if call.id not in run.nested and (answer is None or isinstance(answer, Approve) or call.id in given)
        ]
    for call, answer in decided:
        _apply(call, answer)
        if run.options.watched and call.id in given:
            yield from run.tell(told(run.agent.name, "approvals", call.id, call.name, answer))
    return []


def _decided(run: Run, call: Planned) -> Flow:
    assert call.tool is not None
    is_open = not run.approvals or call.id not in run.approvals
    if is_open and (call.id in run.nested or not (call.tool.approval or _asks_about_all(run))):
        return True  # the run inside it has begun, or nobody has anything to say
    effect = Decide(call.tool, call.id, call.arguments, run.agent, RunInfo(run, call.id))
    return (yield from (run.through(effect) if "approval" in run.options.hooks else decision(run, effect)))


def decision(run: Run, effect: Decide) -> Flow:
    """What the caller and the tool say about a call, behind the last policy: see `Decide`."""
    if run.approvals and effect.id in run.approvals:
        return read(effect.id, run.approvals[effect.id])
    gate = effect.tool.approval
    if callable(gate):
        gate = yield from ask(gate, lambda name: effect.arguments if name == "arguments" else run.about(name), CALL_NAMES)
    return None if gate else True


def may_wait(run: Run, planned: list[Planned]) -> bool:
    """Whether there is anything to decide about a batch."""
    anything = bool(run.approvals or run.nested or _asks_about_all(run))
    for call in planned:
        anything = anything or (call.tool is not None and bool(call.tool.approval))
    return anything


def _asks_about_all(run: Run) -> bool:
    """Whether a policy wants to see the calls of tools that ask for no approval too."""
    policies = run.options.hooks.get("approval")
    return policies is not None and not all(getattr(policy, "only_marked", False) for policy, _ in policies)


def _check_ids(run: Run, decisions: dict[str, Any]) -> None:
    known = _open_ids(run)
    unknown = [id for id in decisions if id not in known]
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise ApprovalError(f"approvals names {names}, which is not pending; open calls are {', '.join(map(repr, known)) or 'none'}")
    for id, decision in decisions.items():
        read(id, decision)


def _open_ids(run: Run) -> list[str]:
    """The ids of all calls that wait, those of inner runs behind the id of the call they run in."""
    ids = [call["id"] for call in open_calls(run.history) if call["id"] not in run.held]
    return ids + [f"{outer}/{id}" for outer, inner in run.nested.items() for id in _open_ids(inner)]


def inner_decisions(run: Run, call_id: str) -> dict[str, Any]:
    """The decisions that are for the run inside a call, by the ids that it knows."""
    mine = f"{call_id}/"
    return {id.removeprefix(mine): decision for id, decision in (run.approvals or {}).items() if id.startswith(mine)}


def read(id: str, decision: Any, of: str = "approvals[{!r}]") -> Approve | Refuse:
    """A decision in any of its forms.

    Args:
        id: the call's id.
        decision: as it was given.
        of: who gave it, for the error; a place for the id in it is filled.

    Raises:
        ApprovalError: it is none.
    """
    if isinstance(decision, Approve | Refuse):
        return decision
    if isinstance(decision, bool):
        return Approve() if decision else Refuse()
    if isinstance(decision, dict):  # the JSON form
        given = cast("dict[str, Any]", decision)
        if isinstance(given.get("approve"), bool):
            return Approve(given.get("arguments")) if given["approve"] else Refuse(str(given.get("reason") or ""))
    raise ApprovalError(
        f"{of.format(id)} is {decision!r}; give True, False, Approve(...), Refuse(...), or as JSON "
        '{"approve": true} or {"approve": false, "reason": "..."}'
    )


def told(agent: str, who: str, id: str, name: str, decision: Approve | Refuse | None) -> PolicyActed:
    """The event of a decision: who took it, about which call, and what it is.

    Args:
        agent: name of the agent that made the call.
        who: "approvals" for the caller, or the name of the policy.
        id, name: of the call.
        decision: what was decided; None if the call is to wait.
    """
    what, reason, changed = "left waiting", "", False
    if isinstance(decision, Refuse):
        what, reason = "refused", decision.reason
    elif decision is not None:
        what, changed = "approved", decision.arguments is not None
    detail = {"decision": what, "call_id": id, "tool": name, "agent": agent, "changed": changed, "reason": reason}
    said = f"{what} {name}{' with other arguments' if changed else ''}"
    return PolicyActed(agent, who, said, reason, detail, cause=f"call:{id}")


def _apply(call: Planned, answer: Any) -> None:
    if answer is False or isinstance(answer, Refuse):
        reason = answer.reason if isinstance(answer, Refuse) else ""
        call.refuse("refused", f"{REFUSED} {reason}".strip())
    elif isinstance(answer, Approve) and answer.arguments is not None and call.tool is not None:
        try:
            call.arguments, call.changed = call.tool.arguments(answer.arguments), True
        except ToolArgumentsError as error:
            raise ApprovalError(f"the approval of {call.id!r} gives other arguments, which do not fit: {error}") from None
