"""The plan's document as YAML."""

import re
from typing import Any

from mlcluster.plan.document import to_document
from mlcluster.plan.model import Plan

_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_OCTAL = re.compile(r"0o[0-7]+$")


def to_yaml(plan: Plan) -> str:
    """Return the same document as `-o json`, in YAML, in the plan's own order and without aliases."""
    return document_yaml(to_document(plan))


def document_yaml(document: dict[str, Any]) -> str:
    """Return a document in YAML, in its own order and without aliases."""
    import yaml

    class Dumper(yaml.CSafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            del data
            return True

    # libyaml quotes what YAML 1.1 would take for something else; these are numbers to YAML 1.2 only
    Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("+-.0123456789"))
    Dumper.add_implicit_resolver("tag:yaml.org,2002:int", _OCTAL, ["0"])
    return yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=4096)
