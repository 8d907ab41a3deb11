"""The dialect `openai-chat`: Chat Completions."""

from __future__ import annotations

from typing import Final

from clew.dialects.openai.errors import STATUSES, read_error, response_headers, write_error
from clew.dialects.openai_chat.answers import read_answer, write_answer
from clew.dialects.openai_chat.client_parts import tool_id
from clew.dialects.openai_chat.detail import client_path
from clew.dialects.openai_chat.options import ChatOptions, options_of
from clew.dialects.openai_chat.repairs import REPAIRS
from clew.dialects.openai_chat.request_reader import NAME
from clew.dialects.openai_chat.requests import PATHS, ROUTES, read_request, request_headers, session_of, write_request
from clew.dialects.openai_chat.streams import ChatStreamReader, ChatStreamWriter
from clew.dialects.shape import Dialect

__all__ = ["DIALECT", "ChatOptions"]

DIALECT: Final = Dialect[ChatOptions](
    name=NAME,
    routes=ROUTES,
    session_of=session_of,
    read_request=read_request,
    stream_writer=ChatStreamWriter,
    write_answer=write_answer,
    write_error=write_error,
    client_path=client_path,
    statuses=STATUSES,
    seals_whole_blocks=True,
    joins_texts=True,
    tool_id=tool_id,
    paths=PATHS,
    request_headers=request_headers,
    write_request=write_request,
    stream_reader=ChatStreamReader,
    read_answer=read_answer,
    read_error=read_error,
    response_headers=response_headers,
    always_returns_payloads=True,
    options_of=options_of,
    passthrough=lambda options: None,
    repairs=REPAIRS,
)
