"""What an exchange stands on: the driver that carries out its commands, and all that the exchanges of a process share.

The exchange itself is a pure machine (`clew.exchange`). Gateway and library are shells on the `engine` (the entry); the
`driver` is where to read next. In the order of a request:

    asked       `preparing` `histories` `gathering` `route`
    carried     `driver` `backend_call` `client_stream` `open_turns` `process_commands`
    shared      `services` (by all), `runtime` (how it is put together), `current`, `snapshot` (the present settings),
                `log/`, `hub`
"""
