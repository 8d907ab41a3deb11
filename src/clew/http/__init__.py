"""HTTP/1.1 on asyncio protocols: the server's side here, the client's in `client/`.

In: `server` listens, `connection` has one client, `reader` makes requests (`message`) of bytes, `known` skips heads that
were read before, `long_body` collects what comes in several reads. Out: a handler answers by a `responder`;
`wire_responder` writes it, `outlet` and `turn` join what is written in one turn of the event loop, `chunks` passes chunks
on as they came. `rounds` is the clock for time-outs.
"""
