"""The plan's document as YAML."""

import io

from mlcluster.plan.document import to_document
from mlcluster.plan.model import Plan


def to_yaml(plan: Plan) -> str:
    """The same document as `-o json`, in YAML 1.2, in the plan's own order."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # typed as None, read as a flag
    yaml.width = 4096
    yaml.representer.ignore_aliases = lambda _: True
    text = io.StringIO()
    yaml.dump(to_document(plan), text)
    return text.getvalue()
