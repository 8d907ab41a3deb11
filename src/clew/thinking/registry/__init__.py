"""The thinking registry of the session policy: a table of blocks that the current backend made.

Each switch of the backend begins a new session, and blocks of older sessions are never sent again. A block is registered
when an answer brings it, confirmed when a request brings it back, and forgotten by one of three rules when it is old, no
longer sent, or was never sent. `filter_request` runs extract, confirm, cleanup, filter, in this order.

This is the documented behaviour, kept for `policy = "session"`, and it loses what the default policy keeps: a switch back, a
second conversation, a restart. Fixed here are only the cases in which it would send blocks that a vendor must refuse, or
forget blocks that are plainly still in use: a block cut before its end is never sent on, a message never becomes empty, an
answer belongs to the session of its request, a block without text is known by its signature, and a request that carries no
thinking (a first turn, a title) or only counts tokens says nothing about what the conversation still holds.

No clock and no log: the time is an argument, and the returned values hold all there is to log. Threads that share one
registry give it a lock; tasks need none, since nothing here awaits.
"""
