"""Checks of IP address ranges."""

import ipaddress
from collections.abc import Generator

from mlcluster.spec.document import Loc, Problem

Range = ipaddress.IPv4Network | ipaddress.IPv6Network


def address_range(loc: Loc, text: str, example: str) -> Generator[Problem, None, Range | None]:
    """Yield the problem of an IP address range; return the range, or None with a problem."""
    try:
        meant = ipaddress.ip_network(text, strict=False)
    except ValueError:
        yield Problem(loc, f'expected an IP address range, got "{text}"', f"For example {example}")
        return None
    if "/" in text and ipaddress.ip_interface(text).ip == meant.network_address:
        return meant
    yield Problem(loc, f"expected an IP address range, got {text}, an address inside a range", f"Did you mean {meant}?")
    return None
