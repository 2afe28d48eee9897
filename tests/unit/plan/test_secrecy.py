"""Secrets that a spec passes to a chart: reported, hidden in every plan, encrypted in the state."""

import json
from typing import Any

import pytest

from mlcluster.plan import build
from mlcluster.plan.document import to_json
from mlcluster.plan.secrecy import HIDDEN, secret_overrides, shown_values
from mlcluster.rules import findings
from mlcluster.spec.cluster import ClusterSpec
from tests.specs import EXISTING, SYSTEM, checked, cluster, planned

pytestmark = pytest.mark.unit

VALUES: dict[str, Any] = {
    "grafana": {"adminPassword": "hunter2", "replicas": 1},
    "alertmanager": {"config": {"receivers": [{"name": "mail", "email_configs": [{"auth_password": "sesame"}]}]}},
}


def spec() -> ClusterSpec:
    roomy = {**SYSTEM, "instanceType": "m7i.8xlarge"}
    return checked(cluster(roomy, target=EXISTING, components={"monitoring": {"values": VALUES}}))


def test_they_are_in_no_plan() -> None:
    plan = build(spec())
    release = next(release for release in plan.releases if release.name == "kube-prometheus-stack")
    text = to_json(plan)
    assert "hunter2" not in text
    assert "sesame" not in text
    assert release.values["grafana"]["adminPassword"] == "hunter2"
    shown = shown_values(release)
    assert (shown["grafana"]["adminPassword"], shown["grafana"]["replicas"]) == (HIDDEN, 1)
    assert secret_overrides(release) == (("alertmanager", "config", "receivers"), ("grafana", "adminPassword"))
    (listed,) = (one for one in json.loads(text)["releases"] if one["name"] == release.name)
    assert listed["values"]["alertmanager"]["config"]["receivers"][0]["name"] == "mail"


def test_configured_secret_values_are_reported() -> None:
    found = {finding.place[-1]: finding for finding in findings(build(spec()), spec()) if finding.id == "CMP002"}
    assert set(found) == {"adminPassword", "receivers"}
    assert not any(finding.blocks or "hunter2" in finding.message for finding in found.values())


def test_managed_values_are_shown() -> None:
    plan = planned(SYSTEM, target=EXISTING)
    assert all(shown_values(release) == release.values for release in plan.releases)


def test_a_key_with_dots_is_one_key() -> None:
    annotated = {"podAnnotations": {"example.com/password": "hunter2", "example.com/owner": "research"}}
    plan = planned(SYSTEM, target=EXISTING, components={"keda": {"values": annotated}})
    release = next(release for release in plan.releases if release.name == "keda")
    assert secret_overrides(release) == (("podAnnotations", "example.com/password"),)
    (listed,) = (one for one in json.loads(to_json(plan))["releases"] if one["name"] == "keda")
    assert listed["values"]["podAnnotations"] == {"example.com/password": HIDDEN, "example.com/owner": "research"}
    assert listed["overrides"] == ["podAnnotations.example.com/owner", "podAnnotations.example.com/password"]
