"""The NVIDIA GPU operator: the parts that GPU nodes need and their image lacks (chart v26.7.0)."""

from collections.abc import Iterator, Mapping

from mlcluster.findings import Finding, finding
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import PRIVILEGED, Contribution
from mlcluster.plan.components.gpu_operator_pods import NAMESPACE, operator_pods
from mlcluster.plan.components.gpu_operator_values import (
    COUNTERS,
    MIG_CONFIGS,
    PLUGIN_CONFIGS,
    operator_values,
    plugin_sharings,
    settings,
)
from mlcluster.plan.components.gpu_owners import OPERATOR, Table, opt_outs, ownership, served
from mlcluster.plan.components.gpu_sharing import (
    MIG_LABEL,
    PLUGIN_LABEL,
    mig_configuration,
    plugin_configuration,
    plugin_sharing,
)
from mlcluster.plan.components.releases import chart_release, realisation
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.model import PlanObject, PlanRelease, Pool
from mlcluster.plan.objects import make
from mlcluster.plan.observe.counters import FILE_NAME, dcgm_counters_csv
from mlcluster.plan.taints import untolerated


def contribute(context: ComponentContext) -> Contribution:
    """Return the release with its namespace and ConfigMaps, its pods, and the labels of the nodes of each pool."""
    table = ownership(context)
    labels = {pool.name: node_labels(context, pool, table) for pool in context.gpu_pools}
    if realisation(context, OPERATOR) == "present":
        release = chart_release(context, OPERATOR, {})
        return Contribution(releases=(release,), node_labels=labels, findings=tuple(_to_arrange(context, labels)))
    objects = tuple(_config_maps(context))
    return Contribution(
        releases=(_release(context, objects),),
        objects=objects,
        pods=operator_pods(context),
        node_labels=labels,
        namespaces={NAMESPACE: PRIVILEGED},
        findings=(*_without_node(context), *_unlabelled(context, labels)),
    )


def node_labels(context: ComponentContext, pool: Pool, table: Table) -> dict[str, str]:
    """Return the labels of a pool's nodes: operands that they decline, and configurations of device plugin and MIG."""
    entry, owns = context.spec_pool(pool), table[pool.name]
    found = opt_outs(context, pool, table)
    sharing = plugin_sharing(pool, entry)
    if owns["devicePlugin"] == OPERATOR and sharing.strategy:
        found[PLUGIN_LABEL] = sharing.key
    if owns["migManager"] == OPERATOR and entry.gpu.mig is not None:
        found[MIG_LABEL] = entry.gpu.mig
    return found


def _release(context: ComponentContext, objects: tuple[PlanObject, ...]) -> PlanRelease:
    """Return the release; no resource waits for its CRDs, because the chart makes the only custom resource."""
    return chart_release(context, OPERATOR, operator_values(context), needs=tuple(entry.id for entry in objects))


def _config_maps(context: ComponentContext) -> Iterator[PlanObject]:
    sharings = plugin_sharings(context)
    if sharings:
        strategy = settings(context).mig_strategy
        yield _config_map(context, PLUGIN_CONFIGS, {one.key: plugin_configuration(one, strategy) for one in sharings})
    cut = served(context, OPERATOR, "migManager")
    known = (context.spec.pool(pool.name).gpu_model for pool in cut)
    models = {model.device_ids: model for model in known if model is not None}
    if models:
        yield _config_map(context, MIG_CONFIGS, {"config.yaml": mig_configuration(models.values())})
    if served(context, OPERATOR, "dcgmExporter"):
        yield _config_map(context, COUNTERS, {FILE_NAME: dcgm_counters_csv()})


def _config_map(context: ComponentContext, name: str, data: dict[str, str]) -> PlanObject:
    path = context.spec_path(OPERATOR)
    return make(context.cluster, "v1", "ConfigMap", name, {"data": data}, namespace=NAMESPACE, spec_path=path)


def _without_node(context: ComponentContext) -> Iterator[Finding]:
    """Yield GPU005 if no node without GPUs fits the controller and the uninstall hook, which Helm waits for."""
    tolerated = controller_tolerations(context)
    if any(pool.accelerator is None and not untolerated(tolerated, pool.taints) for pool in context.pools):
        return
    yield finding(
        "GPU005",
        context.spec_path(OPERATOR),
        "no pool without GPUs can run the GPU operator's controller or its uninstall job: "
        "if all GPU nodes are scaled down, `down` waits for that job until it times out",
        "Add a pool without GPUs, e.g. {name: system, instanceType: m7i.xlarge, minSize: 2, maxSize: 4}",
    )


def _unlabelled(context: ComponentContext, labels: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Yield GPU009 for labels that existing nodes need, and which the spec does not permit mlcluster to set."""
    for pool in context.gpu_pools:
        wanted = labels[pool.name]
        if context.target == "existing" and wanted and not context.spec_pool(pool).apply_to_nodes.labels:
            listed = ", ".join(f"{key}={value}" for key, value in wanted.items())
            yield finding(
                "GPU009",
                pool.spec_path,
                f"the nodes of {pool.name} must have the labels {listed}, and mlcluster may not set them",
                "Set `applyToNodes: {labels: true}`",
            )


def _to_arrange(context: ComponentContext, labels: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Yield GPU006 for the configuration that an existing operator needs, because mlcluster does not set its values."""
    wanted = sorted({label for of_pool in labels.values() for label in of_pool})
    shared = [pool.name for pool in context.gpu_pools if pool.accelerator and pool.accelerator.sharing != "whole"]
    if shared:
        yield finding(
            "GPU006",
            context.spec_path(OPERATOR),
            f"mlcluster does not configure an existing GPU operator: for {', '.join(shared)} it needs "
            f"mig.strategy {settings(context).mig_strategy} and configurations with the names in the node labels "
            f"{', '.join(wanted) or 'of the pools'}",
            "Create both ConfigMaps as docs/gpus.md shows",
        )
