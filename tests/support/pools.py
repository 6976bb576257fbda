"""A dask scheduler with one worker, both reached by certificates, as users start them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, Scheduler, Security, Worker
from distributed.deploy.spec import SpecCluster
from lcdb_builders.run.cluster import SETTINGS, DaskPool

__all__ = ["pool", "shared", "written"]


@pytest.fixture(scope="module")
def pool() -> Iterator[DaskPool]:
    """A scheduler with one worker, in this process: its tasks go to a child."""
    security = Security.temporary()
    common = {"protocol": "tls://", "security": security, "host": "127.0.0.1", "dashboard": False}
    scheduler = {"cls": Scheduler, "options": {**common, "port": 0, "dashboard_address": ":0"}}
    worker = {"cls": Worker, "options": {**common, "nthreads": 1, "memory_limit": 0}}
    with (
        dask.config.set({**SETTINGS, "distributed.worker.http.routes": []}),
        SpecCluster(
            {0: worker}, scheduler=scheduler, security=security, silence_logs=False
        ) as made,
        Client(made, set_as_default=False) as client,
    ):
        yield DaskPool(client, "the scheduler of a test", "workers of a test")


@pytest.fixture(scope="module")
def shared(pool, tmp_path_factory) -> dict[str, Any]:
    """Options of a build that has its blocks computed by that worker."""
    folder = written(pool, tmp_path_factory.mktemp("certificates"))
    return {"scheduler": pool.client.scheduler.address, "certificates": folder}


def written(pool: DaskPool, folder: Path) -> Path:
    """Write the certificates of a pool into a folder, for nobody else to read."""
    security = pool.client.security
    for name, text in (
        ("ca", security.tls_ca_file),
        ("cert", security.tls_client_cert),
        ("key", security.tls_client_key),
    ):
        (folder / f"{name}.pem").write_text(text)
        (folder / f"{name}.pem").chmod(0o600)
    return folder
