"""Warnings that appear beside a resource in the engine's output."""

import logging
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2

_SECONDS = 5.0


class Diagnostics:
    """Sends diagnostics to the engine, once its address is known."""

    def __init__(self) -> None:
        self._channel: Any = None

    def attach(self, address: str) -> None:
        """Set the engine's address."""
        self.close()
        self._channel = grpc.insecure_channel(address) if address else None

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def warn(self, urn: str, message: str) -> None:
        """Send a warning; a failed delivery is not an error."""
        if self._channel is None:
            return
        log = self._channel.unary_unary(
            "/pulumirpc.Engine/Log",
            request_serializer=engine_pb2.LogRequest.SerializeToString,
            response_deserializer=empty_pb2.Empty.FromString,
        )
        try:
            log(engine_pb2.LogRequest(severity=engine_pb2.WARNING, message=message, urn=urn), timeout=_SECONDS)
        except grpc.RpcError:
            logging.getLogger(__name__).debug("the engine does not accept warnings")
