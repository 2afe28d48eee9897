"""The definition of NetworkAttachmentDefinition (multi-net-spec v1.3, section 3: a name and a CNI configuration)."""

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Manifest, PlanObject
from mlcluster.plan.objects import make, object_id

API = "k8s.cni.cncf.io/v1"
KIND = "NetworkAttachmentDefinition"
_PLURAL = "network-attachment-definitions"
_GROUP, _, _VERSION = API.partition("/")
DEFINITION = object_id("CustomResourceDefinition", f"{_PLURAL}.{_GROUP}")


def definition(context: ComponentContext) -> PlanObject:
    """The custom resource definition; the Network Operator's chart has the same one where that is installed."""
    text: Manifest = {"type": "string"}
    config = {**text, "description": "A CNI configuration, or a list of them, as JSON."}
    schema: Manifest = {
        "type": "object",
        "description": "A network beside the cluster's own, which pods join by an annotation.",
        "properties": {
            "apiVersion": text,
            "kind": text,
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": {"config": config}},
        },
    }
    body: Manifest = {
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {
                "plural": _PLURAL,
                "singular": "network-attachment-definition",
                "kind": KIND,
                "listKind": f"{KIND}List",
                "shortNames": ["net-attach-def"],
            },
            "versions": [{"name": _VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        }
    }
    return make(
        context.cluster,
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"{_PLURAL}.{_GROUP}",
        body,
        spec_path=context.spec_path("multus"),
    )
