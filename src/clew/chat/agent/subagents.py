"""Sub-agents: an agent as a tool of another.

Each call is a thread of its own, in the session of the one that sent it, so that a thread's tree shows who was sent where.
The sender waits for the answer; what the sub-agent tells is told to whoever listens to the sender, and what it spends counts
for both. Whoever approves the sender's calls approves the sub-agent's, unless it has somebody of its own; where a decision
is put off, the sender is suspended too. The thread follows from the call, so whoever resumes the sender, after that or after
a crash, finds the sub-agent's thread and goes on with it: an answer that is there is not asked for again.
"""

from __future__ import annotations

from msgspec import structs

from clew.chat.agent.approval import Suspended
from clew.chat.agent.course import Course
from clew.chat.agent.events import AgentEvent, FromAgent, Result
from clew.chat.agent.limits import Spending
from clew.chat.agent.plan import Plan, prepare
from clew.chat.agent.schema import arguments_of
from clew.chat.agent.starting import asked, resumed
from clew.chat.agent.tools import Tool, ToolFailed, checked_name
from clew.chat.agent.working import AT_WORK, AtWork, Working
from clew.chat.conversation import AsyncConversation
from clew.chat.request import Wishes
from clew.pipeline.ui.parts import derived_id

__all__ = ["agent_tool"]


def agent_tool(plan: Plan) -> Tool:
    """The tool that an agent is. Raises SettingsInvalid for a name that no tool can have."""

    async def delegate(prompt: str) -> object:
        """Gives a task to another agent, and waits for its answer.

        Args:
            prompt: The whole task: the other agent knows nothing else of this conversation.
        """
        return _answer(plan, await _sent(plan, AT_WORK.get(), prompt))

    arguments = arguments_of(delegate, checked_name(plan.name))
    return Tool(
        function=delegate,
        name=plan.name,
        description=plan.description or arguments.summary,
        arguments=arguments,
        idempotent=True,  # it goes on where it was
        may_wait=any(tool.approval or tool.may_wait for tool in plan.tools),
    )


async def _sent(plan: Plan, at: AtWork, prompt: str) -> Result[object]:
    sender = at.working
    conversation = await _beside(sender.conversation, plan, at)

    async def tell(event: AgentEvent) -> None:
        await sender.tell(FromAgent(plan.name, at.call, event))

    own = structs.replace(plan, approve=plan.approve or sender.plan.approve)
    working = Working(own, conversation, Spending(plan.limits, sender.spending), tell, sender.made)
    return await Course(working).run(lambda opened: resumed(opened) if opened.turns else asked(opened, prompt))


async def _beside(sender: AsyncConversation, plan: Plan, at: AtWork) -> AsyncConversation:
    """The call's own thread, asked as the sender is where the plan says nothing else."""
    wishes = Wishes(thinking=sender.wishes.thinking, effort=sender.wishes.effort)
    thread = derived_id("agent", sender.thread, at.turn, at.call.id)
    desk = await sender.desk.beside(f"{plan.name}-{at.call.id}", thread)
    conversation = AsyncConversation(desk, wishes, on_overflow=plan.on_overflow)
    prepare(plan, conversation)
    conversation.use(plan.backend or sender.backend, model=plan.model or ("" if plan.backend else sender.model))
    return conversation


def _answer(plan: Plan, result: Result[object]) -> object:
    if result.ending == "answered":
        return result.output
    if result.ending == "suspended":
        raise Suspended(result.waiting)
    said = result.message.content if result.message else None
    last = f" The last that it said: {said}" if said else ""
    raise ToolFailed(f"{plan.name} came to no answer: {result.limit or result.ending}.{last}")
