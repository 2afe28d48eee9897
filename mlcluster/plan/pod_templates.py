"""CEL that finds the pod templates of a request, so that one rule holds for pods and for every kind that makes them."""

from collections.abc import Iterable

from mlcluster.plan import job_kinds
from mlcluster.plan.job_kinds import JobKind
from mlcluster.plan.model import Manifest
from mlcluster.plan.policy import KUEUE_ONLY, WORKLOAD_RULES, Policy

NOT_KUEUE = {"not-kueue": f"!({KUEUE_ONLY})"}
"""Match condition: Kueue writes node selectors and tolerations into the templates of what it admits."""

CREATED_OR_NEW = "!variables.before.exists(b, b.spec == t.spec)"
"""CEL, of a template `t`: the request brings it. A template that an older version let pass does not block updates."""


def template_policy(
    name: str,
    kinds: Iterable[JobKind],
    validations: list[tuple[str, str]],
    *,
    variables: dict[str, str] | None = None,
    rules: Iterable[Manifest] = (),
) -> Policy:
    """Return a policy on pod templates that holds for the teams of every scheduler.

    Args:
        kinds: the kinds that components of the plan bring.
        validations: (CEL that must hold, CEL or text of the message); they use `variables.fresh`.
        variables: every variable of the policy. Default: `template_variables`.
        rules: what the policy matches besides pods and templates.
    """
    kinds = tuple(kinds)
    return Policy(
        name=name,
        scheduler="",
        rules=[*template_rules(kinds), *rules],
        variables=template_variables(kinds) if variables is None else variables,
        validations=validations,
        match_conditions=NOT_KUEUE,
    )


def template_rules(kinds: Iterable[JobKind]) -> list[Manifest]:
    """Return the rules of a policy on pod templates: pods when they are created, templates on every change."""
    pods, *others = WORKLOAD_RULES
    return [{**pods, "operations": ["CREATE"]}, *others, *job_kinds.rules(kinds, "CREATE", "UPDATE")]


def template_variables(kinds: Iterable[JobKind]) -> dict[str, str]:
    """Return the variables `before`, `templates`, and `fresh`: the templates that the request creates or changes."""
    kinds = tuple(kinds)
    return {
        "templates": templates_of(kinds, "object"),
        "before": f"oldObject == null ? [] : ({templates_of(kinds, 'oldObject')})",
        "fresh": f"variables.templates.filter(t, {CREATED_OR_NEW})",
    }


def templates_of(kinds: Iterable[JobKind], subject: str) -> str:
    """CEL: the list of the pod templates of `subject`; of a pod the pod itself."""
    kinds = tuple(kinds)
    whole = f"dyn({subject})"
    plain = (
        f"({subject}.kind == 'Pod' ? [{whole}] : "
        f"({subject}.kind == 'CronJob' ? [{whole}.spec.jobTemplate.spec.template] : [{whole}.spec.template]))"
    )
    if not kinds:
        return plain
    names = ", ".join(repr(kind.kind) for kind in kinds)
    return f"({subject}.kind in [{names}] ? ({job_kinds.templates(kinds, subject)}) : {plain})"


def all_containers(spec: str) -> str:
    """CEL: every container of a pod's spec, those of initialization among them."""
    return f"({spec}.containers + (has({spec}.initContainers) ? {spec}.initContainers : []))"
