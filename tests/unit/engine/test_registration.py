"""Registration of a plan's objects as Pulumi resources."""

import asyncio
import importlib.metadata
import importlib.util
import sys
from collections.abc import Mapping
from graphlib import CycleError
from pathlib import Path
from typing import Any

import pulumi
import pytest

from mlcluster.engine import programs
from mlcluster.errors import MlclusterError
from mlcluster.plan.model import PlanObject, PlanRelease
from mlcluster.plan.values import Joined, JsonText, Ref
from stacks import registration
from stacks.references import exported

pytestmark = pytest.mark.unit
NOTHING = exported({})
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


def make_release(id: str = "Release/gpu-operator", **fields: Any) -> PlanRelease:  # noqa: A002 - the field's name
    """Return a release of a plan."""
    given = {"values": {}, "needs": (), "realisation": "helm", "repository": "https://charts.example", **fields}
    name = "gpu-operator"
    return PlanRelease(
        id=id, name=name, chart=given.pop("chart", name), version="v1.2.3", namespace=name, spec_path=(), **given
    )


def make_object(id: str, needs: tuple[str, ...] = (), manifest: Mapping[str, Any] = CONFIG_MAP) -> PlanObject:  # noqa: A002
    """Return an object of a plan."""
    return PlanObject(id, {**manifest}, needs, ())


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1", "Namespace"),
        ("v1", "ResourceQuota"),
        ("v1", "Node"),
        ("apps/v1", "Deployment"),
        ("batch/v1", "Job"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
        ("scheduling.k8s.io/v1", "PriorityClass"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ],
)
def test_type_tokens_match_the_sdk(version: str, kind: str) -> None:
    found = importlib.util.find_spec("pulumi_kubernetes")
    assert found is not None
    assert found.origin is not None
    group, _, number = version.rpartition("/")
    folder = group.split(".")[0] or "core"
    source = (Path(found.origin).parent / folder / number / f"{kind}.py").read_text()
    assert f"'{registration.type_token({'apiVersion': version, 'kind': kind})}'," in source


def test_custom_resources_keep_their_group() -> None:
    manifest = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue"}
    assert registration.type_token(manifest) == "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"


def test_requested_version_is_that_of_the_installed_sdk() -> None:
    assert importlib.metadata.version("pulumi-kubernetes") == registration.SDK_VERSION


def test_entries_are_registered_after_their_dependencies() -> None:
    entries, elsewhere = registration.platform_entries(
        [make_object("C", ("B", "Release/kueue")), make_object("B", ("A",)), make_object("A")],
        [make_release(id="Release/kueue", realisation="process")],
    )
    assert elsewhere == {"Release/kueue"}
    for listed in (entries, entries[::-1]):
        assert [entry.id for entry in registration.in_order(listed, elsewhere)] == ["A", "B", "C"]


def test_missing_and_circular_dependencies_are_errors() -> None:
    unknown, _ = registration.platform_entries([make_object("A", ("X",))], [])
    with pytest.raises(ValueError, match="A needs X"):
        registration.in_order(unknown)
    circle, _ = registration.platform_entries([make_object("A", ("B",)), make_object("B", ("A",))], [])
    with pytest.raises(CycleError):
        registration.in_order(circle)


def test_properties_of_a_release() -> None:
    entry = registration.release_entry(make_release(values={"a": 1}), NOTHING)
    assert entry.token == "kubernetes:helm.sh/v3:Release"
    assert entry.inputs["repositoryOpts"] == {"repo": "https://charts.example"}
    wanted = {"name": "gpu-operator", "version": "v1.2.3", "values": {"a": 1}, "skipAwait": False, "compat": "true"}
    assert {name: entry.inputs[name] for name in wanted} == wanted
    assert entry.timeouts is not None
    assert (
        "repositoryOpts"
        not in registration.release_entry(make_release(repository="", chart="oci://x/y"), NOTHING).inputs
    )


def test_only_releases_that_helm_installs_are_registered() -> None:
    releases = [make_release(id=f"Release/{kind}", realisation=kind) for kind in ("helm", "process", "present")]
    entries, elsewhere = registration.platform_entries([], releases)
    assert [entry.id for entry in entries] == ["Release/helm"]
    assert elsewhere == {"Release/process", "Release/present"}


