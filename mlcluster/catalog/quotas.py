"""EC2 service quotas of vCPUs by instance family (quotas.json)."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_LETTERS = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota of the service "ec2", counted in vCPUs per region.

    Attributes:
        code: e.g. "L-417A185B".
        name: as Service Quotas shows it.
    """

    code: str
    name: str


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name("quotas.json").read_text("utf-8"))
    return found


@cache
def _family_of() -> dict[str, str]:
    return {letters: family for family, all_letters in _data()["families"].items() for letters in all_letters}


def vcpu_quota(instance_type: str, *, spot: bool) -> Quota | None:
    """Return the quota that instances of this type count against; None when unknown.

    Args:
        instance_type: e.g. "p5.48xlarge".
        spot: whether they are spot instances; all else counts as on demand.
    """
    letters = _LETTERS.match(instance_type)
    family = _family_of().get(letters.group()) if letters else None
    found = _data()["spot" if spot else "onDemand"].get(family)
    return Quota(found["code"], found["name"]) if found else None
