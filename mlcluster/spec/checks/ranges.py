"""Ranges of IP addresses, as people write them."""

import ipaddress
from collections.abc import Generator

from mlcluster.spec.document import Loc, Problem

Range = ipaddress.IPv4Network | ipaddress.IPv6Network


def address_range(loc: Loc, text: str, example: str) -> Generator[Problem, None, Range | None]:
    """Yield what is wrong with a range; return it, None where something is."""
    try:
        meant = ipaddress.ip_network(text, strict=False)
    except ValueError:
        yield Problem(loc, f'"{text}" is not an address range', f"for example {example}")
        return None
    if "/" in text and ipaddress.ip_interface(text).ip == meant.network_address:
        return meant
    yield Problem(loc, f"{text} is an address inside a range, not a range", f"did you mean {meant}?")
    return None
