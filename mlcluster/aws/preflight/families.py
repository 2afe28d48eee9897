"""The vCPU quota that an instance type counts against (Service Quotas, service ec2)."""

import re

_FAMILY = re.compile(r"^(inf|trn|dl|hpc|vt|mac|u|[a-z])")
_STANDARD = ("L-1216C47A", "L-34B43A08")
_CODES: dict[str, tuple[str, str | None]] = {
    **dict.fromkeys("acdhimrtz", _STANDARD),
    "g": ("L-DB2E81BA", "L-3819A6DF"),
    "vt": ("L-DB2E81BA", "L-3819A6DF"),
    "p": ("L-417A185B", "L-7212CCBC"),
    "inf": ("L-1945791B", "L-B5D1601B"),
    "trn": ("L-2C3B7624", "L-6B0D517C"),
    "dl": ("L-6E869C2A", "L-85EED4F7"),
    "f": ("L-74FC7D96", "L-88CF9481"),
    "x": ("L-7295265B", "L-E3A00192"),
    "hpc": ("L-F7808C92", None),
    "u": ("L-43DA4232", None),
}
"""Family -> code on demand, code of spot. Older accounts have a spot quota of its own for P5 (L-C4BD4855)."""


def vcpu_quota(name: str, *, spot: bool) -> str | None:
    """The quota code of an instance type, None when no quota of its family is known: ("p5.48xlarge", spot=False)."""
    found = _FAMILY.match(name)
    codes = _CODES.get(found.group()) if found else None
    return None if codes is None else codes[int(spot)]
