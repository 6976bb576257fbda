"""Ranges from whatever fsspec knows: object stores, file servers, archives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lcdb.errors import ArgumentError, LCDBError, MissingExtraError, NotFoundError, ReadError
from lcdb.remote.address import Address
from lcdb.remote.transport import AgainError, Policy, Transport

__all__ = ["FileSystem"]

# What trying again does not change, by the names that libraries of hosts give it.
_CREDENTIALS = ("NoCredentials", "PartialCredentials", "PermissionError", "Forbidden", "Signature")


class FileSystem(Transport):
    """Reads by means of fsspec.

    Parameters
    ----------
    policy
        How often and how long.
    options
        Of the file system, as fsspec takes them.
    """

    def __init__(self, policy: Policy, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(policy)
        self._options = dict(options or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return FileSystem, (self.policy, self._options)

    def _system(self, address: Address) -> tuple[Any, str]:
        """Return the file system of an address, and the path in it."""
        try:
            import fsspec
        except ModuleNotFoundError as error:
            raise _missing(address, "fsspec") from error
        try:
            return fsspec.core.url_to_fs(address.url, **self._options)
        except ImportError as error:
            raise _missing(address, str(error)) from error
        except (ValueError, TypeError) as error:
            msg = f"{address} cannot be opened ({error}); expected a URL that fsspec knows"
            raise ArgumentError(msg) from error

    def whole(self, address: Address, limit: int, *, fresh: bool = False) -> bytes:
        """Return a whole file of at most so many bytes."""
        return self._read(address, 0, limit, fresh)

    def part(
        self, address: Address, first: int, length: int, size: int, *, fresh: bool = False
    ) -> bytes:
        """Return exactly the bytes of a range of a file that has `size` bytes."""
        data = self._read(address, first, first + length, fresh)
        if len(data) != length:
            msg = (
                f"{address} gave {len(data):,} bytes where {length:,} were asked for: it was "
                "replaced by a shorter one, or its host does not know ranges"
            )
            raise ReadError(msg)
        return data

    def _read(self, address: Address, first: int, last: int, fresh: bool) -> bytes:
        system, path = self._system(address)

        def attempt() -> bytes:
            if fresh:
                system.invalidate_cache()
            return bytes(_asked(address, lambda: system.cat_file(path, start=first, end=last)))

        return self.again(address, attempt)


def _missing(address: Address, what: str) -> MissingExtraError:
    msg = (
        f"{address} needs what is not installed ({what}): pip install 'lcdb-plusplus[remote]', "
        f"or what fsspec needs for {address.scheme}://"
    )
    return MissingExtraError(msg)


def _asked(address: Address, read: Callable[[], Any]) -> Any:
    """Return what a file system reads, its errors as ours."""
    try:
        return read()
    except LCDBError:
        raise
    except (FileNotFoundError, IsADirectoryError) as error:
        msg = f"{address} does not exist"
        raise NotFoundError(msg) from error
    except Exception as error:  # every library of a host has errors of its own
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        if any(name in reason for name in _CREDENTIALS):
            msg = (
                f"{address} may not be read, or does not exist ({reason}): it wants credentials; "
                "see storage_options of lcdb.open"
            )
            raise ReadError(msg) from error
        raise AgainError(reason) from error
