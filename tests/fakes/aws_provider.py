"""A stand-in for the aws plugin: speaks the provider protocol for a `Cloud`, and takes nothing for granted.

A resource type that the SDK or the table of replacements does not have fails in Check; so does a property that is not
the type's, at its path. A change of which the table does not say what it does fails in Diff, with the word "unknown".
An input that was taken away keeps its value where the real plugin does that (remembered_values.py).
"""

import json
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
import pulumi_aws
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from tests.fakes import cloud_names, remembered_values, replacement, sdk_types
from tests.fakes.cloud import Cloud, RefusedError, Thing
from tests.fakes.in_memory_provider import WORKERS
from tests.fakes.sdk_types import UNKNOWN

VERSION = "7.51.1"
Values = dict[str, Any]
_INTERNAL = ("__defaults", "__internal")


def plain(struct: Any) -> Values:
    """What a message holds, without the plugin bridge's own notes; whole numbers are ints."""
    found: Values = _whole(json_format.MessageToDict(struct))
    return {key: value for key, value in found.items() if key not in _INTERNAL and value is not None}


def _whole(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _whole(part) for key, part in value.items()}
        case list():
            return [_whole(part) for part in value]
        case _:
            return value


def struct(values: Values) -> struct_pb2.Struct:
    """The values as a message."""
    return json_format.ParseDict(values, struct_pb2.Struct())


