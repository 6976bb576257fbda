"""Machines that a network connects, as namespaces of this one: ``ip netns``, which needs root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

__all__ = ["Network", "network", "why_not"]


def why_not() -> str:
    """Return why namespaces cannot be made here; empty if they can."""
    if shutil.which("ip") is None:
        return "needs ip: apt-get install iproute2"
    name = f"lcdb{os.getpid()}try"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"'ip netns add' is not allowed: {done.stderr.strip()}"
    _ip("netns", "del", name)
    return ""


class Network:
    """A machine in the middle, and others that reach it alone.

    Parameters
    ----------
    middle
        Name of the machine in the middle.
    others
        Names of the others.
    """

    def __init__(self, middle: str, others: Sequence[str]) -> None:
        self.middle = middle
        self.numbers = {name: i + 1 for i, name in enumerate(others)}

    def namespace(self, machine: str) -> str:
        """Return the name that the kernel knows a machine by."""
        return f"lcdb{os.getpid()}{machine}"

    def command(self, machine: str, *command: object) -> list[str]:
        """Return a command that runs another one on a machine."""
        return ["ip", "netns", "exec", self.namespace(machine), *map(str, command)]

    def address(self, machine: str) -> str:
        """Return where a machine reaches the one in the middle."""
        return f"10.77.{self.numbers[machine]}.1"

    def end_all_on(self, machine: str) -> None:
        """Kill all that runs on a machine."""
        _end_all_in(self.namespace(machine))

    def cut(self, machine: str) -> None:
        """Have nothing go between a machine and the middle any more, and nobody hear of it."""
        self._link(machine, "down")

    def mend(self, machine: str) -> None:
        """Connect a machine again."""
        self._link(machine, "up")

    def _link(self, machine: str, state: str) -> None:
        link = f"to{self.numbers[machine]}"
        _ip("-n", self.namespace(self.middle), "link", "set", link, state)


@contextmanager
def network(middle: str, *others: str) -> Iterator[Network]:
    """Make machines, and remove them with all that runs on them."""
    made = Network(middle, others)
    names = [made.namespace(machine) for machine in (middle, *others)]
    try:
        for name in names:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        for machine, number in made.numbers.items():
            inner, outer = names[0], made.namespace(machine)
            ends = f"to{number}", "eth0"
            _ip("-n", inner, "link", "add", ends[0], "type", "veth", "peer", "name", ends[1],
                "netns", outer)  # fmt: skip
            for name, end, last in ((inner, ends[0], 1), (outer, ends[1], 2)):
                _ip("-n", name, "address", "add", f"10.77.{number}.{last}/24", "dev", end)
                _ip("-n", name, "link", "set", end, "up")
        yield made
    finally:
        for name in names:
            _end_all_in(name)
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _end_all_in(name: str) -> None:
    done = subprocess.run(
        ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
    )
    subprocess.run(["kill", "-9", *done.stdout.split()], capture_output=True, check=False)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
