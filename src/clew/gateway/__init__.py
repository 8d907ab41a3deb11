"""The data plane: what clients talk to.

`process` is a gateway as a process, `plan` what it was started with, `workers` and `worker` several of them on one port. A
request comes in by `plane`: `border`, `routes` and `admission` let it pass or refuse it (`replies`), and the engine
answers.
"""
