"""Workers that several builds of a module share: starting some for each takes the longest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from lcdb_builders.run.cluster import SETTINGS, Pool, local_pool

__all__ = ["pool", "shared", "written"]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """A scheduler with one worker."""
    with dask.config.set(SETTINGS), local_pool(1) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(pool, tmp_path_factory) -> dict[str, Any]:
    """Options of a build that has its blocks computed by that worker."""
    folder = written(pool, tmp_path_factory.mktemp("certificates"))
    return {"scheduler": pool.client.scheduler.address, "certificates": folder}


def written(pool: Pool, folder: Path) -> Path:
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
