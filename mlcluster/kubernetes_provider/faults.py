"""Injected faults, for tests only: delays, failures and crashes at a chosen RPC.

The provider process reads them from the environment variable MLCLUSTER_PROVIDER_FAULTS, a JSON list:

    [{"rpc": "Create", "urn": "ConfigMap::a", "when": "after", "skip": 1, "times": 1, "fail": "power cut"},
     {"rpc": "Update", "delay": 0.5}, {"rpc": "Create", "when": "after", "exit": 9}]
"""

import json
import os
import re
import threading
import time
from dataclasses import dataclass
from typing import Literal

ENVIRONMENT = "MLCLUSTER_PROVIDER_FAULTS"
When = Literal["before", "after"]


class FaultError(Exception):
    """An injected failure."""


@dataclass
class Fault:
    """An injected fault.

    Attributes:
        rpc: name of the RPC, `Create`.
        urn: regular expression searched in the resource's URN.
        when: before the RPC runs, or after it has run and before the engine receives the response.
        skip: the number of matching calls to skip first.
        times: the number of calls to affect after them; -1 for all.
        delay: a delay in seconds.
        fail: message of the failure, "" for none.
        exit: exit code with which the process ends, as in a crash.
    """

    rpc: str
    urn: str = ""
    when: When = "before"
    skip: int = 0
    times: int = -1
    delay: float = 0.0
    fail: str = ""
    exit: int | None = None


class Faults:
    """The faults of one provider, none by default. Each call of `strike` can delay, raise or end the process."""

    def __init__(self, faults: list[Fault] | None = None) -> None:
        self._faults = faults or []
        self._lock = threading.Lock()

    @classmethod
    def from_environment(cls) -> "Faults":
        return cls([Fault(**item) for item in json.loads(os.environ.get(ENVIRONMENT) or "[]")])

    def strike(self, rpc: str, urn: str, when: When) -> None:
        """Apply the matching faults.

        Raises:
            FaultError: a fault has `fail`.
        """
        for fault in self._faults:
            if (fault.rpc, fault.when) == (rpc, when) and re.search(fault.urn, urn) and self._due(fault):
                time.sleep(fault.delay)
                if fault.exit is not None:
                    os._exit(fault.exit)
                if fault.fail:
                    raise FaultError(fault.fail)

    def _due(self, fault: Fault) -> bool:
        with self._lock:
            if fault.skip:
                fault.skip -= 1
                return False
            if fault.times:
                fault.times -= 1
                return True
            return False
