"""Foreign objects stay unchanged; managed objects are adopted again after a lost state."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pulumi import ResourceOptions
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace
from pulumi_kubernetes.helm.v3 import Release

from mlcluster.kube.client import Kube
from mlcluster.plan import names
from tests.fakes.provider_stack import Program, ProviderStack

pytestmark = pytest.mark.engine


def space(name: str, cluster: str = "", text: str = "ours") -> Program:
    def program(options: ResourceOptions) -> None:
        found = Namespace("space", metadata={"name": name, "labels": names.owned(cluster or name)}, opts=options)
        place = {"name": "map", "namespace": found.metadata.name, "labels": names.owned(cluster or name)}
        ConfigMap("map", metadata=place, data={"text": text}, opts=options)

    return program


def foreign(name: str, **metadata: object) -> dict[str, object]:
    place = {"name": "map", "namespace": name, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": {"text": "theirs"}}


@pytest.mark.parametrize(
    ("metadata", "whose"),
    [
        ({}, "the field manager kubectl"),
        ({"labels": {"app.kubernetes.io/managed-by": "flux"}}, "'flux'"),
        (
            {"annotations": {"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "n"}},
            "Helm release n/r",
        ),
        ({"labels": names.owned("another")}, "mlcluster, cluster 'another'"),
    ],
)
def test_a_foreign_object_is_refused_with_its_owner(
    stack: ProviderStack, kube: Kube, name: str, metadata: dict[str, object], whose: str
) -> None:
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": names.owned(name)}})
    kube.apply(foreign(name, **metadata), field_manager="kubectl")
    sentence = f"ConfigMap {name}/map: already exists and belongs to"
    for run in (stack.preview(space(name)), stack.up(space(name))):
        assert sentence in run.error
        assert whose in run.error
    live = kube.get_object("v1", "ConfigMap", "map", name)
    assert live is not None
    assert live["data"] == {"text": "theirs"}


def test_managed_objects_are_adopted_after_the_state_was_lost(stack: ProviderStack, kube: Kube, name: str) -> None:
    stack.up(space(name))
    before = kube.get_object("v1", "ConfigMap", "map", name)
    stack.forget()
    run = stack.up(space(name, text="again"))
    assert run.error == ""
    after = kube.get_object("v1", "ConfigMap", "map", name)
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["data"] == {"text": "again"}


def test_an_object_that_is_no_longer_managed_is_not_deleted(stack: ProviderStack, kube: Kube, name: str) -> None:
    stack.up(space(name))
    kube.patch("v1", "ConfigMap", "map", {"metadata": {"labels": {"mlcluster.dev/cluster": "another"}}}, name)
    run = stack.destroy()
    assert "is not deleted: it now belongs to mlcluster, cluster 'another'" in run.error
    assert kube.get_object("v1", "ConfigMap", "map", name) is not None
    kube.patch("v1", "ConfigMap", "map", {"metadata": {"labels": {"mlcluster.dev/cluster": name}}}, name)
    assert stack.destroy().error == ""


def test_a_foreign_object_with_the_name_of_a_managed_one_survives(stack: ProviderStack, kube: Kube, name: str) -> None:
    stack.up(space(name))
    kube.delete("v1", "ConfigMap", "map", name)
    kube.apply(foreign(name), field_manager="kubectl")
    assert "belongs to the field manager kubectl" in stack.up(space(name, text="new")).error
    assert "belongs to the field manager kubectl" in stack.up(space(name), refresh=True).error
    live = kube.get_object("v1", "ConfigMap", "map", name)
    assert live is not None
    assert live["data"] == {"text": "theirs"}


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """Return a chart of one ConfigMap."""
    folder = tmp_path / "chart"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: small\nversion: 1.2.3\nappVersion: '4'\n")
    (folder / "values.yaml").write_text("message: default\n")
    template = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-chart}\n"
        'data: {message: {{ required "message is needed" .Values.message | quote }}}\n'
    )
    (folder / "templates" / "map.yaml").write_text(template)
    return folder


def test_a_release_is_installed_upgraded_refreshed_and_uninstalled(
    make_stack: Callable[..., ProviderStack], kube: Kube, name: str, chart: Path
) -> None:
    stack = make_stack()

    def program(message: str) -> Program:
        def register(options: ResourceOptions) -> None:
            inside = Namespace("space", metadata={"name": name, "labels": names.owned(name)}, opts=options)
            where = inside.metadata.name
            values = {"message": message}
            Release("small", name="small", chart=str(chart), namespace=where, values=values, opts=options)

        return register

    assert stack.preview(program("one")).ops() == {"space": "create", "small": "create"}
    assert stack.up(program("one")).error == ""
    assert stack.up(program("one"), refresh=True).ops() == {}
    planned = stack.preview(program("two"))
    assert planned.diff("small") == {"values.message": "update"}
    assert stack.up(program("two")).error == ""
    live = kube.get_object("v1", "ConfigMap", "from-chart", name)
    assert live is not None
    assert live["data"] == {"message": "two"}
    status = stack.resource("small")["outputs"]["status"]
    assert (status["revision"], status["status"], status["version"]) == (2, "deployed", "1.2.3")
    assert "message is needed" in stack.up(program("")).error
    stack.forget()
    assert f"Release {name}/small: already exists and belongs to an unknown owner" in stack.up(program("two")).error
    assert kube.get_object("v1", "ConfigMap", "from-chart", name) is not None


def test_a_managed_release_is_adopted_after_the_state_was_lost(
    stack: ProviderStack, kube: Kube, name: str, chart: Path
) -> None:
    stack.cluster = name

    def program(options: ResourceOptions) -> None:
        found = Namespace("space", metadata={"name": name, "labels": names.owned(name)}, opts=options)
        Release("small", name="small", chart=str(chart), namespace=found.metadata.name, opts=options)

    assert stack.up(program).error == ""
    stack.forget()
    assert stack.up(program).error == ""
    assert stack.resource("small")["outputs"]["status"]["revision"] == 2
    assert stack.destroy().error == ""
    assert kube.get_object("v1", "ConfigMap", "from-chart", name) is None
