"""Agents: a model, the tools that it may call, and a loop that runs them until there is an answer.

An agent works on a conversation (`clew.chat.conversation`), with the same guarantees: a question is stored before it is
answered, the backend may change at any step, and a crash leaves turns that say how they ended. Tools are typed Python
functions (`tools`, also for decisions about calls). The events of a run are in `events`, its limits in `plan`.
"""
