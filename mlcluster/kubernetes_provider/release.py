"""The resource helm.v3.Release, which the helm binary installs, upgrades, reads and uninstalls.

Arguments and outputs are those of the official provider (pulumi_kubernetes.helm.v3.Release).
"""

import hashlib
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kubernetes_provider.diff import changes
from mlcluster.kubernetes_provider.helm import Helm, HelmError
from mlcluster.kubernetes_provider.objects import Found, InitFailed
from mlcluster.kubernetes_provider.ownership import CLUSTER, MANAGED_BY, US
from mlcluster.kubernetes_provider.preview import Difference
from mlcluster.kubernetes_provider.secrecy import seal
from mlcluster.kubernetes_provider.values import UNKNOWN, has_unknown, plain

Object = dict[str, Any]

TYPE = "kubernetes:helm.sh/v3:Release"
_DEFAULT_SECONDS = 300
_FLAGS = {
    "atomic": "--atomic",
    "cleanupOnFail": "--cleanup-on-fail",
    "createNamespace": "--create-namespace",
    "dependencyUpdate": "--dependency-update",
    "devel": "--devel",
    "disableOpenapiValidation": "--disable-openapi-validation",
    "disableWebhooks": "--no-hooks",
    "forceUpdate": "--force",
    "skipCrds": "--skip-crds",
    "takeOwnership": "--take-ownership",
    "verify": "--verify",
    "waitForJobs": "--wait-for-jobs",
}
_REPOSITORY = {
    "repo": "--repo",
    "username": "--username",
    "password": "--password",
    "caFile": "--ca-file",
    "certFile": "--cert-file",
    "keyFile": "--key-file",
}
_INSTALL_ONLY = frozenset({"createNamespace"})  # `helm upgrade` supports it only with --install
_NOT_HERE = ("postrender", "valueYamlFiles")


def check(urn: str, inputs: Object, old_inputs: Object, seed: bytes) -> tuple[Object, list[tuple[str, str]]]:
    """Fill in name and namespace, and return the inputs with the problems in them."""
    problems = [(key, "is not supported by the built-in provider") for key in _NOT_HERE if inputs.get(key)]
    problems += [] if inputs.get("chart") else [("chart", "is missing")]
    name = inputs.get("name") or plain(old_inputs).get("name")
    if not name:
        name = f"{urn.rpartition('::')[2]}-{hashlib.sha256(seed or urn.encode()).hexdigest()[:8]}".lower()
    return {**inputs, "name": name, "namespace": inputs.get("namespace") or "default"}, problems


def difference(old_inputs: Object, inputs: Object) -> Difference:
    """Compare the inputs of a release: a new name or namespace requires a replacement, other changes an upgrade."""
    paths = list(changes(plain(old_inputs), plain(inputs)))
    return Difference(paths, [path for path, _ in paths if path in {("name",), ("namespace",)}])