def changed_paths(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The paths of the leaves that differ, each with what happened to it: add, delete or update."""
    if isinstance(old, dict | None) and isinstance(new, dict | None) and (old is not None or new is not None):
        for key in sorted((old or {}).keys() | (new or {}).keys()):
            name = key if key.isidentifier() else json.dumps(key)
            here = f"{path}[{name}]" if name != key else f"{path}.{key}" if path else key
            yield from changed_paths((old or {}).get(key), (new or {}).get(key), here)
    elif isinstance(old, list | None) and isinstance(new, list | None) and (old is not None or new is not None):
        before, after = old or [], new or []
        for index in range(max(len(before), len(after))):
            was, will = (items[index] if index < len(items) else None for items in (before, after))
            yield from changed_paths(was, will, f"{path}[{index}]")
    elif old != new:
        yield path, "add" if old is None else "delete" if new is None else "update"


def _plan_id(urn: str) -> str:
    return urn.split("::", 3)[-1]


class AwsProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves a cloud."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=False, accept_resources=False)

    def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return plugin_pb2.PluginInfo(version=VERSION)

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        known = {*sdk_types.members(pulumi_aws.ProviderArgs), "version"}
        wrong = sorted(plain(request.news).keys() - known)
        failures = [provider_pb2.CheckFailure(property=name, reason="no such argument of aws") for name in wrong]
        return provider_pb2.CheckResponse(inputs=request.news, failures=failures)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        kinds = provider_pb2.DiffResponse
        same = request.old_inputs == request.news
        return kinds(changes=kinds.DIFF_NONE if same else kinds.DIFF_SOME)

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        allowed = json.loads(plain(request.args).get("allowedAccountIds", "[]"))
        if allowed and self.cloud.account not in allowed:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"AWS account ID not allowed: {self.cloud.account}")
        return provider_pb2.ConfigureResponse(acceptSecrets=False, supportsPreview=True, acceptResources=False)

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.cloud.cancelled.set()
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        region, account = self.cloud.region, self.cloud.account
        answers: dict[str, Values] = {
            "aws:index/getRegion:getRegion": {"id": region, "name": region, "region": region},
            "aws:index/getCallerIdentity:getCallerIdentity": {
                "id": account,
                "accountId": account,
                "arn": f"arn:aws:iam::{account}:root",
                "userId": account,
            },
            "aws:index/getPartition:getPartition": {"id": "aws", "partition": "aws", "dnsSuffix": "amazonaws.com"},
        }
        self.cloud.asked.append(request.tok)
        if request.tok not in answers:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"the stand-in for aws does not answer {request.tok}")
        response = provider_pb2.InvokeResponse()
        getattr(response, "return").CopyFrom(struct(answers[request.tok]))  # a word of Python's own
        return response

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        token = request.type or request.urn.split("::")[2].rpartition("$")[2]
        news = plain(request.news)
        named = cloud_names.AUTONAMED.get(token)
        if named and named not in news:
            news[named] = plain(request.olds).get(named) or f"{_plan_id(request.urn)}-{request.randomSeed.hex()[:7]}"
        failures = [
            provider_pb2.CheckFailure(property=text.partition(":")[0], reason=text) for text in _refusals(token, news)
        ]
        return provider_pb2.CheckResponse(inputs=struct(news), failures=failures)

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        token = request.type or request.urn.split("::")[2].rpartition("$")[2]
        state = plain(request.olds)
        old, new = (remembered_values.planned(token, state, plain(one)) for one in (request.old_inputs, request.news))
        paths = dict(changed_paths(old, new))
        effects = replacement.effects(token, paths)
        unknown = sorted(path for path, what in effects.items() if what == "unknown")
        if unknown:
            context.abort(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"unknown what a change of {', '.join(unknown)} does to {token}: tests/fakes/replacement.py",
            )
        return _difference(paths, {path for path, what in effects.items() if what == "replace"}, _keeps_name(old, new))

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        token, inputs = request.type or request.urn.split("::")[2].rpartition("$")[2], plain(request.properties)
        if request.preview:
            always = {name: UNKNOWN for name, found in sdk_types.outputs(token).items() if found.required}
            return provider_pb2.CreateResponse(properties=struct({**always, **inputs}))
        thing = self._done(context, lambda: self.cloud.create(_plan_id(request.urn), token, inputs))
        return provider_pb2.CreateResponse(id=thing.id, properties=struct(thing.outputs))

    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        token, news = request.type or request.urn.split("::")[2].rpartition("$")[2], plain(request.news)
        if request.preview:
            news = remembered_values.planned(token, plain(request.olds), news)
            after = cloud_names.changed(token, plain(request.old_inputs), plain(request.olds), news)
            if token == cloud_names.LAUNCH_TEMPLATE:
                after["latestVersion"] = UNKNOWN  # the bridge knows no more before the new version is there
            return provider_pb2.UpdateResponse(properties=struct(after))
        thing = self._done(context, lambda: self.cloud.update(_plan_id(request.urn), token, request.id, news))
        return provider_pb2.UpdateResponse(properties=struct(thing.outputs))

    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        token = request.type or request.urn.split("::")[2].rpartition("$")[2]
        self.cloud.calls.append(("Read", _plan_id(request.urn)))
        thing = self.cloud.find(token, request.id)
        if thing is None:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(id=thing.id, properties=struct(thing.outputs), inputs=struct(thing.inputs))

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        token = request.type or request.urn.split("::")[2].rpartition("$")[2]
        self._done(context, lambda: self.cloud.delete(_plan_id(request.urn), token, request.id))
        return empty_pb2.Empty()

    def _done(self, context: Any, call: Any) -> Thing:
        try:
            found: Thing = call()
        except RefusedError as refused:
            context.abort(grpc.StatusCode.UNKNOWN, str(refused))
            raise  # abort does not return
        return found


def _refusals(token: str, inputs: Values) -> list[str]:
    try:
        found = sdk_types.problems(inputs, token)
    except sdk_types.NoSuchTypeError as error:
        return [str(error)]
    if token not in replacement.RULES:
        return [f"{token} is not in tests/fakes/replacement.py"]
    return found


def _keeps_name(old: Values, new: Values) -> bool:
    names = ("name", "nodeGroupName", "addonName")
    return any(name in new and old.get(name) == new[name] for name in names)


def _difference(paths: dict[str, str], replaces: set[str], keeps_name: bool) -> Any:
    kinds, detail = provider_pb2.DiffResponse, provider_pb2.PropertyDiff

    def kind(path: str, what: str) -> Any:
        return detail.Kind.Value(f"{what.upper()}{'_REPLACE' if path in replaces else ''}")

    return kinds(
        changes=kinds.DIFF_SOME if paths else kinds.DIFF_NONE,
        diffs=sorted({path.partition(".")[0].partition("[")[0] for path in paths}),
        replaces=sorted(replaces),
        hasDetailedDiff=True,
        detailedDiff={path: detail(kind=kind(path, what), inputDiff=True) for path, what in paths.items()},
        deleteBeforeReplace=bool(replaces) and keeps_name,
    )


@contextmanager
def serve_aws(cloud: Cloud) -> Iterator[int]:
    """Serves the account on a loopback port until the context ends; yields the port."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=WORKERS))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(AwsProvider(cloud), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield int(port)
    finally:
        cloud.gate.open()
        server.stop(0).wait()
