"""Where in its document a raw value stands, without looking for it.

A `msgspec.Raw` is a view of the bytes that it was decoded from, but does not say where in them it begins. Both are buffers,
and the distance between two buffers is their offset. That saves a second scan of a document of megabytes when one value in
it has to go. The interpreter's own call gives the addresses; the bytes there are compared before anything relies on them,
so an implementation that copies (or another interpreter) costs time, and never a wrong edit.
"""

from __future__ import annotations

import ctypes

from msgspec import Raw

__all__ = ["offset_of"]


class _Buffer(ctypes.Structure):
    """`Py_buffer`, as the C API lays it out; only the address is read."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes = (ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int)
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = (ctypes.POINTER(_Buffer),)


def offset_of(value: Raw, document: bytes) -> int | None:
    """Where `value`, decoded from `document`, begins in it; None if it is no view of it."""
    start = _address(value) - _address(document)
    inside = 0 <= start <= len(document)
    return start if inside and document.startswith(bytes(value), start) else None


def _address(holder: Raw | bytes) -> int:
    buffer = _Buffer()
    _get(holder, ctypes.byref(buffer), 0)
    address = buffer.buf
    _release(ctypes.byref(buffer))
    return address or 0
