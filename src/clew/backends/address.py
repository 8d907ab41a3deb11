"""May this URL be called? Decided from the URL alone, when a config is read.

A base URL comes from the operator, so private networks and this machine are fine. Refused are URLs that no operator means:
addresses that hand out a cloud machine's credentials, spellings of an address that readers disagree about, and anything that
could make one part of a program see another host than the next. Only the first kind can be allowed.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

_PLAIN: Final = re.compile(r"[!-~]+")
_NAME: Final = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?)*", re.I)
_AUTHORITY: Final = re.compile(r"(\[[^\[\]]+\]|[^\[\]:]+)(:[0-9]{1,5})?")
_LOOSE_NUMBER: Final = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.I)
"""A part of an address, for old readers of addresses."""

_METADATA: Final = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_SHARED: Final = IPv4Network("100.64.0.0/10")
"""Carrier-grade NAT; some clouds keep their metadata there."""
_AWS_V6: Final = IPv6Address("fd00:ec2::254")
"""The metadata service of one cloud, on IPv6."""


def url_fault(url: str, *, allow_private: bool = False) -> str:
    """What is wrong with a base URL, and how to write it; "" if it may be called."""
    if not _PLAIN.fullmatch(url) or "\\" in url:
        return "a URL must not contain spaces, control characters, backslashes or letters outside of ASCII"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        return f"it cannot be read: {error}"
    if parts.scheme not in ("http", "https") or not host:
        return "it must begin with http:// or https:// and a host"
    if "@" in parts.netloc:
        return "a URL must not contain credentials: put the key into the setting `key`"
    if not _AUTHORITY.fullmatch(parts.netloc):
        return "only a port may follow the host"
    if parts.query or parts.fragment or "?" in url or "#" in url:
        return "a base URL must not contain ? or #"
    return _host_fault(host, allow_private=allow_private)


def is_local(url: str) -> bool:
    """Whether the URL's host is this machine."""
    host = urlsplit(url).hostname or ""
    address = _address(host)
    return address.is_loopback if address else host == "localhost"


def _host_fault(host: str, *, allow_private: bool) -> str:
    address = _address(host)
    if address is None:
        if all(_LOOSE_NUMBER.fullmatch(part) for part in host.split(".")):
            return f"programs read the address {host} differently: write four decimal numbers"
        if not _NAME.fullmatch(host):
            return f"{host!r} is not a host name"
        if host.lower() in _METADATA and not allow_private:
            return f"{host} gives out the credentials of a cloud machine: set allow_private = true if you really want it"
        return ""
    if address.is_unspecified or address.is_multicast:
        return f"{host} is not an address that can be called"
    if isinstance(address, IPv6Address):
        # An IPv4 address inside: mapped, 6to4, Teredo, NAT64.
        if address.ipv4_mapped or address.sixtofour or address.teredo or address in _NAT64:
            return "" if allow_private else f"{host} stands for another address: write that address"
        is_special = address.is_link_local or address.is_site_local or address == _AWS_V6
    else:
        is_special = address.is_link_local or address in _SHARED or address.is_reserved
    if is_special and not allow_private:
        return f"{host} is a link-local or shared address: set allow_private = true if you really want it"
    return ""


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
