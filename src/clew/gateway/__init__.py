"""The data plane: what clients talk to.

`process` is a gateway as a process, `plan` how it was started, `workers` and `worker` several processes on one port. A
request arrives at `plane`; `admission` and `routes` let it pass or refuse it (`replies`), and the engine answers.
"""
