"""pydantic's errors as problems in our words, by one table of error types."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mlcluster.spec.document import Document, Loc, Problem
from mlcluster.spec.masking import is_secret
from mlcluster.spec.patterns import PATTERNS
from mlcluster.spec.scalars import kind_of
from mlcluster.spec.schema import allowed_shapes, allowed_words, described, known_keys
from mlcluster.spec.suggestions import did_you_mean, listed, rewritten

PydanticError = Mapping[str, Any]
KINDS = ("eks", "existing", "local")
_EXAMPLES = {
    "nodePools": "- {name: train, instanceType: p5.48xlarge, maxSize: 8}",
    "guarantee": "{train: {nodes: 4}}",
    "borrow": "{train: {nodes: 2}}",
    "lend": "{train: {nodes: 2}}",
    "egress": "[10.0.0.0/8]",
    "labels": "{ml-purpose: training}",
    "metadata": "{name: atlas}",
}
_TARGETS = {
    "aws": "eks", "amazon": "eks", "gke": "existing", "aks": "existing", "kubernetes": "existing",
    "kubeadm": "existing", "kind": "local", "minikube": "local", "k3d": "local", "lab": "local", "kwok": "local",
}  # fmt: skip


def shape_problems(document: Document, errors: Iterable[PydanticError]) -> list[Problem]:
    """One problem for every error of pydantic, without those about values that could not be read anyway.

    Args:
        document: what was validated.
        errors: `ValidationError.errors()`.
    """
    unread = {problem.loc for problem in document.problems if problem.loc and not problem.key}
    problems: dict[tuple[Loc, str], Problem] = {}
    for error in errors:
        problem = _Error(document, error).problem()
        if problem.loc not in unread:
            problems.setdefault((problem.loc, problem.message), problem)
    return _without_misspelt(list(problems.values()))


def _without_misspelt(problems: list[Problem]) -> list[Problem]:
    """Without the key that is missing only because it is misspelt: that is said at the misspelt one."""
    said = {(problem.loc[:-1], problem.hint) for problem in problems}
    return [
        problem
        for problem in problems
        if (problem.loc, f"did you mean {problem.message.removesuffix(' is missing')}?") not in said
    ]


class _Error:
    """One error of pydantic with the place that it is about."""

    def __init__(self, document: Document, error: PydanticError) -> None:
        self.document = document
        self.type = str(error["type"])
        self.ctx: Mapping[str, Any] = error.get("ctx", {})
        self.text = str(error["msg"])
        self.about_key = error["loc"][-1:] == ("[key]",)
        self.loc = _written(error["loc"])
        self.value = error["input"]

    def problem(self) -> Problem:
        word = _WORDING.get(self.type)
        if word is None and self.type.endswith(("_type", "_parsing", "_from_float")):
            word = _wrong_type
        return word(self) if word else Problem(self.loc, self.text[:1].lower() + self.text[1:], key=self.about_key)

    def shown(self) -> str:
        """The value for a message: as written, shortened, never a secret."""
        raw = str(self.loc[-1]) if self.about_key else self.document.raw(self.loc)
        if is_secret(self.loc, raw):
            return "this value"
        cut = raw if len(raw) <= 60 else f"{raw[:57]}..."
        return f'"{cut}"' if isinstance(self.value, str) else cut


def _written(loc: Loc) -> Loc:
    """Pydantic's path without union tags and its mark for keys."""
    tagged = 1 if loc[0:1] == ("target",) and len(loc) > 1 else None
    return tuple(
        part
        for index, part in enumerate(loc)
        if index != tagged and part != "[key]" and not (isinstance(part, str) and part.startswith("<"))
    )


def _missing(error: _Error) -> Problem:
    data, name = error.document.data, error.loc[-1]
    words = allowed_words(error.loc, data)
    what = " or ".join(words) if words else _starting_small(described(error.loc, data))
    return Problem(error.loc[:-1], f"{name} is missing", f"add {name}: {what}" if what else "", key=True)


def _starting_small(text: str) -> str:
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _unknown_key(error: _Error) -> Problem:
    key, holder = str(error.loc[-1]), error.loc[:-1]
    data = error.document.data
    known = known_keys(holder, data)
    inside = next((name for name in known if key in known_keys((*holder, name), data)), "")
    of_other = [
        kind for kind in KINDS if holder == ("target",) and key in known_keys(holder, {"target": {"kind": kind}})
    ]
    if of_other:
        noun = "target has" if len(of_other) == 1 else "targets have"
        hint = f"remove it; only the {' and '.join(of_other)} {noun} this key"
        return Problem(error.loc, f"unknown key on target {data['target']['kind']}", hint, key=True)
    if inside:
        return Problem(error.loc, "unknown key", f"it belongs under {inside}", key=True)
    hint = did_you_mean(key, known, otherwise=f"known here: {listed(known, 20)}")
    return Problem(error.loc, "unknown key", hint, key=True)


def _not_a_choice(error: _Error) -> Problem:
    words = allowed_words(error.loc, error.document.data)
    if isinstance(error.value, int) and not isinstance(error.value, bool) and all(map(str.isdecimal, words)):
        larger = min((number for number in map(int, words) if number > error.value), default=int(words[-1]))
        return Problem(error.loc, f"{error.shown()} is not one of {listed(words, 20)}", f"for example {larger}")
    if not isinstance(error.value, str):
        return _wrong_type(error)
    if len(words) == 1 and not error.about_key:
        return Problem(error.loc, f"{error.shown()} is not {words[0]}", f"write {words[0]}")
    known = listed(words)
    shapes = "".join(f" or {shape}" for shape in allowed_shapes(error.loc, error.document.data))
    hint = did_you_mean(error.value, words)
    return Problem(error.loc, f"{error.shown()} is not one of {known}{shapes}", hint)


