"""The outbound border: connections to backends, TLS, time limits, and foreign exceptions turned into ours.

`Pool.ask` is the way out. It never follows a redirect and never retries what a backend may have begun: whether to try again
is decided in one place, `clew.pipeline.attempts`.
"""
