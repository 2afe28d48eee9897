"""How long a command takes on this machine now, and in which part of that time each victim runs."""

from dataclasses import dataclass

from tests.soak.cases import VICTIMS
from tests.soak.commands import Command

Window = tuple[float, float]


@dataclass(frozen=True)
class Measured:
    """A command that lost nothing.

    Attributes:
        seconds: its length.
        windows: first and last moment at which a victim ran.
    """

    seconds: float
    windows: dict[str, Window]

    def moment(self, victim: str, fraction: float) -> float:
        """Return seconds after the start."""
        first, last = self.windows[victim]
        return first + fraction * (last - first)


def measure(command: Command) -> Measured:
    """Watch a command to its end.

    Raises:
        RuntimeError: it fails.
    """
    windows: dict[str, Window] = {}
    for now in command.looks(pause=0.2):
        for victim in VICTIMS:
            if command.victims(victim):
                windows[victim] = (windows.get(victim, (now, now))[0], now)
    if command.end() != 0:
        message = f"a command that lost nothing failed:\n{command.text}"
        raise RuntimeError(message)
    return Measured(command.seconds, windows)
