"""Interruption events: the rules and the queue by which Karpenter learns that AWS interrupts a node.

Source: Karpenter 1.14, CloudFormation reference, "Interruption Handling".
"""

from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import JsonText, Ref
from mlcluster.spec.document import Loc

QUEUE = "aws:sqs/queue:Queue"
QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"
RULE = "aws:cloudwatch/eventRule:EventRule"
TARGET = "aws:cloudwatch/eventTarget:EventTarget"
SPEC_PATH: Loc = ("target", "autoscaler")
_KEPT_SECONDS = 300
"""Retention of events; an older warning has no use, because spot gives two minutes."""

_EVENTS = {
    "spot": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state": ("aws.ec2", "EC2 Instance State-change Notification"),
    "health": ("aws.health", "AWS Health Event"),
    "reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}


def queue_name(context: EksContext) -> str:
    """Return the interruption queue's name."""
    return f"{context.name}-karpenter"


def queue_arn(context: EksContext) -> Ref:
    """Return the interruption queue's ARN."""
    return Ref(resource_id(QUEUE, queue_name(context)), "arn")


def interruption_resources(context: EksContext) -> list[PlanResource]:
    """Return the queue, its policy, and a rule with its target for each kind of event."""
    rules = [_rule(context, kind) for kind in _EVENTS]
    return [_queue(context), _queue_policy(context, rules), *rules, *(_target(context, rule) for rule in rules)]


def _queue(context: EksContext) -> PlanResource:
    inputs = {
        "name": queue_name(context),
        "messageRetentionSeconds": _KEPT_SECONDS,
        "sqsManagedSseEnabled": True,
        "tags": context.tags,
    }
    return resource(QUEUE, queue_name(context), inputs, spec_path=SPEC_PATH)


def _queue_policy(context: EksContext, rules: list[PlanResource]) -> PlanResource:
    """Return the queue's policy: only the plan's rules may send, and every request without TLS is denied."""
    sent = {
        "Sid": "Events",
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": queue_arn(context),
        "Condition": {"ArnEquals": {"aws:SourceArn": [Ref(rule.id, "arn") for rule in rules]}},
    }
    in_the_clear = {
        "Sid": "NoPlainHttp",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Resource": queue_arn(context),
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    inputs = {
        "queueUrl": Ref(resource_id(QUEUE, queue_name(context)), "url"),
        "policy": JsonText({"Version": "2012-10-17", "Statement": [sent, in_the_clear]}),
    }
    return resource(QUEUE_POLICY, queue_name(context), inputs, spec_path=SPEC_PATH)


def _rule(context: EksContext, kind: str) -> PlanResource:
    source, what = _EVENTS[kind]
    name = f"{queue_name(context)}-{kind}"
    inputs = {
        "name": name,
        "description": f"{what} (for Karpenter of {context.name}, made by mlcluster)",
        "eventPattern": JsonText({"source": [source], "detail-type": [what]}),
        "tags": context.tags,
    }
    return resource(RULE, name, inputs, spec_path=SPEC_PATH)


def _target(context: EksContext, rule: PlanResource) -> PlanResource:
    inputs = {"rule": Ref(rule.id, "name"), "arn": queue_arn(context), "targetId": queue_name(context)}
    # A rule that sends an event before the policy permits it loses the event.
    needs = (resource_id(QUEUE_POLICY, queue_name(context)),)
    return resource(TARGET, rule.inputs["name"], inputs, spec_path=SPEC_PATH, needs=needs)
