"""The nearest of the words that would have been right."""

import difflib
from collections.abc import Iterable

_YES_NO = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


def nearest(word: str, known: Iterable[str]) -> str:
    """The one of `known` that `word` most likely means, or ""; case, dashes and underscores do not count."""
    by_letters: dict[str, str] = {}
    for candidate in known:
        by_letters.setdefault(_letters(candidate), candidate)
    letters = _letters(word[:100])
    if letters in by_letters:
        return by_letters[letters]
    close = difflib.get_close_matches(letters, by_letters, n=1, cutoff=0.6)
    return by_letters[close[0]] if close else ""


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """A hint: "did you mean X?", else `otherwise`."""
    found = nearest(word, known)
    return f"did you mean {found}?" if found else otherwise


def listed(words: Iterable[str], limit: int = 12) -> str:
    """`a, b, c`, cut after `limit` words."""
    every = list(words)
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + more


def rewritten(expected: str, raw: str) -> str:
    """How to write the scalar `raw` so that it has the type that pydantic's error type `expected` asks for, or ""."""
    number = raw.replace("_", "").replace(",", "")
    if expected in {"int_type", "float_type", "float_parsing", "int_parsing"}:
        return f"write {number[:20]} without quotes" if number.isdecimal() else ""
    if expected == "bool_type":
        return f"write {_YES_NO[raw.lower()]}" if raw.lower() in _YES_NO else ""
    forms = {"string_type": f'quote it: "{raw[:60]}"', "list_type": f"write [{raw[:60]}]"}
    return forms.get(expected, "")


def _letters(word: str) -> str:
    return "".join(character for character in word.lower() if character not in "-_ ")
