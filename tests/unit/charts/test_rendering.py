"""Objects in the text that `helm template` prints."""

import pytest

from mlcluster.charts.rendering import documents
from mlcluster.plan.chart_facts import FROM_CRDS

pytestmark = pytest.mark.unit

TEXT = """\
---
# Source: one/crds/things.yaml
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.20.0
  name: things.example.com
spec: {}
---
# Source: one/templates/others.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: "others.example.com"
  annotations:
    helm.sh/resource-policy: keep
spec:
  names: {kind: Other}
---
# Source: one/templates/empty.yaml
---
# Source: one/templates/role.yaml
kind: ClusterRole
metadata:
  name: quiet
---
# Source: one/templates/hook.yaml
kind: ClusterRole
metadata:
  name: hook
  annotations:
    helm.sh/hook: pre-install
---
# Source: one/templates/list.yaml
kind: List
items:
  - kind: Service
    metadata: {name: front}
"""


def test_crds_are_read_by_name_and_other_objects_whole() -> None:
    things, others, hook, front = documents(TEXT)
    assert things["metadata"] == {"name": "things.example.com", "annotations": {FROM_CRDS: "true"}}
    assert others["metadata"] == {"name": "others.example.com", "annotations": {"helm.sh/resource-policy": "keep"}}
    assert hook["metadata"]["name"] == "hook"
    assert front == {"kind": "Service", "metadata": {"name": "front"}}
