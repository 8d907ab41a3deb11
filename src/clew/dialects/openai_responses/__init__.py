"""The dialect `openai-responses`: OpenAI's Responses API."""

from __future__ import annotations

from typing import Final

from clew.dialects.openai.errors import STATUSES, read_error, response_headers, write_error
from clew.dialects.openai_responses.answers import counts_tokens, read_answer, write_answer, write_count, write_count_request
from clew.dialects.openai_responses.detail import DIALECT_NAME, client_path
from clew.dialects.openai_responses.endings import is_told_in_stream
from clew.dialects.openai_responses.options import ResponsesOptions, options_of
from clew.dialects.openai_responses.passed_deltas import passed_deltas
from clew.dialects.openai_responses.request_repairs import REPAIRS
from clew.dialects.openai_responses.requests import PATHS, ROUTES, read_request, request_headers, session_of, write_request
from clew.dialects.openai_responses.stored import STORED
from clew.dialects.openai_responses.stream_writer import ResponsesStreamWriter
from clew.dialects.openai_responses.streams import ResponsesStreamReader
from clew.dialects.shape import Dialect

__all__ = ["DIALECT", "ResponsesOptions"]

DIALECT: Final = Dialect[ResponsesOptions](
    name=DIALECT_NAME,
    routes=ROUTES,
    session_of=session_of,
    read_request=read_request,
    stream_writer=ResponsesStreamWriter,
    write_answer=write_answer,
    write_count=write_count,
    write_error=write_error,
    client_path=client_path,
    statuses=STATUSES,
    is_told_in_stream=is_told_in_stream,
    seals_whole_blocks=True,
    stored=STORED,
    paths=PATHS,
    request_headers=request_headers,
    write_request=write_request,
    write_count_request=write_count_request,
    counts_tokens=counts_tokens,
    stream_reader=ResponsesStreamReader,
    read_answer=read_answer,
    read_error=read_error,
    response_headers=response_headers,
    always_returns_payloads=True,
    options_of=options_of,
    passed_deltas=passed_deltas,
    passthrough=lambda options: None,
    repairs=REPAIRS,
)
