"""Databases on what fsspec knows: an S3 server that checks signatures, memory, files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request

import pytest

import lcdb
from lcdb import errors
from lcdb.remote.transport import Policy
from tests.support.remote_database import make_database

QUICK = Policy(attempts=2, wait=0.001, longest=0.01)
pytestmark = [
    # Of the libraries that speak with S3, and of the loop that fsspec keeps until the end.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return make_database(tmp_path_factory.mktemp("remote") / "db")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("lcdb.remote.transport.DEFAULT", QUICK)


def start() -> tuple[subprocess.Popen, str]:
    environment = {**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "1000"}
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    )
    for line in process.stderr:
        if match := re.search(r"http://127\.0\.0\.1:\d+", line):
            return process, match[0]
    pytest.fail(f"the S3 server ended with {process.wait(10)} before it began")


@pytest.fixture(scope="module")
def bucket(database):
    """A bucket with the database, on a server of its own, and the keys of who may read it."""
    pytest.importorskip("moto", reason="the S3 server is in the extra dev")
    from botocore.session import Session

    process, url = start()
    try:
        common = {
            "endpoint_url": url,
            "region_name": "us-east-1",
            "aws_access_key_id": "setting",
            "aws_secret_access_key": "up",
        }
        store, users = (Session().create_client(name, **common) for name in ("s3", "iam"))
        store.create_bucket(Bucket="curves")
        for file in database.rglob("*"):
            if file.is_file():
                key = f"some/db/{file.relative_to(database).as_posix()}"
                store.put_object(Bucket="curves", Key=key, Body=file.read_bytes())
        users.create_user(UserName="reader")
        policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:Get*"'
        policy += ', "Resource": "*"}]}'
        users.put_user_policy(UserName="reader", PolicyName="reads", PolicyDocument=policy)
        key = users.create_access_key(UserName="reader")["AccessKey"]
        # From now on every request has to be signed by somebody who may do it.
        request = urllib.request.Request(
            f"{url}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"}
        )
        urllib.request.urlopen(request, timeout=10).close()
        yield {"key": key["AccessKeyId"], "secret": key["SecretAccessKey"], "endpoint_url": url}
    finally:
        process.terminate()
        process.wait(10)
        process.stderr.close()


@pytest.mark.server
@pytest.mark.process
def test_a_bucket_is_the_same_as_a_folder(bucket, database):
    url = "s3://curves/some/db"
    with lcdb.open(url, storage_options=bucket) as remote, lcdb.open(database) as local:
        assert repr(remote) == repr(local).replace(str(database), url)
        for key in [*local, "dse"]:
            assert remote[key].identical(local[key])
        expected = local.curve("iris", "QDC", metric="auc")
        assert remote.curve("iris", "QDC", metric="auc").identical(expected)


@pytest.mark.server
@pytest.mark.process
def test_ranges_are_asked_for_and_not_the_whole(bucket, monkeypatch):
    s3fs = pytest.importorskip("s3fs")
    asked = []
    read = s3fs.S3FileSystem._cat_file

    async def counted(self, path, version_id=None, start=None, end=None):
        data = await read(self, path, version_id, start, end)
        asked.append((path.rpartition("/")[2], len(data)))
        return data

    monkeypatch.setattr(s3fs.S3FileSystem, "_cat_file", counted)
    fresh = {**bucket, "skip_instance_cache": True}  # one that calls what is put in here
    with lcdb.open("s3://curves/some/db", storage_options=fresh) as db:
        db.curve("iris", "LDC", metric="auc").load()
    assert [name for name, _ in asked] == ["index.json", "61.nc.index.json", "61.nc"]
    assert asked[-1][1] < 10_000


@pytest.mark.server
@pytest.mark.process
@pytest.mark.parametrize("wrong", [{"secret": "wrong"}, {"key": "nobody"}])
def test_who_may_not_read_is_told(bucket, wrong):
    with pytest.raises(errors.ReadError, match="it wants credentials; see storage_options"):
        lcdb.open("s3://curves/some/db", storage_options={**bucket, **wrong})


@pytest.mark.server
@pytest.mark.process
def test_a_bucket_without_an_index_is_told(bucket):
    with pytest.raises(errors.LCDBError, match="does not exist"):
        lcdb.open("s3://curves/nothing", storage_options=bucket)


def test_other_file_systems(database, tmp_path):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(f"{database}/", "/somewhere/", recursive=True)
    try:
        with lcdb.open("memory://somewhere") as remote, lcdb.open(database) as local:
            assert remote["iris"].identical(local["iris"])
        with lcdb.open("memory://somewhere/cubes/61.nc") as one:
            assert list(one) == [61]
            cube = memory.cat_file("/somewhere/cubes/61.nc")
            memory.pipe_file("/somewhere/cubes/61.nc", cube[:20_000])
            with pytest.raises(errors.ReadError, match="shorter one, or its host"):
                one["iris"]["brier"].load()
    finally:
        memory.rm("/somewhere", recursive=True)
    with lcdb.open(f"file://{database}") as db:
        assert len(db) == 2
    with pytest.raises(errors.NotFoundError, match="'lcdb index'"):
        lcdb.open(f"file://{tmp_path}")
    with pytest.raises(errors.ArgumentError, match="expected a URL that fsspec knows"):
        lcdb.open("nonsense://a/b")


@pytest.mark.slow
def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(errors.MissingExtraError, match=r"lcdb-plusplus\[remote\]"):
        lcdb.open("s3://curves/db")
