"""HTTP/1.1 on asyncio protocols: the server's side here, the client's in `client/`.

In: `server` listens, `connection` has one client, `reader` makes requests (`message`) of bytes, `long_body` collects a body
that comes in several reads, `connection_limits` bounds what a client may take. Out: a handler answers by a `responder`;
`transport_writer` joins the writes of one round of the event loop. `timers` has the time limits.
"""
