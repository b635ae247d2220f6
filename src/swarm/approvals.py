"""Which calls of a reply wait for a person, and what decisions do to them.

Decisions act on the calls that were open when the run began, never on calls made later: some providers use the function's name as id,
so an id could be guessed. They are looked at before the first call of a reply runs; if one is missing, none runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .effects import Flow
from .errors import StateError, ToolArgumentsError
from .history import open_calls
from .offers import CALL_NAMES, ask
from .run import Run
from .tools import Tool
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
    decisions = run.approvals or {}
    if not run.path:
        _check_ids(run, decisions)
    gated: list[Pending] = []
    missing = False
    for call in planned:
        if call.outcome is not None or call.id in run.held or call.id in run.nested or call.tool is None:
            continue
        if (yield from _gated(run, call.tool, call.arguments)):
            gated.append(Pending(call.id, call.name, call.arguments, run.agent.name))
            missing = missing or call.id not in decisions
    if missing:
        return gated
    for call in planned:
        if call.id in decisions and call.outcome is None and call.id not in run.held:
            _apply(call, decisions[call.id])
    return []


def may_wait(run: Run, planned: list[Planned]) -> bool:
    """Whether there is anything to decide about a batch."""
    anything = bool(run.approvals or run.nested)
    for call in planned:
        anything = anything or (call.tool is not None and bool(call.tool.approval))
    return anything


def _check_ids(run: Run, decisions: dict[str, Any]) -> None:
    known = _open_ids(run)
    unknown = [id for id in decisions if id not in known]
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise ApprovalError(f"approvals names {names}, which is not pending; open calls are {', '.join(map(repr, known)) or 'none'}")
    for id, decision in decisions.items():
        _read(id, decision)


def _open_ids(run: Run) -> list[str]:
    """The ids of all calls that wait, those of inner runs behind the id of the call they run in."""
    ids = [call["id"] for call in open_calls(run.history) if call["id"] not in run.held]
    return ids + [f"{outer}/{id}" for outer, inner in run.nested.items() for id in _open_ids(inner)]


def inner_decisions(run: Run, call_id: str) -> dict[str, Any]:
    """The decisions that are for the run inside a call, by the ids that it knows."""
    mine = f"{call_id}/"
    return {id.removeprefix(mine): decision for id, decision in (run.approvals or {}).items() if id.startswith(mine)}


def _gated(run: Run, tool: Tool, arguments: dict[str, Any]) -> Flow:
    if not callable(tool.approval):
        return tool.approval
    return bool((yield from ask(tool.approval, lambda name: arguments if name == "arguments" else run.about(name), CALL_NAMES)))


def _read(id: str, decision: Any) -> bool | Approve | Refuse:
    if isinstance(decision, bool | Approve | Refuse):
        return decision
    if isinstance(decision, dict):  # the JSON form
        given = cast("dict[str, Any]", decision)
        if isinstance(given.get("approve"), bool):
            return Approve(given.get("arguments")) if given["approve"] else Refuse(str(given.get("reason") or ""))
    raise ApprovalError(
        f"approvals[{id!r}] is {decision!r}; give True, False, Approve(...), Refuse(...), or as JSON "
        '{"approve": true} or {"approve": false, "reason": "..."}'
    )


def _apply(call: Planned, decision: Any) -> None:
    decision = _read(call.id, decision)
    if decision is False or isinstance(decision, Refuse):
        reason = decision.reason if isinstance(decision, Refuse) else ""
        call.refuse("refused", f"{REFUSED} {reason}".strip())
    elif isinstance(decision, Approve) and decision.arguments is not None and call.tool is not None:
        try:
            call.arguments, call.changed = call.tool.arguments(decision.arguments), True
        except ToolArgumentsError as error:
            raise ApprovalError(f"approvals[{call.id!r}]: {error}") from None
