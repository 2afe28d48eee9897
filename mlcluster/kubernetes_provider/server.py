"""The gRPC server of a provider: it maps methods to calls, and exceptions to statuses without secrets."""

import logging
import traceback
from concurrent import futures
from typing import Any

import grpc
from google.protobuf import any_pb2, empty_pb2
from pulumi.runtime.proto import plugin_pb2, status_pb2
from pulumi.runtime.proto import provider_pb2 as pb

from mlcluster.errors import MlclusterError
from mlcluster.kube.errors import ApiError
from mlcluster.kubernetes_provider.faults import FaultError, Faults
from mlcluster.kubernetes_provider.objects import InitFailed
from mlcluster.kubernetes_provider.secrecy import censor
from mlcluster.kubernetes_provider.servicer import Provider
from mlcluster.kubernetes_provider.values import decode, encode

_SERVICE = "pulumirpc.ResourceProvider"
_THREADS = 32
_BYTES = 400 * 1024 * 1024  # the engine's own limit for a message
_EMPTY = empty_pb2.Empty
_STRUCTS = ("properties", "news", "olds", "old_inputs", "inputs", "args")

_METHODS: dict[str, tuple[Any, Any, str]] = {
    "Handshake": (pb.ProviderHandshakeRequest, pb.ProviderHandshakeResponse, "handshake"),
    "Attach": (plugin_pb2.PluginAttach, _EMPTY, "attach"),
    "GetPluginInfo": (_EMPTY, plugin_pb2.PluginInfo, "get_plugin_info"),
    "CheckConfig": (pb.CheckRequest, pb.CheckResponse, "check_config"),
    "DiffConfig": (pb.DiffRequest, pb.DiffResponse, "diff_config"),
    "Configure": (pb.ConfigureRequest, pb.ConfigureResponse, "configure"),
    "Check": (pb.CheckRequest, pb.CheckResponse, "check"),
    "Diff": (pb.DiffRequest, pb.DiffResponse, "diff"),
    "Create": (pb.CreateRequest, pb.CreateResponse, "create"),
    "Read": (pb.ReadRequest, pb.ReadResponse, "read"),
    "Update": (pb.UpdateRequest, pb.UpdateResponse, "update"),
    "Delete": (pb.DeleteRequest, _EMPTY, "delete"),
    "Cancel": (_EMPTY, _EMPTY, "cancel"),
}


def serve(provider: Provider, faults: Faults | None = None, address: str = "127.0.0.1:0") -> tuple[Any, int]:
    """Start a gRPC server, and return it with its port.

    RPCs that are not in the table return "unimplemented", which the engine accepts for eight optional RPCs.
    """
    pool = futures.ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="rpc")
    limits = [("grpc.max_receive_message_length", _BYTES), ("grpc.max_send_message_length", _BYTES)]
    server = grpc.server(pool, options=limits)
    strikes = faults or Faults()
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            _handler(name, getattr(provider, method), strikes),
            request_deserializer=request.FromString,
            response_serializer=response.SerializeToString,
        )
        for name, (request, response, method) in _METHODS.items()
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, handlers),))
    port = server.add_insecure_port(address)
    server.start()
    return server, port


def _handler(name: str, method: Any, faults: Faults) -> Any:
    def call(request: Any, context: Any) -> Any:
        urn = getattr(request, "urn", "")
        try:
            faults.strike(name, urn, "before")
            response = method(request)
            faults.strike(name, urn, "after")
        except InitFailed as failed:
            _abort_kept(context, failed)
        except (MlclusterError, FaultError) as error:
            context.abort(grpc.StatusCode.UNKNOWN, _censored(_sentence(error), request))
        except Exception as error:  # noqa: BLE001 - the boundary of the process: a bug becomes an error response
            _log_bug(name, error)
            message = _censored(f"bug in the built-in provider ({name}): {type(error).__name__}: {error}", request)
            context.abort(grpc.StatusCode.INTERNAL, message)
        else:
            return response

    return call


def _log_bug(name: str, error: Exception) -> None:
    # The text of the exception is omitted, because it can quote a value.
    where = "".join(traceback.format_tb(error.__traceback__)[-3:])
    logging.getLogger(__name__).error("%s: %s\n%s", name, type(error).__name__, where)


def _sentence(error: MlclusterError | FaultError) -> str:
    if isinstance(error, FaultError):
        return str(error)
    # The engine names the resource, so the path of the request is redundant.
    said = error.message if isinstance(error, ApiError) else str(error)
    return f"{said}; {error.hint}" if error.hint else said


def _censored(message: str, request: Any) -> str:
    present = [getattr(request, name) for name in _STRUCTS if name in request.DESCRIPTOR.fields_by_name]
    return censor(message, *(decode(struct) for struct in present))


def _abort_kept(context: Any, failed: InitFailed) -> None:
    """Abort with the status whose details make the engine keep the object in the state."""
    reason = censor(failed.reason, failed.inputs)
    kept = pb.ErrorResourceInitFailed(
        id=failed.identifier, properties=encode(failed.state), inputs=encode(failed.inputs), reasons=[reason]
    )
    packed = any_pb2.Any()
    packed.Pack(kept)
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=reason, details=[packed])
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, reason)
