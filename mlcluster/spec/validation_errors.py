"""Conversion of pydantic's validation errors into problems with messages and hints for users."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mlcluster.spec.document import Document, Loc, Problem
from mlcluster.spec.masking import is_secret
from mlcluster.spec.patterns import PATTERNS
from mlcluster.spec.scalars import described_value
from mlcluster.spec.schema import allowed_shapes, allowed_words, described, known_keys
from mlcluster.spec.suggestions import alternatives, did_you_mean, listed, nearest, rewritten

PydanticError = Mapping[str, Any]
KINDS = ("eks", "existing", "local")
_HIDDEN = "a hidden value"
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


def validation_problems(document: Document, errors: Iterable[PydanticError]) -> list[Problem]:
    """Return a problem for each validation error.

    Errors at values that the YAML reader could not read are left out.

    Args:
        document: the validated document.
        errors: `ValidationError.errors()`.
    """
    unread = {problem.loc for problem in document.problems if problem.loc and not problem.key}
    found = [_Error(document, error) for error in errors]
    misspelled = {error.meant() for error in found if error.type == "extra_forbidden"}
    problems: dict[tuple[Loc, str], Problem] = {}
    for error in found:
        if error.type == "missing" and error.loc in misspelled:
            continue  # the problem at the misspelled field covers it
        problem = error.problem()
        if problem.loc not in unread:
            problems.setdefault((problem.loc, problem.message), problem)
    return list(problems.values())


class _Error:
    """A validation error of pydantic and its place in the document."""

    def __init__(self, document: Document, error: PydanticError) -> None:
        self.document = document
        self.type = str(error["type"])
        self.ctx: Mapping[str, Any] = error.get("ctx", {})
        self.text = str(error["msg"])
        self.about_key = error["loc"][-1:] == ("[key]",)
        self.loc = _document_loc(error["loc"])
        self.value = error["input"]

    def meant(self) -> Loc:
        """Return the path of the known field that an unknown field most likely means; () without such a field."""
        guess = nearest(str(self.loc[-1]), known_keys(self.loc[:-1], self.document.data))
        return (*self.loc[:-1], guess) if guess else ()

    def problem(self) -> Problem:
        """Return the problem to report."""
        word = _WORDING.get(self.type)
        if word is None and self.type.endswith(("_type", "_parsing", "_from_float")):
            word = _wrong_type
        return word(self) if word else Problem(self.loc, self.text[:1].lower() + self.text[1:], key=self.about_key)

    def shown(self) -> str:
        """Return the value for a message: as in the file, shortened, without secrets."""
        raw = str(self.loc[-1]) if self.about_key else self.document.raw(self.loc)
        if is_secret(self.loc, raw):
            return _HIDDEN
        cut = raw if len(raw) <= 60 else f"{raw[:57]}..."
        return f'"{cut}"' if isinstance(self.value, str) else cut


def _document_loc(loc: Loc) -> Loc:
    """Return the path of an error without the union tags and the key marks of pydantic."""
    tagged = 1 if loc[0:1] == ("target",) and len(loc) > 1 else None
    return tuple(
        part
        for index, part in enumerate(loc)
        if index != tagged and part != "[key]" and not (isinstance(part, str) and part.startswith("<"))
    )


def _missing(error: _Error) -> Problem:
    data, name = error.document.data, error.loc[-1]
    words = allowed_words(error.loc, data)
    what = alternatives(words) if words else _starting_small(described(error.loc, data))
    return Problem(error.loc[:-1], f"{name} is missing", f"Add `{name}`: {what}" if what else "", key=True)


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
        verb = "supports" if len(of_other) == 1 else "support"
        hint = f"Remove it. Only {' and '.join(of_other)} {verb} this field"
        return Problem(error.loc, f"unknown field on target {data['target']['kind']}", hint, key=True)
    if inside:
        return Problem(error.loc, "unknown field", f"Move it under `{inside}`", key=True)
    hint = did_you_mean(key, known, otherwise=f"Known fields: {listed(known, 20)}")
    return Problem(error.loc, "unknown field", hint, key=True)


def _not_a_choice(error: _Error) -> Problem:
    words = allowed_words(error.loc, error.document.data)
    if isinstance(error.value, int) and not isinstance(error.value, bool) and all(map(str.isdecimal, words)):
        larger = min((number for number in map(int, words) if number > error.value), default=int(words[-1]))
        message = f"expected one of {listed(words, 20)}, got {error.shown()}"
        return Problem(error.loc, message, f"For example {larger}")
    if not isinstance(error.value, str):
        return _wrong_type(error)
    if len(words) == 1 and not error.about_key:
        return Problem(error.loc, f"expected {words[0]}, got {error.shown()}", f"Write {words[0]}")
    shapes = "".join(f" or {shape}" for shape in allowed_shapes(error.loc, error.document.data))
    message = f"expected one of {listed(words)}{shapes}, got {error.shown()}"
    return Problem(error.loc, message, did_you_mean(error.value, words))


def _unknown_kind(error: _Error) -> Problem:
    """Return the problem of an unknown `target.kind`; of other unions, whose branches differ by type, a type error."""
    if error.loc != ("target",):
        return _wrong_type(error)
    loc, kinds = ("target", "kind"), [word.strip("'") for word in str(error.ctx["expected_tags"]).split(", ")]
    kind = error.document.value(loc)
    if not isinstance(kind, str):
        return Problem(loc, f"expected one of {listed(kinds)}, got {described_value(kind)}")
    hint = f"Use `kind: {_TARGETS[kind.lower()]}`" if kind.lower() in _TARGETS else did_you_mean(kind, kinds)
    return Problem(loc, f'expected one of {listed(kinds)}, got "{kind[:60]}"', hint)


def _missing_kind(error: _Error) -> Problem:
    if not isinstance(error.value, dict):
        return _wrong_type(error)
    return Problem(error.loc, "kind is missing", f"Add `kind`: {alternatives(KINDS)}", key=True)


def _wrong_type(error: _Error) -> Problem:
    expected = _expected(error)
    if error.value is None:
        message = f"expected {expected}, got an empty value"
        return Problem(error.loc, message, "Set a value or remove the field", key=True)
    raw = error.document.raw(error.loc)
    shown = error.shown() if raw and not is_secret(error.loc, raw) else ""
    return Problem(error.loc, f"expected {expected}, got {described_value(error.value, shown)}", _type_hint(error, raw))


def _expected(error: _Error) -> str:
    words = allowed_words(error.loc, error.document.data)
    if words:
        return " or ".join([listed(words), *allowed_shapes(error.loc, error.document.data)])
    names = {
        "string_type": "a string", "int_type": "an integer", "int_from_float": "an integer",
        "float_type": "a number", "float_parsing": "a number", "int_parsing": "an integer",
        "bool_type": "true or false", "list_type": "a list", "dict_type": "a mapping", "model_type": "a mapping",
    }  # fmt: skip
    return names.get(error.type, "") or " or ".join(allowed_shapes(error.loc, error.document.data)) or "another type"


def _type_hint(error: _Error, raw: str) -> str:
    if is_secret(error.loc, raw):
        return ""
    if error.loc == ("target",):
        return f"Write `{{kind: {raw}}}`" if raw in KINDS else f"Write a mapping with `kind`: {alternatives(KINDS)}"
    if error.loc[-1:] and error.loc[-1] in _EXAMPLES:
        return f"For example `{_EXAMPLES[str(error.loc[-1])]}`"
    keys = known_keys(error.loc, error.document.data)
    if keys:
        return f"Write `{{nodes: {raw[:10]}}}`" if "nodes" in keys and raw.isdecimal() else f"Fields: {listed(keys)}"
    return rewritten(error.type, raw) if raw else ""


def _pattern(error: _Error) -> Problem:
    meaning, example = PATTERNS.get(str(error.ctx.get("pattern")), ("another format", ""))
    hint = f"For example {example}" if example else ""
    got = "an empty string" if error.value == "" and not error.about_key else error.shown()
    message = f"expected {meaning}" if got == _HIDDEN else f"expected {meaning}, got {got}"
    return Problem(error.loc, message, hint, key=error.about_key)


def _too_long(error: _Error) -> Problem:
    most = error.ctx["max_length"]
    message = f"expected at most {_counted(most, error.value)}, got {len(error.value):,}"
    return Problem(error.loc, message, key=error.about_key)


def _too_short(error: _Error) -> Problem:
    kind = "string" if isinstance(error.value, str) else "list" if isinstance(error.value, list) else "mapping"
    got = f"{len(error.value):,}" if error.value else f"an empty {kind}"
    message = f"expected at least {_counted(error.ctx['min_length'], error.value)}, got {got}"
    return Problem(error.loc, message, key=error.about_key)


def _counted(number: int, value: object) -> str:
    one, several = ("character", "characters") if isinstance(value, str) else ("entry", "entries")
    return f"{number:,} {one if number == 1 else several}"


def _bound(words: str, key: str) -> "Callable[[_Error], Problem]":
    def problem(error: _Error) -> Problem:
        limit = error.ctx[key]
        shown = f"{int(limit):,}" if limit == int(limit) else str(limit)
        return Problem(error.loc, f"expected a value {words} {shown}, got {error.shown()}")

    return problem


_WORDING: dict[str, Callable[[_Error], Problem]] = {
    "missing": _missing,
    "extra_forbidden": _unknown_key,
    "literal_error": _not_a_choice,
    "union_tag_invalid": _unknown_kind,
    "union_tag_not_found": _missing_kind,
    "string_pattern_mismatch": _pattern,
    "string_too_long": _too_long,
    "too_long": _too_long,
    "string_too_short": _too_short,
    "too_short": _too_short,
    "greater_than": _bound("greater than", "gt"),
    "greater_than_equal": _bound("of at least", "ge"),
    "less_than": _bound("less than", "lt"),
    "less_than_equal": _bound("of at most", "le"),
}
