"""A dask worker of a local build: started as a program of its own, ends with the build.

Not through multiprocessing, which would import the user's script again in every worker. It also
needs no nanny: what may crash or hang runs in a child of the worker.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading

__all__ = ["main"]


def _end_with_input() -> None:
    """End this process when the build that holds the other end of its input is gone."""
    sys.stdin.buffer.read()
    os._exit(0)


async def _serve(scheduler: str, name: str) -> None:
    from distributed import Worker

    # Importing distributed sets the levels of its loggers.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    worker = Worker(
        scheduler, name=name, nthreads=1, memory_limit=0, dashboard=False, host="127.0.0.1"
    )
    await worker
    await worker.finished()


def main(scheduler: str, name: str) -> None:
    """Work for a scheduler until it closes."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    asyncio.run(_serve(scheduler, name))


if __name__ == "__main__":
    main(*sys.argv[1:])
