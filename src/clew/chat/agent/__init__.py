"""Agents: a model, the tools that it may call, and a loop that runs them until there is an answer.

An agent stands on a conversation (`clew.chat.conversation`), so all that holds there holds here: what is said is kept before
it is answered, the backend may change at any step, and a crash leaves turns that say what became of them. Tools are typed
Python functions (`tools`); what a run tells is in `events`, how far it may go in `limits`, who lets calls run in `approval`.
"""
