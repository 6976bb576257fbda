"""What brings bytes from a host: whole small files and ranges, again where a host is busy."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from lcdb.errors import ReadError
from lcdb.remote.address import Address

__all__ = ["DEFAULT", "AgainError", "Policy", "Transport", "transport_for"]

Value = TypeVar("Value")


@dataclass(frozen=True)
class Policy:
    """How a host is asked.

    Parameters
    ----------
    attempts
        Requests for the same bytes before a host that is busy, late or cut off is given up.
    wait, longest
        Seconds before the second attempt, doubled for each one after it; and at most, whatever a
        host asks for.
    timeout
        Seconds without any answer.
    slowest
        Bytes in a second below which an answer counts as none.
    workers
        Requests at the same time.
    gap
        Bytes between two ranges that are read along, because another request would take longer.
    most
        Bytes of one request.
    """

    attempts: int = 5
    wait: float = 0.5
    longest: float = 30.0
    timeout: float = 30.0
    slowest: float = 2000.0
    workers: int = 8
    gap: int = 8192
    most: int = 8 << 20


#: How hosts are asked unless something else is said.
DEFAULT = Policy()


class AgainError(Exception):
    """An attempt failed in a way that may pass; `after` is what the host asks to wait."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class Transport(ABC):
    """Reads from one kind of host.

    Parameters
    ----------
    policy
        How often and how long.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    @abstractmethod
    def whole(self, address: Address, limit: int, *, fresh: bool = False) -> bytes:
        """Return a whole file of at most so many bytes; `fresh` not from anybody's cache."""

    @abstractmethod
    def part(
        self, address: Address, first: int, length: int, size: int, *, fresh: bool = False
    ) -> bytes:
        """Return exactly the bytes of a range of a file that has `size` bytes."""

    def again(self, address: Address, attempt: Callable[[], Value]) -> Value:
        """Return what an attempt gives, made again where its failure may pass."""
        policy = self.policy
        for number in range(1, policy.attempts + 1):
            try:
                return attempt()
            except AgainError as error:
                reason, after = str(error), error.after
            if number < policy.attempts:
                wait = policy.wait * 2 ** (number - 1) * random.uniform(0.5, 1.0)
                time.sleep(min(max(wait, after or 0.0), policy.longest))
        times = "once" if policy.attempts == 1 else f"{policy.attempts} times"
        msg = (
            f"{address} could not be read ({reason}), though it was tried {times}: the host or "
            "the connection fails, or is busy; try again later"
        )
        raise ReadError(msg)


def transport_for(
    address: Address, options: Mapping[str, Any] | None = None, policy: Policy | None = None
) -> Transport:
    """Return what reads an address: Python's own client for http, fsspec for all others.

    Parameters
    ----------
    address
        Of a database.
    options
        What fsspec is to be told of credentials and hosts.
    policy
        How the host is asked.
    """
    policy = policy or DEFAULT
    if address.is_http:
        from lcdb.remote.http import HTTP

        return HTTP(policy, options)
    from lcdb.remote.filesystem import FileSystem

    return FileSystem(policy, options)