def _wrong_kind(error: _Error) -> Problem:
    """The target's kind is not one of ours; the other unions are by shape, and every shape has its branch or none."""
    if error.loc != ("target",):
        return _wrong_type(error)
    loc, kinds = ("target", "kind"), [word.strip("'") for word in str(error.ctx["expected_tags"]).split(", ")]
    kind = error.document.value(loc)
    if not isinstance(kind, str):
        return Problem(loc, f"must be one of {listed(kinds)}, and is {kind_of(kind)}")
    hint = f"use {_TARGETS[kind.lower()]}" if kind.lower() in _TARGETS else did_you_mean(kind, kinds)
    return Problem(loc, f'"{kind[:60]}" is not one of {listed(kinds)}', hint)


def _no_kind(error: _Error) -> Problem:
    if not isinstance(error.value, dict):
        return _wrong_type(error)
    return Problem(error.loc, "kind is missing", f"add kind: {' or '.join(KINDS)}", key=True)


def _wrong_type(error: _Error) -> Problem:
    expected = _expected(error)
    if error.value is None:
        return Problem(error.loc, f"is empty; it must be {expected}", "give a value or remove the key", key=True)
    raw = error.document.raw(error.loc)
    shown = f" ({error.shown()})" if raw and not isinstance(error.value, bool) and not is_secret(error.loc, raw) else ""
    is_what = raw if isinstance(error.value, bool) else kind_of(error.value)
    return Problem(error.loc, f"must be {expected}, and is {is_what}{shown}", _type_hint(error, raw))


def _expected(error: _Error) -> str:
    words = allowed_words(error.loc, error.document.data)
    if words:
        return " or ".join([listed(words), *allowed_shapes(error.loc, error.document.data)])
    names = {
        "string_type": "a string", "int_type": "a whole number", "int_from_float": "a whole number",
        "float_type": "a number", "float_parsing": "a number", "int_parsing": "a whole number",
        "bool_type": "true or false", "list_type": "a list", "dict_type": "a mapping", "model_type": "a mapping",
    }  # fmt: skip
    return names.get(error.type, "") or " or ".join(allowed_shapes(error.loc, error.document.data)) or "something else"


def _type_hint(error: _Error, raw: str) -> str:
    if is_secret(error.loc, raw):
        return ""
    if error.loc == ("target",):
        return f"write {{kind: {raw}}}" if raw in KINDS else f"a mapping with kind: {listed(KINDS)}"
    if error.loc[-1:] and error.loc[-1] in _EXAMPLES:
        return f"for example {_EXAMPLES[str(error.loc[-1])]}"
    keys = known_keys(error.loc, error.document.data)
    if keys:
        return f"write {{nodes: {raw[:10]}}}" if "nodes" in keys and raw.isdecimal() else f"keys: {listed(keys)}"
    return rewritten(error.type, raw) if raw else ""


def _pattern(error: _Error) -> Problem:
    meaning, example = PATTERNS.get(str(error.ctx.get("pattern")), ("of the form that is asked for", ""))
    hint = f"for example {example}" if example else ""
    if error.value == "" and not error.about_key:
        return Problem(error.loc, f"is empty; it must be {meaning}", hint)
    return Problem(error.loc, f"{error.shown()} is not {meaning}", hint, key=error.about_key)


def _too_long(error: _Error) -> Problem:
    most = error.ctx["max_length"]
    if isinstance(error.value, str):
        message = f"has {len(error.value)} characters; at most {most} are allowed"
    else:
        message = f"has {len(error.value)} entries; at most {most} are allowed"
    return Problem(error.loc, message, key=error.about_key)


def _too_short(error: _Error) -> Problem:
    least = error.ctx["min_length"]
    if not error.value:
        return Problem(error.loc, "is empty", _at_least(least, error.value), key=error.about_key)
    message = f"is too short: {len(error.value)} of at least {least}"
    return Problem(error.loc, message, _at_least(least, error.value), key=error.about_key)


def _at_least(least: int, value: object) -> str:
    unit = "character" if isinstance(value, str) else "entry"
    return f"give at least {least} {unit if least == 1 else unit.replace('entry', 'entrie') + 's'}"


def _bound(words: str, key: str) -> "Callable[[_Error], Problem]":
    def problem(error: _Error) -> Problem:
        limit = error.ctx[key]
        shown = f"{int(limit):,}" if limit == int(limit) else str(limit)
        return Problem(error.loc, f"{error.shown()} is out of range; it must be {words} {shown}")

    return problem


_WORDING: dict[str, Callable[[_Error], Problem]] = {
    "missing": _missing,
    "extra_forbidden": _unknown_key,
    "literal_error": _not_a_choice,
    "union_tag_invalid": _wrong_kind,
    "union_tag_not_found": _no_kind,
    "string_pattern_mismatch": _pattern,
    "string_too_long": _too_long,
    "too_long": _too_long,
    "string_too_short": _too_short,
    "too_short": _too_short,
    "greater_than": _bound("more than", "gt"),
    "greater_than_equal": _bound("at least", "ge"),
    "less_than": _bound("less than", "lt"),
    "less_than_equal": _bound("at most", "le"),
}
