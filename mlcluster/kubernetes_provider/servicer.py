"""The RPCs of the provider. They raise errors, which `server` converts into responses."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2
from pulumi.runtime.proto import provider_pb2 as pb

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kubernetes_provider import check, configuration, objects, preview, release, state
from mlcluster.kubernetes_provider.cluster import Cluster
from mlcluster.kubernetes_provider.configuration import Settings
from mlcluster.kubernetes_provider.diagnostics import Diagnostics
from mlcluster.kubernetes_provider.diff import spell
from mlcluster.kubernetes_provider.plugin import VERSION
from mlcluster.kubernetes_provider.preview import Difference
from mlcluster.kubernetes_provider.values import decode, encode

_KINDS = {
    "add": (pb.PropertyDiff.ADD, pb.PropertyDiff.ADD_REPLACE),
    "delete": (pb.PropertyDiff.DELETE, pb.PropertyDiff.DELETE_REPLACE),
    "update": (pb.PropertyDiff.UPDATE, pb.PropertyDiff.UPDATE_REPLACE),
}


def open_kube(settings: Settings) -> Kube:
    """Return the client of the cluster in the provider's arguments."""
    from dataclasses import replace

    from mlcluster.kube.kubeconfig import read_kubeconfig

    access = read_kubeconfig(settings.kubeconfig, settings.context)
    return Kube(replace(access, namespace=settings.namespace) if settings.namespace else access)


