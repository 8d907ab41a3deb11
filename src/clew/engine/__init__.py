"""One exchange from request to recorded answer. Gateway and library are shells on it.

An exchange is a coroutine that knows no loop, no socket and no database (`exchange`); it awaits commands (`commands`), and
one driver carries them out (`driver`). Where to begin: `engine` (the entry), `exchange` (the whole course, readable from top
to bottom), `driver`. Then, in the order of a request:

    asked       `call` `preparing` `received_request` `histories` `gathering` `route`
                `outgoing` `backend_call` `backend_dialect`
    answered    `answering` `streamed` `whole` `client_stream` `failures` `reply_head`
    over        `ending` `open_turns` `exchange_notes` `turns` `log/` `hub`
    shared      `states`, `services` (by all), `runtime` (how it is put together), `current`,
                `snapshot` (the present settings)
"""
