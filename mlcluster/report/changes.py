"""The changes of a preview as lines of text."""

from collections.abc import Iterable

from mlcluster.engine.events import Change, Changes

SIGNS = {"create": "+", "update": "~", "replace": "±", "delete": "-"}
COLORS = {"create": "32", "update": "33", "replace": "35", "delete": "31"}
MOST_LINES = 60
MOST_PATHS = 4


def changes_text(title: str, changes: Changes, *, color: bool) -> str:
    """Return the changes of one stack: long runs of one kind are counted, not listed. Ends without a line end."""
    if not changes:
        return f"{title}: nothing to change ({changes.counts.get('same', 0)} as they are)"
    lines = [f"{title}: {counted(changes)}"]
    listed = changes.effective
    if len(listed) > MOST_LINES:
        return "\n".join([*lines, *_by_kind(listed)])
    return "\n".join([*lines, *(_line(change, color=color) for change in listed)])


def counted(changes: Changes) -> str:
    """Return how many of each: 3 to create, 1 to update, 40 as they are."""
    counts = changes.counts
    parts = [f"{counts[op]} to {op}" for op in SIGNS if counts.get(op)]
    return ", ".join([*parts, *([f"{counts['same']} as they are"] if counts.get("same") else [])])


def change_document(change: Change) -> dict[str, object]:
    """One change as data."""
    return {
        "id": change.id,
        "type": change.type,
        "op": change.op,
        "paths": list(change.paths),
        "replacesBecause": list(change.replaces_because),
    }


def _line(change: Change, *, color: bool) -> str:
    sign = SIGNS.get(change.op, "?")
    paths = [path for path in change.paths if not path.startswith("__")]
    shown = ", ".join(paths[:MOST_PATHS]) + (f" and {len(paths) - MOST_PATHS} more" if len(paths) > MOST_PATHS else "")
    keys = change.replaces_because if change.op == "replace" else ()
    because = f"  (replaced because of {', '.join(keys)})" if keys else ""
    what = f"  {shown}" if change.op == "update" and shown else because
    line = f"  {sign} {change.id}{what}"
    return f"\x1b[{COLORS[change.op]}m{line}\x1b[0m" if color and change.op in COLORS else line


def _by_kind(changes: Iterable[Change]) -> list[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        groups.setdefault((change.op, change.identity.kind), []).append(change.id)
    return [
        f"  {SIGNS.get(op, '?')} {len(ids)} {kind}: {', '.join(ids[:3])}{' ...' if len(ids) > 3 else ''}"
        for (op, kind), ids in sorted(groups.items())
    ]