class Provider:
    """One provider instance, called from many threads.

    Args:
        connect: opens the configured cluster; tests pass one in memory.
        pace: multiplies every wait; tests use a small value.
    """

    def __init__(self, connect: Callable[[Settings], Kube] = open_kube, *, pace: float = 1.0) -> None:
        self._connect = connect
        self._pace = pace
        self._cancelled = threading.Event()
        self._diagnostics = Diagnostics()
        self._settings = Settings()
        self._kube: Kube | None = None
        self._cluster: Cluster | None = None
        self._recorded: dict[str, str] = {}  # URN -> UID in the state of the last Diff

    # -- lifecycle

    def handshake(self, request: Any) -> Any:
        self._diagnostics.attach(request.engine_address)
        return pb.ProviderHandshakeResponse(accept_secrets=True, accept_resources=True, accept_outputs=False)

    def attach(self, request: Any) -> Any:
        self._diagnostics.attach(request.address)
        self._cancelled.clear()
        return empty_pb2.Empty()

    def get_plugin_info(self, _request: Any) -> Any:
        return plugin_pb2.PluginInfo(version=VERSION)

    def check_config(self, request: Any) -> Any:
        inputs, wrong = configuration.check_arguments(decode(request.news))
        return pb.CheckResponse(inputs=encode(inputs), failures=_failures(wrong))

    def diff_config(self, request: Any) -> Any:
        old = decode(request.old_inputs) or decode(request.olds)
        new = decode(request.news)
        changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        replaces = configuration.another_cluster(old, new)
        return pb.DiffResponse(changes=_some(changed), diffs=changed, replaces=replaces)

    def configure(self, request: Any) -> Any:
        self._cancelled.clear()
        self.close()
        self._settings = configuration.read_settings(decode(request.args))
        if not self._settings.blind:
            self._kube = self._connect(self._settings)
            self._cluster = Cluster(self._kube, self._cancelled, pace=self._pace)
        return pb.ConfigureResponse(acceptSecrets=True, supportsPreview=True, acceptResources=True)

    def cancel(self, _request: Any) -> Any:
        self._cancelled.set()
        return empty_pb2.Empty()

    def close(self) -> None:
        """Close the connections to the cluster."""
        if self._kube is not None:
            self._kube.close()
        self._kube = self._cluster = None

    # -- reads

    def check(self, request: Any) -> Any:
        inputs, old = decode(request.news), decode(request.olds)
        if request.type == release.TYPE:
            checked, wrong = release.check(request.urn, inputs, old, request.randomSeed)
        else:
            checked, wrong = check.check(request.type, request.urn, inputs, old, request.randomSeed)
        return pb.CheckResponse(inputs=encode(checked), failures=_failures(wrong))

    def diff(self, request: Any) -> Any:
        old, new = decode(request.old_inputs), decode(request.news)
        if request.type == release.TYPE:
            return _diff_response(release.difference(old, new))
        before = decode(request.olds)
        self._recorded[request.urn] = state.uid(before)
        return _diff_response(preview.difference(self._cluster, before, old, new, request.ignoreChanges))

    def read(self, request: Any) -> Any:
        inputs, before = decode(request.inputs), decode(request.properties)
        if request.type == release.TYPE:
            found = self._releases().read(request.id, inputs)
        else:
            found = objects.read(self._there(), request.id, inputs, {**check.kind_of(request.type), **before})
        if found is None:
            return pb.ReadResponse()
        return pb.ReadResponse(id=request.id, properties=encode(found.state), inputs=encode(found.inputs))

    # -- writes

    def create(self, request: Any) -> Any:
        inputs = decode(request.properties)
        if request.preview:
            return pb.CreateResponse(properties=encode(self._preview_create(request, inputs)))
        if request.type == release.TYPE:
            identifier, made = self._releases().create(inputs, request.timeout)
        else:
            identifier, made = objects.create(self._there(), inputs, request.timeout)
        return pb.CreateResponse(id=identifier, properties=encode(made))

    def _preview_create(self, request: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        if request.type == release.TYPE:
            return self._releases().preview(inputs) if self._cluster else release.planned(inputs)
        planned, unasked = preview.create(self._cluster, inputs, self._recorded.get(request.urn, ""), request.urn)
        self._warn_without_dry_run(request.urn, unasked)
        return planned

    def update(self, request: Any) -> Any:
        before, inputs = decode(request.olds), decode(request.news)
        if request.type == release.TYPE:
            if request.preview:
                return pb.UpdateResponse(properties=encode(release.planned(inputs)))
            return pb.UpdateResponse(properties=encode(self._releases().update(request.id, inputs, request.timeout)))
        if request.preview:
            made, unasked = preview.update(self._cluster, before, inputs)
            self._warn_without_dry_run(request.urn, unasked)
        else:
            old_inputs = decode(request.old_inputs)
            made = objects.update(self._there(), before, old_inputs, inputs, request.timeout)
        return pb.UpdateResponse(properties=encode(made))

    def delete(self, request: Any) -> Any:
        inputs, before = decode(request.old_inputs), decode(request.properties)
        if request.type == release.TYPE:
            self._releases().delete(request.id, inputs, request.timeout)
        else:
            warn = partial(self._diagnostics.warn, request.urn)
            objects.delete(self._there(), request.id, inputs, before, request.timeout, warn=warn)
        return empty_pb2.Empty()

    # -- internals

    def _there(self) -> Cluster:
        if self._cluster is None:
            raise MlclusterError("reaching the cluster", self._settings.blind or "the provider is not configured")
        return self._cluster

    def _releases(self) -> release.Releases:
        return release.Releases(self._there().kube, self._settings.cluster_identifier)

    def _warn_without_dry_run(self, urn: str, message: str) -> None:
        if message:
            self._diagnostics.warn(urn, f"previewed without a dry run: {message}")


def _some(changed: object) -> Any:
    return pb.DiffResponse.DIFF_SOME if changed else pb.DiffResponse.DIFF_NONE


def _failures(wrong: list[tuple[str, str]]) -> list[Any]:
    return [pb.CheckFailure(property=name, reason=reason) for name, reason in wrong]


def _diff_response(found: Difference) -> Any:
    replaces = set(found.replaces)
    return pb.DiffResponse(
        changes=_some(found.paths),
        replaces=[spell(path) for path in found.replaces],
        deleteBeforeReplace=found.delete_first,
        diffs=sorted({str(path[0]) for path, _ in found.paths}),
        detailedDiff={
            spell(path): pb.PropertyDiff(kind=_KINDS[change][path in replaces], inputDiff=True)
            for path, change in found.paths
        },
        hasDetailedDiff=bool(found.paths),
    )
