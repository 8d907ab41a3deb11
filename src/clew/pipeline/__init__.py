"""The projection: ordered, small, pure steps (`project`); and every other decision about a request or an answer without I/O.

A file holds the steps about one subject, `thinking/` the largest of them. `heal` repairs a refused request, `attempts` says
which backend to ask next. `builder` and `ui/` make requests from what a client or a chat app keeps. `stream/` is for
answers.
"""
