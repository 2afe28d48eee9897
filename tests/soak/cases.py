"""The case of a seed: the command, the process that is killed, and the time. This module is pure."""

import random
from dataclasses import dataclass

VICTIMS = ("python", "engine", "both", "etcd", "kube-apiserver", "kueue")
"""`python` is the process of the command, `both` is that process and its engine."""
COMMANDS = ("up", "down")


@dataclass(frozen=True)
class Case:
    """One command that loses something.

    Attributes:
        seed: of the pair that it belongs to.
        command: up or down.
        victim: one of `VICTIMS`.
        fraction: when, between 0 and 1: of the time in which the victim runs during this command.
    """

    seed: int
    command: str
    victim: str
    fraction: float


@dataclass(frozen=True)
class Pair:
    """An `up` and a `down`, each with a kill of its own; nothing may be left at the end.

    Attributes:
        own_lab: the lab runs before `up`, so it stays after `down`, and its stored objects are compared with those
            from before; otherwise `up` starts it and `down` deletes it.
    """

    seed: int
    own_lab: bool
    cases: tuple[Case, Case]


def pair(seed: int) -> Pair:
    """Return the pair of a seed. Six seeds in a row have every victim once for each command."""
    chance = random.Random(seed)  # noqa: S311 - moments, no secrets
    turn = list(VICTIMS)
    random.Random(seed // len(turn)).shuffle(turn)  # noqa: S311 - likewise
    place = seed % len(turn)
    victims = (turn[place], turn[(place + seed // len(turn)) % len(turn)])
    cases = [
        Case(seed, command, victim, round(chance.random(), 3))
        for command, victim in zip(COMMANDS, victims, strict=True)
    ]
    return Pair(seed, seed % 3 > 0, (cases[0], cases[1]))
