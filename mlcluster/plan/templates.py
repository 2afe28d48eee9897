"""The YAML files under `templates/` that become objects of a plan: policies, rules and CRDs.

A file is plain YAML that a reviewer reads as it is. The parts that depend on the plan are marked in four ways, and
a name that is not defined is an error:

- `${name}` in a text is replaced by a text of `Values.texts`, or by a named expression of `Values.expressions`.
  `${name(argument)}` passes an argument, which the expression calls `${it}`.
- `when: FLAG` in an item of a list keeps the item only if the flag is set, `unless: FLAG` only if it is not. A list of
  flags needs one that is set. An item that is not a mapping has the form `{when: FLAG, line: TEXT}`.
- `include: NAME` as an item is replaced by the items of a list of `Values.lists`; its other keys are added to each.
- `lines: [...]` in place of a text is replaced by the lines whose conditions hold, joined in order.

No Jinja2: a template that Jinja2 renders is YAML only afterwards, so neither editors nor tests can read it, and its
import alone takes longer than reading every file here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

from mlcluster.directories import packaged

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NAME = re.compile(r"\$\{(\w+)(?:\(([^{}]*)\))?\}")
_ARGUMENT = "${it}"
CONDITIONS = ("when", "unless")


class TemplateError(Exception):
    """A template and the values for it do not fit: a defect of mlcluster."""


@dataclass(frozen=True, slots=True)
class Values:
    """The names that a template may refer to.

    Attributes:
        flags: every flag that `when` and `unless` may name.
        texts: name -> text, e.g. a CEL literal.
        expressions: name -> text, or a mapping with `lines`; they may refer to each other.
        lists: name -> items for `include`.
    """

    flags: Mapping[str, bool] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    expressions: Mapping[str, Any] = field(default_factory=dict)
    lists: Mapping[str, list[Any]] = field(default_factory=dict)


@cache
def read(path: str) -> Any:
    """Return the content of a file below `templates/`. Each file is read once, so callers must not change it."""
    return yaml.load((packaged("templates") / path).read_text("utf-8"), Loader=_LOADER)  # noqa: S506 -- a safe loader


def filled(path: str, values: Values | None = None) -> Any:
    """Return the content of a file below `templates/`, filled with values. Default: of a file without placeholders."""
    return fill(read(path), values or Values())


def fill(template: Any, values: Values) -> Any:
    """Return a copy of a template with everything in it that depends on the plan.

    Raises:
        TemplateError: a name that is not defined, or an argument too many or too few.
    """
    if isinstance(template, str):
        return _text(template, values)
    if isinstance(template, list):
        return [fill(item, values) for item in _kept(template, values)]
    if isinstance(template, Mapping):
        if template.keys() == {"lines"}:
            return "\n".join(fill(template["lines"], values))
        return {key: fill(value, values) for key, value in template.items()}
    return template


def applies(conditions: Mapping[str, Any], values: Values) -> bool:
    """Return whether the `when` and the `unless` of a mapping, where it has them, let it into the plan."""
    wanted = conditions.get("when")
    return (wanted is None or _is_set(wanted, values)) and not (
        "unless" in conditions and _is_set(conditions["unless"], values)
    )


def _is_set(flags: str | list[str], values: Values) -> bool:
    named = [flags] if isinstance(flags, str) else flags
    found = [_found(values.flags, flag, "flag") for flag in named]  # each of them has to exist
    return any(found)


def _kept(items: list[Any], values: Values) -> Iterator[Any]:
    """Yield the items of a list whose conditions hold, without their conditions and with the included lists."""
    for item in items:
        if not isinstance(item, Mapping):
            yield item
        elif applies(item, values):
            bare = {key: value for key, value in item.items() if key not in CONDITIONS}
            if "include" in bare:
                included = _found(values.lists, bare.pop("include"), "list")
                yield from ({**entry, **bare} for entry in _kept(included, values))
            else:
                yield bare["line"] if bare.keys() == {"line"} else bare


def _text(text: str, values: Values) -> str:
    while "${" in text:  # an argument may itself be a name
        replaced = _NAME.sub(lambda found: _indented(found, _named(found[1], found[2], values)), text)
        if replaced == text:
            raise TemplateError(f"cannot read the placeholder in {text!r}")
        text = replaced
    return text


def _named(name: str, argument: str | None, values: Values) -> str:
    if name in values.texts and argument is None:
        return values.texts[name]
    expression = _found(values.expressions, name, "expression")
    lines = expression["lines"] if isinstance(expression, Mapping) else [expression]
    found = "\n".join(_kept(lines, values))
    if (_ARGUMENT in str(expression)) != (argument is not None):
        raise TemplateError(f"the expression {name} has an argument too many or too few")
    return _text(found.replace(_ARGUMENT, argument or ""), values)


def _indented(place: re.Match[str], inserted: str) -> str:
    """Return the text for a placeholder, with its later lines indented below the line of the placeholder."""
    line = place.string[: place.start()].rpartition("\n")[2]
    return inserted.replace("\n", "\n  " + " " * (len(line) - len(line.lstrip())))


def _found(known: Mapping[str, Any], name: str, kind: str) -> Any:
    try:
        return known[name]
    except KeyError:
        raise TemplateError(f"no {kind} is called {name}; there are {', '.join(sorted(known))}") from None