class Releases:
    """The releases of one cluster.

    Args:
        kube: the API server, used to find the owner of an existing release.
        cluster_identifier: the value of the cluster label; without it, no existing release is adopted.
    """

    def __init__(self, kube: Kube, cluster_identifier: str) -> None:
        self._kube = kube
        self._cluster = cluster_identifier
        self._helm = Helm(kube.kubeconfig_text())

    def preview(self, inputs: Object) -> Object:
        """Return the outputs of a planned release, after rendering the chart to detect invalid values."""
        wanted = plain(inputs)
        if not has_unknown(wanted):
            argv = [wanted["name"], wanted["chart"], "-n", wanted["namespace"], "-f", "-", *_source(wanted)]
            self._helm.run("template", *argv, values=wanted.get("values") or {})
        return planned(inputs)

    def create(self, inputs: Object, seconds: float) -> tuple[str, Object]:
        """Install a release, or adopt a managed one after a killed run; refuse a foreign release."""
        wanted = plain(inputs)
        identifier = f"{wanted['namespace']}/{wanted['name']}"
        state = self._status(identifier)
        if state is not None:
            self._refuse_foreign(identifier)
            if state["info"]["status"].startswith("pending"):  # helm does not continue from this status
                self._helm.run("uninstall", wanted["name"], "-n", wanted["namespace"], "--wait")
                state = None
        verb = "install" if state is None else "upgrade"
        return identifier, self._write(verb, identifier, inputs, seconds)

    def update(self, identifier: str, inputs: Object, seconds: float) -> Object:
        """Upgrade to exactly these values."""
        return self._write("upgrade", identifier, inputs, seconds)

    def read(self, identifier: str, inputs: Object) -> Found | None:
        """Return the live release, None if it does not exist. As in the official provider, object drift is ignored."""
        found = self._status(identifier)
        if found is None:
            return None
        namespace, _, name = identifier.rpartition("/")
        values = self._helm.json("get", "values", name, "-n", namespace) or {}
        kept = {**inputs, "name": inputs.get("name") or name, "namespace": inputs.get("namespace") or namespace}
        if values or "values" in inputs:
            kept["values"] = seal({"values": values}, {"values": inputs.get("values")})["values"]
        return Found(_state(found, kept), kept)

    def delete(self, identifier: str, inputs: Object, seconds: float) -> None:
        """Uninstall the release and wait until its objects are deleted; no error if it does not exist."""
        namespace, _, name = identifier.rpartition("/")
        wait = [] if plain(inputs).get("skipAwait") else ["--wait"]
        limit = seconds or _DEFAULT_SECONDS
        argv = ["uninstall", name, "-n", namespace, "--timeout", f"{limit:.0f}s", *wait]
        try:
            self._helm.run(*argv, seconds=limit)
        except HelmError as error:
            if not error.not_found:
                raise

    def _write(self, verb: str, identifier: str, inputs: Object, seconds: float) -> Object:
        wanted = plain(inputs)
        limit = float(wanted.get("timeout") or seconds or _DEFAULT_SECONDS)
        argv = [verb, wanted["name"], wanted["chart"], *_arguments(wanted, verb, limit), *self._labels()]
        try:
            answer = self._helm.json(*argv, values=wanted.get("values") or {}, seconds=limit)
        except HelmError as error:
            self._keep_if_installed(identifier, inputs, error)
            raise
        return _state(answer, inputs)

    def _keep_if_installed(self, identifier: str, inputs: Object, error: HelmError) -> None:
        """Keep a release in the state that exists but failed during the wait, so that the next run continues it."""
        found = self._status(identifier)
        if found is not None and found["info"]["status"] == "failed":
            reason = f"Release {identifier} failed: {error.happened}"
            raise InitFailed(reason, identifier, _state(found, inputs), inputs) from None

    def _labels(self) -> list[str]:
        return ["--labels", f"{CLUSTER}={self._cluster},{MANAGED_BY}={US}"] if self._cluster else []

    def _status(self, identifier: str) -> Object | None:
        namespace, _, name = identifier.rpartition("/")
        try:
            found: Object = self._helm.json("status", name, "-n", namespace)
        except HelmError as error:
            if error.not_found:
                return None
            raise
        return found

    def _refuse_foreign(self, identifier: str) -> None:
        namespace, _, name = identifier.rpartition("/")
        records = self._kube.list("v1", "Secret", namespace, f"owner=helm,name={name}")
        labels = [record["metadata"].get("labels") or {} for record in records]
        if not self._cluster or not any(item.get(CLUSTER) == self._cluster for item in labels):
            owners = sorted({str(item.get(CLUSTER)) for item in labels if item.get(CLUSTER)})
            whose = f"mlcluster, cluster '{owners[0]}'" if owners else "an unknown owner: it has no owner label"
            hint = "Uninstall it, or change the name in the program."
            raise MlclusterError(f"Release {identifier}", f"already exists and belongs to {whose}", hint)


def planned(inputs: Object) -> Object:
    """Return the outputs that are known in a preview."""
    return {**inputs, "status": UNKNOWN, "resourceNames": UNKNOWN, "checksum": UNKNOWN}


def _source(wanted: Object) -> list[str]:
    options = wanted.get("repositoryOpts") or {}
    argv = ["--version", str(wanted["version"])] if wanted.get("version") else []
    for key, flag in _REPOSITORY.items():
        argv += [flag, str(options[key])] if options.get(key) else []
    return argv


def _arguments(wanted: Object, verb: str, seconds: float) -> list[str]:
    argv = ["-n", wanted["namespace"], "-f", "-", "--timeout", f"{seconds:.0f}s", *_source(wanted)]
    argv += [
        flag for key, flag in _FLAGS.items() if wanted.get(key) and (verb == "install" or key not in _INSTALL_ONLY)
    ]
    if not wanted.get("skipAwait"):
        argv.append("--wait")
    if wanted.get("description"):
        argv += ["--description", wanted["description"]]
    if verb == "upgrade":
        argv.append("--reuse-values" if wanted.get("reuseValues") else "--reset-values")
        argv += ["--history-max", str(wanted["maxHistory"])] if wanted.get("maxHistory") else []
    return argv


def _state(release: Object, inputs: Object) -> Object:
    chart = (release.get("chart") or {}).get("metadata") or {}
    manifest = str(release.get("manifest") or "")
    status = {
        "appVersion": chart.get("appVersion", ""),
        "chart": chart.get("name", ""),
        "name": release["name"],
        "namespace": release["namespace"],
        "revision": release["version"],
        "status": release["info"]["status"],
        "version": chart.get("version", ""),
    }
    names = _resource_names(manifest, release["namespace"])
    checksum = hashlib.sha256(manifest.encode()).hexdigest()
    version = {} if inputs.get("version") or not chart.get("version") else {"version": chart["version"]}
    return {**inputs, **version, "status": status, "resourceNames": names, "checksum": checksum}


def _resource_names(manifest: str, namespace: str) -> dict[str, list[str]]:
    """Return `kind/apiVersion` -> names, from the first keys of each document in the rendered text."""
    import yaml

    found: dict[str, list[str]] = {}
    for document in yaml.load_all(manifest, Loader=yaml.CSafeLoader):
        if isinstance(document, dict) and document.get("kind"):
            metadata = document.get("metadata") or {}
            place = metadata.get("namespace") or namespace
            found.setdefault(f"{document['kind']}/{document['apiVersion']}", []).append(f"{place}/{metadata['name']}")
    return {key: sorted(names) for key, names in found.items()}
