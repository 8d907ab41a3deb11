"""Sub-agents: an agent as a tool of another.

Each call is a thread of its own, in the session of the calling agent. The caller waits for the answer; the sub-agent's
events go to the caller's listener, and its spending counts for both. The caller's approval function decides about the
sub-agent's calls too, unless the sub-agent has its own; if a decision is put off, the caller is suspended as well. The
thread's id is made from the call, so a caller that is resumed, after that or after a crash, finds the sub-agent's thread and
continues it: an existing answer is not asked for again.
"""

from __future__ import annotations

from msgspec import structs

from clew.chat.agent.approval import Suspended
from clew.chat.agent.context import CURRENT_CALL, AgentPlan, CallContext, RunContext, prepare
from clew.chat.agent.events import AgentEvent, FromAgent, Result
from clew.chat.agent.limits import Spending
from clew.chat.agent.loop import AgentLoop, ask_question, resume_last
from clew.chat.agent.schema import arguments_of
from clew.chat.agent.tools import Tool, ToolFailed, checked_name
from clew.chat.conversation import AsyncConversation
from clew.chat.request import Wishes
from clew.pipeline.ui.parts import derived_id

__all__ = ["agent_tool"]


def agent_tool(plan: AgentPlan) -> Tool:
    """The tool that an agent is. Raises SettingsInvalid for a name that no tool can have."""

    async def delegate(prompt: str) -> object:
        """Gives a task to another agent, and waits for its answer.

        Args:
            prompt: The whole task: the other agent knows nothing else of this conversation.
        """
        return _output_of(plan, await _run(plan, CURRENT_CALL.get(), prompt))

    arguments = arguments_of(delegate, checked_name(plan.name))
    return Tool(
        function=delegate,
        name=plan.name,
        description=plan.description or arguments.summary,
        arguments=arguments,
        idempotent=True,  # a second call continues the first
        may_wait=any(tool.approval or tool.may_wait for tool in plan.tools),
    )


async def _run(plan: AgentPlan, current: CallContext, prompt: str) -> Result[object]:
    caller = current.run

    async def emit(event: AgentEvent) -> None:
        await caller.emit(FromAgent(plan.name, current.call, event))

    conversation = await _open_conversation(caller.conversation, plan, current)
    own = structs.replace(plan, approve=plan.approve or caller.plan.approve)
    context = RunContext(own, conversation, Spending(plan.limits, caller.spending), emit, caller.decisions)
    return await AgentLoop(context).run(lambda opened: resume_last(opened) if opened.turns else ask_question(opened, prompt))


async def _open_conversation(caller: AsyncConversation, plan: AgentPlan, current: CallContext) -> AsyncConversation:
    """The call's own thread, with the caller's parameters where the plan has none."""
    wishes = Wishes(thinking=caller.wishes.thinking, effort=caller.wishes.effort)
    thread = derived_id("agent", caller.thread, current.turn, current.call.id)
    service = await caller.service.beside(f"{plan.name}-{current.call.id}", thread)
    conversation = AsyncConversation(service, wishes, on_overflow=plan.on_overflow)
    prepare(plan, conversation)
    conversation.use(plan.backend or caller.backend, model=plan.model or ("" if plan.backend else caller.model))
    return conversation


def _output_of(plan: AgentPlan, result: Result[object]) -> object:
    if result.ending == "answered":
        return result.output
    if result.ending == "suspended":
        raise Suspended(result.waiting)
    text = result.message.content if result.message else None
    last = f" The last that it said: {text}" if text else ""
    raise ToolFailed(f"{plan.name} came to no answer: {result.limit or result.ending}.{last}")
