"""Suggestions for misspelled words and for values of a wrong type."""

import difflib
from collections.abc import Iterable, Sequence

_YES_NO = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most similar to `word`, or ""; case, dashes and underscores are ignored."""
    by_letters: dict[str, str] = {}
    for candidate in known:
        by_letters.setdefault(_letters(candidate), candidate)
    letters = _letters(word[:100])
    if letters in by_letters:
        return by_letters[letters]
    close = difflib.get_close_matches(letters, by_letters, n=1, cutoff=0.6)
    return by_letters[close[0]] if close else ""


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """Return the hint "Did you mean X?", or `otherwise` if no known word is similar."""
    found = nearest(word, known)
    return f"Did you mean {found}?" if found else otherwise


def alternatives(words: Sequence[str]) -> str:
    """Return `a, b or c`."""
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def listed(words: Iterable[str], limit: int = 12) -> str:
    """Return `a, b, c`, with the number of the other words after the first `limit` words."""
    every = list(words)
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + more


def rewritten(expected: str, raw: str) -> str:
    """Return the hint to write the scalar `raw` as the type of pydantic's error type `expected`, or ""."""
    number = raw.replace("_", "").replace(",", "")
    if expected in {"int_type", "float_type", "float_parsing", "int_parsing"}:
        return f"Write {number[:20]} without quotes" if number.isdecimal() else ""
    if expected == "bool_type":
        return f"Write {_YES_NO[raw.lower()]}" if raw.lower() in _YES_NO else ""
    forms = {"string_type": f'Quote it: "{raw[:60]}"', "list_type": f"Write [{raw[:60]}]"}
    return forms.get(expected, "")


def _letters(word: str) -> str:
    return "".join(character for character in word.lower() if character not in "-_ ")
