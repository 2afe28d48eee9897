"""Fields of the spec as text for a terminal and as data for `-o json`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mlcluster.report.tables import Page, table
from mlcluster.spec.field_reference import FieldReference, effective_default, in_yaml, spelled
from mlcluster.spec.schema import first_sentence


def fields_text(found: Sequence[FieldReference], inside: Sequence[FieldReference], *, color: bool, width: int) -> str:
    """Return the facts of a field, and a row for each field inside it.

    Args:
        found: the field; several where it differs between targets; empty for the top level.
        inside: the fields inside it.
        color: whether the terminal takes colors.
        width: the columns of the terminal.
    """
    page = Page(color=color, width=width)
    for field in found:
        _print_field(page, field)
    if inside:
        holder = spelled((*found[0].path, *found[0].type.steps)) if found else "a spec"
        page.print(Text(f"Fields of {holder}", "bold"))
        page.print_whole(_children(inside))
    return page.text()


def fields_document(found: Sequence[FieldReference], inside: Sequence[FieldReference]) -> dict[str, Any]:
    """Return `{apiVersion, kind: SpecFieldList, fields: [{path, type, ...}]}`.

    Args:
        found: the field; empty for the top level.
        inside: the fields inside it, which are listed under `fields` of their field.
    """
    fields = [{**_data(field), "fields": [_data(child) for child in field.fields]} for field in found]
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "SpecFieldList",
        "fields": fields or [_data(field) for field in inside],
    }


def type_text(field: FieldReference) -> str:
    """Return the type of a field with its constraints: `integer; 1 to 5,000`."""
    return "; ".join([field.type.name, *field.type.constraints])


def facts(field: FieldReference) -> Iterator[tuple[str, str]]:
    """Yield the label and the text of each fact of a field that has it."""
    yield "Type", type_text(field)
    if field.type.values:
        yield "Values", ", ".join(field.type.values)
    if field.doc.unit:
        yield "Unit", field.doc.unit
    default = effective_default(field)
    if field.required:
        yield "Required", "yes"
    elif default:
        yield "Default", default
    if not field.all_targets:
        yield "Targets", ", ".join(field.targets)
    if field.doc.example is not None:
        yield "Example", f"{field.key}: {in_yaml(field.doc.example)}"


def _print_field(page: Page, field: FieldReference) -> None:
    page.print(Text(field.name, "bold"))
    page.print(Padding(field.description, (0, 0, 0, 2)))
    page.print()
    rows = table("", "")
    rows.show_header = False
    for label, text in facts(field):
        rows.add_row(Text(f"  {label}:", "dim"), text)
    page.print(rows)
    page.print()


def _children(fields: Iterable[FieldReference]) -> Table:
    """Return a row for each field: its key, its type and the first sentence of its description."""
    rows = table("FIELD", "TYPE", "DESCRIPTION", folded=("DESCRIPTION",))
    for field in fields:
        mark = " (required)" if field.required else ""
        targets = "" if field.all_targets else f" [{', '.join(field.targets)}]"
        rows.add_row(field.key, f"{field.type.name}{mark}", f"{first_sentence(field.description)}{targets}")
    return rows


def _data(field: FieldReference) -> dict[str, Any]:
    """Return the facts of a field without the fields inside it."""
    return {
        "path": field.name,
        "type": field.type.name,
        "required": field.required,
        "description": field.description,
        "values": list(field.type.values),
        "constraints": list(field.type.constraints),
        "unit": field.doc.unit,
        "default": field.default,
        "defaultText": effective_default(field),
        "targets": list(field.targets),
        "example": field.doc.example,
    }
