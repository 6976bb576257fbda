"""A dask worker of a local build: started as a program of its own, ends with the build.

Not through multiprocessing, which would import the user's script again in every worker. It also
needs no nanny: what may crash or hang runs in a child of the worker.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading

__all__ = ["main"]

SETTINGS = {
    "distributed.worker.http.routes": [],  # pages that need no key
    # A worker waits for its child. To look every few milliseconds what it does meanwhile takes
    # three per cent of a core from the child.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


def _end_with_input() -> None:
    """End this process when the build that holds the other end of its input is gone."""
    # Not through sys.stdin, whose lock a thread may not hold when the interpreter shuts down.
    while os.read(0, 4096):
        pass
    os._exit(0)


async def _serve(scheduler: str, name: str, key: dict[str, str]) -> None:
    import dask
    from distributed import Security, Worker

    dask.config.set(SETTINGS)

    # Importing distributed sets the levels of its loggers.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    worker = Worker(
        scheduler,
        name=name,
        nthreads=1,
        memory_limit=0,
        dashboard=False,
        host="127.0.0.1",
        protocol="tls://",
        security=Security(
            require_encryption=True,
            tls_ca_file=key["ca_file"],
            tls_worker_cert=key["cert"],
            tls_worker_key=key["key"],
        ),
    )
    await worker
    await worker.finished()


def main(scheduler: str, name: str) -> None:
    """Work for a scheduler until it closes; the first line of the input is the key to it."""
    key = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    asyncio.run(_serve(scheduler, name, key))


if __name__ == "__main__":
    main(*sys.argv[1:])
