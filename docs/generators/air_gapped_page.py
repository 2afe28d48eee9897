"""docs/air-gapped.md: every chart and image of the catalog, and where `components.registry` looks for each."""

from collections.abc import Iterator, Mapping, Sequence

from mlcluster.catalog.components import ComponentPin, pins
from mlcluster.plan.components.mirror import CHARTS, is_value, mirrored

MIRROR = "registry.example.com/mirror"

_HEAD = f"""# Air-gapped sites

```yaml
components:
  registry: {MIRROR}
```

With this field ([reference](spec.md#componentsregistry)), mlcluster takes every chart from
`oci://{MIRROR}/charts/NAME`, and every image from the same registry. An image keeps its path without its host:
`nvcr.io/nvidia/driver` becomes `{MIRROR}/nvidia/driver`. `mlcluster plan` shows the result; the rest of the plan does
not change. mlcluster does not download node images, the Kubernetes control plane and AWS add-ons, so this page does not
list them. It does not change an entry of `values:` that names an image.

The cluster's container runtime must trust the registry, and the machine that runs `mlcluster up` must be logged in to
it (`helm registry login`). mlcluster includes the built-in Kubernetes provider. With `kubernetesProvider: official`,
transfer the plugin to the site, because no package registry has it.

If a chart is not available, `preview` and `up` report its name, version and source, the copies in Helm's cache on this
machine, and Helm's message. Helm does not install from its cache, but you can use cached packages to fill the mirror
without a download.

## Plugins of the engine

`local`, and `existing` with the default provider, need no plugins. For other clusters, `mlcluster plugins list
cluster.yaml` lists the required plugins and versions. No package registry has them: download the release archives
(`pulumi-resource-NAME-vVERSION-OS-ARCH.tar.gz`, under the releases of
[pulumi-aws](https://github.com/pulumi/pulumi-aws/releases), [pulumi-eks](https://github.com/pulumi/pulumi-eks/releases)
and [pulumi-kubernetes](https://github.com/pulumi/pulumi-kubernetes/releases)), copy them to the machine that runs
mlcluster without renaming them, and install them with the same engine that mlcluster runs:

```bash
mlcluster plugins install cluster.yaml --from archives/
```

mlcluster reads each archive completely before it unpacks files. To use a mirror instead of archives, set Pulumi's
`PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES`, which mlcluster passes on to the engine.

## Charts and images of your cluster

Run these commands on a machine with internet access, with your spec without `registry`:

```bash
mlcluster plan cluster.yaml -o json > plan.json
# charts
jq -r '.releases[] | select(.realisation == "helm") | [.name, .chart, .version, .repository] | @tsv' plan.json
# images of objects that mlcluster manages
jq -r '.objects | .. | .image? | strings' plan.json | sort -u
```

These commands list the images of a chart in exactly this version and with exactly these values:

```bash
jq '.releases[] | select(.name == "gpu-operator") | .values' plan.json > values.json
helm template gpu-operator gpu-operator --repo https://helm.ngc.nvidia.com/nvidia --version v26.7.0 -f values.json |
  grep -E 'image:|repository:'
```

An operator starts images whose names its chart contains only in parts (`repository:`, `image:`, `version:`). The
runtimes of Trainer and KServe use further images. Check both sources.

## Fill the mirror

```bash
helm pull gpu-operator --repo https://helm.ngc.nvidia.com/nvidia --version v26.7.0
helm push gpu-operator-v26.7.0.tgz oci://{MIRROR}/{CHARTS}
crane copy nvcr.io/nvidia/gpu-operator:v26.7.0 {MIRROR}/nvidia/gpu-operator:v26.7.0     # or skopeo, oras, docker
```

Tests cover the rewritten names (`tests/unit/plan`) and the messages for an unavailable chart. Filling a registry is
untested.
"""


def air_gapped_page() -> str:
    """The whole page, as Markdown; the tables come from the catalog."""
    known = pins()
    return "\n".join((_HEAD, "## Charts\n", *_charts(known), "\n## Images\n", *_images(known), ""))


def _charts(known: Mapping[str, ComponentPin]) -> Iterator[str]:
    yield from _head("component", "chart", "version", "from", "in the mirror")
    for pin in known.values():
        if pin.chart:
            name = pin.chart.rpartition("/")[2]
            here = pin.repository or pin.chart.rpartition("/")[0]
            yield _row((pin.title, f"`{name}`", pin.version, f"`{here}`", f"`oci://{MIRROR}/{CHARTS}/{name}`"))


def _images(known: Mapping[str, ComponentPin]) -> Iterator[str]:
    yield "The table lists the chart values and the images of mlcluster's own manifests. A host or a folder stands for"
    yield "all images that the chart uses from it.\n"
    yield from _head("component", "value", "from", "in the mirror")
    for pin in known.values():
        for path, image in pin.images.items():
            what = f"`{path}`" if pin.chart and is_value(path) else "mlcluster's own manifests"
            yield _row((pin.title, what, f"`{image}`", f"`{mirrored(image, MIRROR)}`"))
    none = [f"{pin.title}" for pin in known.values() if pin.chart and not pin.images]
    if none:
        yield f"\nThe catalog lists no images of these, so `registry` changes only the chart: {', '.join(none)}."
        yield "Set their images under `values:`."


def _head(*columns: str) -> Iterator[str]:
    yield _row(columns)
    yield _row(["---"] * len(columns))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
