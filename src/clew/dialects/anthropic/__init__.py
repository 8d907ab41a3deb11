"""The dialect `anthropic`: the Messages API. Canonical values have its names, so most of it passes as bytes."""

from __future__ import annotations

from typing import Final

from clew.dialects.anthropic.answers import read_answer, read_error, write_answer, write_error
from clew.dialects.anthropic.passthrough import PASSTHROUGH
from clew.dialects.anthropic.requests import (
    PATHS,
    ROUTES,
    AnthropicOptions,
    options_of,
    read_request,
    request_headers,
    response_headers,
    session_of,
    write_count_request,
    write_request,
)
from clew.dialects.anthropic.streams import AnthropicStreamReader, AnthropicStreamWriter
from clew.dialects.shape import Dialect

__all__ = ["DIALECT", "AnthropicOptions"]

DIALECT: Final = Dialect[AnthropicOptions](
    name="anthropic",
    is_canonical=True,
    routes=ROUTES,
    session_of=session_of,
    read_request=read_request,
    stream_writer=AnthropicStreamWriter,
    write_answer=write_answer,
    write_error=write_error,
    paths=PATHS,
    request_headers=request_headers,
    write_request=write_request,
    write_count_request=write_count_request,
    stream_reader=AnthropicStreamReader,
    read_answer=read_answer,
    read_error=read_error,
    response_headers=response_headers,
    options_of=options_of,
    passthrough=lambda options: None if options.overlaps else PASSTHROUGH,
)
