"""One exchange from request to recorded answer. Gateway and library are shells on it.

An exchange can go three ways. All give the client the same bytes; each falls back on the next as soon as something is
unusual:

    by rote         a request like others before it, about which all is decided already    `rote/`
    the short way   everything is decided, but nothing has to be waited for: no task       `express`
    the long way    a coroutine that may wait, retry, heal and fail over                   `exchange`

Where to begin: `engine` (the entry), `exchange` (the whole course, readable from top to bottom), `underway` (what the short
and the long way share). Then, in the order of a request:

    asked       `call` `asking` `histories` `spared` `route` `outgoing` `dialects/`
    answered    `reading` `hearing` `streaming` `in_one_piece` `whole` `passing` `failures` `reply_head`
    over        `story` `turns` `keeping` `over` `telling` `log/` `hub`
    shared      `parts` (by all), `works` (how it is put together), `current`, `snapshot` (the present settings)
"""
