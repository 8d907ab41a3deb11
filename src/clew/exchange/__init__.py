"""One exchange, without I/O: the machine that takes a client's request to a backend and the answer back.

`ExchangeMachine` (`machine`) is a coroutine. It awaits commands (`commands`), and a driver outside carries them out: it
sends, reads, waits, stores and logs. The machine gets values only, and the present time is one of them (`states`, with the
table of what may follow what). So every course of an exchange can be played by a test, on a clock of its own. In the order
of a request:

    asked       `call` `inputs` `backend_dialect` `heads`
    tried       `machine` `notes` `failures`
    answered    `answering` `streamed` `whole`
    over        `turns` `redact`
"""