def test_exports_of_the_cloud_stack_are_filled_into_manifests_and_values() -> None:
    volume, role = Ref("FileSystem/data", "id"), Ref("Role/atlas", "arn")
    objects = [
        make_object("A", ("FileSystem/data",), {"apiVersion": "v1", "kind": "ConfigMap", "data": {"id": volume}})
    ]
    releases = [
        make_release(values={"role": role, "both": Joined((volume, "/", role)), "text": JsonText({"role": role})})
    ]
    values = {"FileSystem/data": {"id": "fs-1"}, "Role/atlas": {"arn": "arn:x"}}
    (release, volumes), elsewhere = registration.platform_entries(objects, releases, values)
    assert release.inputs["values"] == {"role": "arn:x", "both": "fs-1/arn:x", "text": '{"role": "arn:x"}'}
    assert volumes.inputs["data"] == {"id": "fs-1"}
    assert [entry.id for entry in registration.in_order([volumes], elsewhere)] == ["A"]


def test_a_missing_export_is_named() -> None:
    with pytest.raises(ValueError, match=r"has not exported \$\{FileSystem/data.id\}"):
        registration.platform_entries([make_object("A", (), {"kind": "X", "a": Ref("FileSystem/data", "id")})], [], {})


def test_namespaces_have_a_deletion_timeout() -> None:
    entry = registration.object_entry(make_object("N", (), {"apiVersion": "v1", "kind": "Namespace"}), NOTHING)
    assert entry.timeouts is not None
    assert entry.timeouts.delete == "5m"


def test_fields_that_replace_an_object_come_from_the_plan() -> None:
    manifest = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1}
    entries, _ = registration.platform_entries(
        [make_object("A", (), manifest), make_object("B", (), manifest)], [], None, {"A": ("value",)}
    )
    assert {entry.id: entry.immutable for entry in entries} == {"A": ("value",), "B": ()}


def test_programs_are_loaded_from_a_wheels_data_directory_too(tmp_path: Path) -> None:
    (tmp_path / "platform").mkdir()
    (tmp_path / "registration.py").write_text("WHERE = 'wheel'\n")
    program = "from stacks.registration import WHERE\n\ndef program() -> str:\n    return WHERE\n"
    (tmp_path / "platform" / "program.py").write_text(program)
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "stacks"}
    try:
        assert programs.load("platform", tmp_path).program() == "wheel"
        with pytest.raises(MlclusterError, match="has no program eks"):
            programs.load("eks", tmp_path)
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "stacks"]:
            del sys.modules[name]
        sys.modules.update(before)


def test_each_shipped_program_loads_and_has_its_project_file(project_root: Path) -> None:
    for name in ("platform", "local", "eks"):
        assert callable(programs.load(name).program)
        assert f"name: mlcluster-{name}\n" in (project_root / "stacks" / name / "Pulumi.yaml").read_text()


def test_only_releases_with_probes_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulated release has no pods to probe, and a preview sends no probes."""
    asked = make_release(id="Release/a", crds=("a.example.test",))
    answering = make_release(id="Release/b", webhook_probes=({"kind": "B"},), realisation="present")
    others = [make_release(id="Release/c"), make_release(id="Release/d", crds=("d",), realisation="simulated")]
    waits: list[str] = []
    gated = registration.gated_releases([asked, answering, *others], waits.append)
    monkeypatch.setattr(gated, "_wait", lambda need, resource: (need, resource))
    made: dict[str, Any] = {"Release/a": 1, "Release/c": 3, "Release/d": 4}
    needs = ["Release/a", "Release/b", "Release/c", "Release/d", "elsewhere"]
    assert gated.after(needs, made) == [("Release/a", 1), ("Release/b", None), 3, 4]
    monkeypatch.setattr("pulumi.runtime.is_dry_run", lambda: True)
    assert gated.after(needs, made) == [1, 3, 4]
    monkeypatch.undo()
    assert registration.gated_releases([asked], None).after(["Release/a"], made) == [1]


def test_values_with_a_secret_are_encrypted_in_the_state() -> None:
    values = {"grafana": {"adminPassword": "hunter2"}}
    plain, secret = make_release(values=values), make_release(values=values, overrides=(("grafana", "adminPassword"),))

    async def is_secret(release: PlanRelease) -> bool:
        given = registration.release_entry(release, str).inputs["values"]
        return isinstance(given, pulumi.Output) and await given.is_secret()

    assert not asyncio.run(is_secret(plain))
    assert asyncio.run(is_secret(secret))
