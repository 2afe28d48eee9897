"""The plan's document as YAML."""

from mlcluster.plan.document import to_document
from mlcluster.plan.model import Plan


def to_yaml(plan: Plan) -> str:
    """The same document as `-o json`, in YAML, in the plan's own order and without aliases."""
    import yaml

    class Dumper(yaml.CSafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            del data
            return True

    return yaml.dump(to_document(plan), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=4096)
