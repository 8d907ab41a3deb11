"""Signatures for `inspect.signature` and editors, of functions whose keywords are declared elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import NODEFAULT, Struct, structs

F = TypeVar("F", bound=Callable[..., Any])


def signed_like(method: Callable[..., Any]) -> Callable[[F], F]:
    """Gives a class method the signature of another one, with its own return type."""

    def signed(function: F) -> F:
        given = inspect.signature(function).return_annotation
        theirs = inspect.signature(getattr(method, "__func__", method))
        return _shown(function, theirs.replace(return_annotation=given))

    return signed


def shows_keywords(keywords: type, defaults: type[Struct]) -> Callable[[F], F]:
    """Gives a function with `**name: Unpack[keywords]` a signature with each keyword, and the default of the field of that
    name in `defaults`."""

    def shown(function: F) -> F:
        own = inspect.signature(function)
        known = {each.name: each for each in structs.fields(defaults)}
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(known[name]), annotation=annotation)
            for name, annotation in _annotations(keywords).items()
        ]
        rest = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        return _shown(function, own.replace(parameters=[*rest, *named]))

    return shown


def _shown(function: F, signature: inspect.Signature) -> F:
    setattr(function, "__signature__", signature)  # noqa: B010  (of any function, which its type does not know)
    return function


def _annotations(keywords: type) -> Mapping[str, str]:
    return {name: getattr(each, "__forward_arg__", str(each)) for name, each in keywords.__annotations__.items()}


def _default(field: structs.FieldInfo) -> object:
    if field.default is not NODEFAULT:
        return field.default
    return field.default_factory() if field.default_factory is not NODEFAULT else inspect.Parameter.empty
