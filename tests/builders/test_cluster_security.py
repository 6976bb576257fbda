"""Who may have code run by a build: nobody but its owner."""

from __future__ import annotations

import os
import subprocess
import sys

import lcdb_builders
import pytest
from distributed import Scheduler, Security
from distributed.deploy.spec import SpecCluster
from lcdb_builders.run.cluster import security_of
from lcdb_builders.run.pool import check_pool

from lcdb.errors import PlanError
from tests.support.pools import pool, shared  # noqa: F401

# What an attacker tries at an address: a client with no key, with a key of their own.
ATTACK = """
import os, sys, warnings
warnings.simplefilter("ignore")
from distributed import Client, Security
import logging
logging.disable(logging.CRITICAL)
import distributed.comm.tcp, distributed.client, tornado.netutil, encodings.idna
address = sys.argv[1]
tcp, other = address.replace("tls://", "tcp://"), Security.temporary()
try:  # once as oneself: what is imported on the way may be out of the other's reach
    Client(tcp, timeout=float(sys.argv[2])).close()
except Exception:
    pass
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for where, security in ((tcp, None), (address, other), (address, None)):
    try:
        with Client(where, timeout=float(sys.argv[2]), security=security) as client:
            client.run_on_scheduler(os.getpid)
            print("reached", where)
    except Exception as error:
        print("refused", type(error).__name__)
"""


def addresses(pool):
    """Return where the scheduler and its worker listen."""
    return [pool.client.scheduler.address, *pool.client.scheduler_info()["workers"]]


def attacked(address, patience=3):
    """Return what another user gets at an address within so many seconds, word by word."""
    command = [sys.executable, "-c", ATTACK, address, str(patience)]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split()[0] for line in done.stdout.splitlines()]


@pytest.mark.server
@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")
def test_another_user_cannot_reach_scheduler_or_worker(pool):
    while not pool.threads():
        pass
    servers = addresses(pool)
    assert len(servers) == 2
    for address in servers:
        assert attacked(address) == ["refused"] * 3
    # The owner of the key still can.
    assert pool.client.submit(abs, -3).result(timeout=60) == 3


@pytest.mark.server
@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")
def test_the_attack_would_reach_an_open_scheduler():
    options = {"host": "127.0.0.1", "port": 0, "dashboard": False, "dashboard_address": ":0"}
    scheduler = {"cls": Scheduler, "options": options}
    with SpecCluster(workers={}, scheduler=scheduler, silence_logs=False) as cluster:
        got = attacked(cluster.scheduler_address, patience=60)
    assert got == ["reached", "refused", "reached"]


@pytest.fixture
def certificates(tmp_path):
    made = Security.temporary()
    folder = tmp_path / "certificates"
    folder.mkdir()
    for name, text in (("ca", made.tls_ca_file), ("cert", made.tls_client_cert),
                       ("key", made.tls_client_key)):  # fmt: skip
        (folder / f"{name}.pem").write_text(text)
        (folder / f"{name}.pem").chmod(0o600)
    return folder


def test_certificate_files(certificates):
    security = security_of(certificates)
    assert security.require_encryption
    assert security.get_tls_config_for_role("client")["key"] == str(certificates / "key.pem")
    check_pool(scheduler="tls://node1:8786", certificates=certificates)
    with pytest.raises(PlanError, match=r"for tcp://node1:8786; expected tls://host:port"):
        check_pool(scheduler="tcp://node1:8786", certificates=certificates)
    with pytest.raises(PlanError, match="for no scheduler"):
        check_pool(certificates=certificates)
    (certificates / "key.pem").chmod(0o644)
    with pytest.raises(PlanError, match=r"others may read .*key.pem; run 'chmod go= "):
        check_pool(scheduler="tls://node1:8786", certificates=certificates)
    (certificates / "key.pem").unlink()
    with pytest.raises(PlanError, match=r"has no key.pem; expected ca.pem, cert.pem and key.pem"):
        security_of(certificates)


@pytest.mark.server
@pytest.mark.process
def test_a_build_reaches_a_scheduler_with_its_certificates(pool, shared, tmp_path):
    """The same cube as on workers of its own; who has no certificate gets nowhere."""
    plan = {"datasets": [61, 11], "learners": ["NMC"], "sizes": [5, 50], "repetitions": 4}
    report = lcdb_builders.build(
        plan,
        tmp_path / "there",
        scheduler=shared["scheduler"],
        certificates=shared["certificates"],
        datasets=["iris"],
    )
    assert report.computed == 12 and list(report.cubes) == ["61"]
    here = lcdb_builders.build(plan, tmp_path / "here", workers=1, datasets=[61])
    assert here.cubes["61"].sha256 == report.cubes["61"].sha256
    assert pool.client.submit(abs, -3).result(timeout=60) == 3  # its workers are not ended
