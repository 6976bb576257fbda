"""Downloads one ARFF file with OpenML's own client, in a process of its own.

The client keeps global state, writes below the home directory when it is imported, waits for ever
for a server that never answers, and two of it in one cache folder corrupt each other. So this file
is run by itself with a folder of its own, and can be killed; it imports nothing of this package.
The answer goes to ``answer.json`` in that folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["main"]

ANSWER = "answer.json"


class _TooMuchError(Exception):
    """An answer, unpacked, is longer than may be."""


def _with_limits(seconds: float, most: int) -> None:
    """Give every request of this process a time-out and a longest answer; the client has neither.

    A server may pack its answer: what counts is the length when it is unpacked.
    """
    import requests

    ask = requests.Session.request

    def request(self: Any, method: str, url: str, **more: Any) -> Any:
        answer = ask(self, method, url, **{**more, "timeout": seconds, "stream": True})
        pieces, length = [], 0
        for piece in answer.iter_content(1 << 16):
            length += len(piece)
            if length > most:
                answer.close()
                msg = f"{urlsplit(url).netloc} answers with more than {most:,} bytes"
                raise _TooMuchError(msg)
            pieces.append(piece)
        answer._content = b"".join(pieces)
        return answer

    requests.Session.request = request  # type: ignore[assignment,method-assign]


def _host(error: Exception, server: str) -> str:
    url = getattr(getattr(error, "request", None), "url", None) or server
    return urlsplit(str(url)).netloc


def explain(error: Exception, id: int, server: str, timeout: float) -> str:
    """Return what went wrong, in words; the client raises bare KeyErrors and the like."""
    import requests
    from openml import exceptions as oml

    if isinstance(error, _TooMuchError):
        return f"{error}; LCDB_MAX_BYTES raises the limit"
    where = _host(error, server)
    if isinstance(error, requests.exceptions.Timeout) or "timed out" in str(error).lower():
        return f"{where} did not answer within {timeout:g} s"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return f"{where} broke off the connection in the middle of its answer"
    if isinstance(error, requests.exceptions.RequestException):
        return f"no connection to {where} ({type(error).__name__})"
    if isinstance(error, oml.OpenMLHashException):
        return f"{where} served an ARFF file with another md5 than announced (cut short?)"
    if isinstance(error, oml.OpenMLPrivateDatasetError | oml.OpenMLNotAuthorizedError):
        return f"dataset {id} is private at {where}"
    if isinstance(error, oml.OpenMLServerException):
        return f"{where} refuses: {error.message.strip()} (code {error.code})"
    # HTML pages of proxies and broken servers, JSON, and XML of other kinds end here.
    return f"{where} answered with something that is not OpenML's ({type(error).__name__})"


def download(id: int, server: str, timeout: float, retries: int) -> dict[str, Any]:
    """Return the description of a dataset and the path of its ARFF file in the cache folder."""
    import openml

    openml.config.server = server
    openml.config.apikey = ""
    openml.config.set_retry_policy("human", retries)
    dataset = openml.datasets.get_dataset(id, download_data=True)
    return {
        "arff": str(dataset.data_file),
        "format": dataset.format,
        "id": dataset.dataset_id,
        "ignore": dataset.ignore_attribute,
        "md5": dataset.md5_checksum,
        "name": dataset.name,
        "row_id": dataset.row_id_attribute,
        "target": dataset.default_target_attribute,
        "version": dataset.version,
    }


def main(arguments: str) -> None:
    """Download what the JSON text asks for, and write the answer or the reason why not."""
    asked = json.loads(arguments)
    folder = Path(asked.pop("folder"))
    _with_limits(asked["timeout"], asked.pop("most_bytes"))
    try:
        answer = download(**asked)
    except Exception as error:  # whatever the client raises becomes one line
        asked.pop("retries")
        answer = {"error": explain(error, **asked)}
    (folder / ANSWER).write_text(json.dumps(answer), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
