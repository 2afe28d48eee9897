"""Metrics and labels of PromQL queries, without a parser: promtool has the real parser (tests/engine/test_rules.py)."""

import re

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELECTOR = re.compile(r"\{[^{}]*\}")
_RANGE = re.compile(r"\[[^\[\]]*\]")
_LABELS = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)")
_LABEL_NAME = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)")
_MATCHER = re.compile(r"([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)")
_WORD = re.compile(r"(?<![\w:.])([a-zA-Z_:][\w:]*)(\s*\()?")
_WORDS = frozenset({"and", "or", "unless", "offset", "bool", "by", "without", "on", "ignoring"})


def metrics(query: str) -> set[str]:
    """Return names of the metrics that a query reads."""
    bare = _LABELS.sub(" ", _RANGE.sub(" ", _SELECTOR.sub(" ", _STRING.sub('""', query))))
    bare = re.sub(r"\boffset\s+\w+", " ", bare)
    return {word for word, call in _WORD.findall(bare) if not call and word not in _WORDS}


def labels(query: str) -> set[str]:
    """Return names of the labels that a query matches or groups by."""
    plain = _STRING.sub('""', query)
    grouped = {name.strip() for _, names in _LABEL_NAME.findall(plain) for name in names.split(",") if name.strip()}
    matched = {name for selector in _SELECTOR.findall(plain) for name in _MATCHER.findall(selector)}
    return grouped | matched


def is_balanced(query: str) -> bool:
    """Return whether every bracket has its other half."""
    plain, open_ = _STRING.sub('""', query), []
    pairs = {")": "(", "]": "[", "}": "{"}
    for character in plain:
        if character in pairs.values():
            open_.append(character)
        elif character in pairs and (not open_ or open_.pop() != pairs[character]):
            return False
    return not open_
