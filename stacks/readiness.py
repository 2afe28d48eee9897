"""Readiness of releases before the registration of objects that need them: an output that resolves when they are ready.

The engine creates a resource as soon as it is registered, and the SDK registers it when its dependencies are known. So
a dependency that resolves late delays exactly the objects that need the release.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

import pulumi

Ready = Callable[[str], object]
"""Returns when a release, by its plan id, is ready for the objects that need it; raises if it never will be."""


class Gated:
    """Return the value of `depends_on`.

    Args:
        ready: called once for each release, in a separate thread; None: do not wait.
        releases: ids of the releases to wait for.
    """

    def __init__(self, ready: Ready | None = None, releases: Collection[str] = ()) -> None:
        self._ready = ready
        self._releases = releases
        self._waits: dict[str, pulumi.Output[Any]] = {}

    def after(self, needs: Iterable[str], made: Mapping[str, pulumi.Resource]) -> list[Any]:
        """Return the dependencies of something that needs these ids: resources, and outputs that become one.

        A preview does not wait: the objects of a planned release do not exist yet.
        """
        asks = self._ready is not None and not pulumi.runtime.is_dry_run()
        found = []
        for need in needs:
            if asks and need in self._releases:
                found.append(self._wait(need, made.get(need)))
            elif need in made:
                found.append(made[need])
        return found

    def _wait(self, need: str, resource: pulumi.Resource | None) -> pulumi.Output[Any]:
        """One wait for everything that needs the release; it begins when the engine has made it."""
        if need not in self._waits:
            begin = pulumi.Output.from_input("" if resource is None else resource.urn)

            async def wait(_urn: str) -> pulumi.Resource | None:
                await _in_thread(self._ready, need)
                return resource

            self._waits[need] = begin.apply(wait)
        return self._waits[need]


def _in_thread(ready: Ready | None, need: str) -> "asyncio.Future[None]":
    """Run the call in a thread that does not outlive the program: the SDK's own threads are for its requests."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def end(error: Exception | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(pulumi.RunError(str(error)))  # the SDK prints it without a traceback

    def run() -> None:
        failed: Exception | None = None
        try:
            if ready is not None:
                ready(need)
        except Exception as error:  # noqa: BLE001 - handed over to the program
            failed = error
        with suppress(RuntimeError):  # the program has ended meanwhile
            loop.call_soon_threadsafe(end, failed)

    threading.Thread(target=run, name=f"ready-{need}", daemon=True).start()
    return future
