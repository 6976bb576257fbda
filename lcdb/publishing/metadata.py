"""What only people know of a database (title, authors, licence), and what is said without them."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from lcdb.errors import ArgumentError, NotFoundError, did_you_mean
from lcdb.publishing.contents import Contents
from lcdb.publishing.responsible import DEFAULTS, responsible
from lcdb.regular import read_regular
from lcdb.schema import CREDITS, METRICS
from lcdb.text import one_line, visible

__all__ = ["ADDRESS", "Creator", "Metadata", "read_metadata", "shortened"]

#: Who made a database if nobody says otherwise: as CITATION.cff of this project has it.
CREATOR = CREDITS["creator_name"]
LICENSE = CREDITS["license"]
VERSION = "1.0.0"
KEYWORDS = ("learning curves", "machine learning", "benchmark", "classification", "distributions")
_ADDRESSES = {
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
}
_SEMANTIC = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")
_DOI = re.compile(r"10\.\d{4,9}/[^\s<>\"]+")
_ORCID = re.compile(r"(?:https://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])")
#: An address, without a sign that could end it in Markdown, Python, YAML or HTML.
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._~!$&*+,;=:@%/\[\]-]+")
_SPDX = re.compile(r"[A-Za-z0-9.+-]+")
_TEXTS = ("title", "description", "version", "publisher", "license", "license_url", "citation")
_FIELDS = (*_TEXTS, "license_file", "doi", "date", "keywords", "creators", "rai")
_CREATOR_FIELDS = ("name", "given_names", "family_names", "orcid", "affiliation")


@dataclass(frozen=True)
class Creator:
    """A person (with given and family names) or an organization (with a name)."""

    name: str
    given_names: str = ""
    family_names: str = ""
    orcid: str = ""
    affiliation: str = ""

    @property
    def is_person(self) -> bool:
        """Whether it has a family name."""
        return bool(self.family_names)


@dataclass(frozen=True)
class Metadata:
    """All that is said of a database besides what it holds; `defaults` says what was not given."""

    title: str
    description: str
    creators: tuple[Creator, ...]
    publisher: str
    version: str
    date: date
    license: str
    license_url: str
    license_text: str
    keywords: tuple[str, ...]
    doi: str
    citation: str
    rai: Mapping[str, str | list[str]]
    defaults: Mapping[str, str]


def shortened(text: str, length: int = 80) -> str:
    """Return text that fits on a line; what is cut off leaves an ellipsis.

    Examples
    --------
    >>> shortened("a name of many words", 10)
    'a name of…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def read_metadata(path: str | os.PathLike[str] | None, contents: Contents) -> Metadata:
    """Return what a TOML file says of a database, with a default for whatever it leaves out.

    Raises
    ------
    NotFoundError
        There is no such file, or not the licence that it names.
    ArgumentError
        It is not TOML; it has a key that is not known, or a value that is not what is expected.
    """
    place = Path(path) if path is not None else None
    given = _parsed(place) if place else {}
    _check_keys(given, _FIELDS, str(place))
    defaults: dict[str, str] = {}

    def value(name: str, default: str, why: str) -> str:
        if name in given:
            return _text(given[name], name)
        defaults[name] = f"{default!r} ({why})" if why else repr(default)
        return default

    title = value("title", *_title(contents))
    license_ = _matching(_SPDX, value("license", LICENSE, "an SPDX id"), "license", LICENSE)
    creators = _creators(given, defaults)
    return Metadata(
        title=title,
        description=value("description", _description(contents), "from the cubes"),
        creators=creators,
        publisher=value("publisher", creators[0].name, "the first creator"),
        version=_matching(_SEMANTIC, value("version", *_version(contents)), "version", "1.0.0"),
        date=_date(given, contents, defaults),
        license=license_,
        license_url=_license_url(given, license_),
        license_text=_license_text(given, place),
        keywords=_keywords(given, defaults),
        doi=_matching(_DOI, _text(given["doi"], "doi"), "doi", "10.5281/zenodo.1234")
        if "doi" in given
        else "",
        citation=_text(given["citation"], "citation") if "citation" in given else "",
        rai=_rai(given, contents, defaults),
        defaults=defaults,
    )


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_regular(path, "a TOML file").decode())
    except ValueError as error:
        msg = f"{path} is not a TOML file: {error}"
        raise ArgumentError(msg) from error


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            msg = f"{where} has {key!r}, which is no field.{did_you_mean(key, known)}"
            raise ArgumentError(msg)


def _text(value: object, name: str) -> str:
    """Return a text without control characters; lines stay lines."""
    if not isinstance(value, str) or not value.strip():
        msg = f"{name} is {value!r}; expected a text that is not empty"
        raise ArgumentError(msg)
    return "\n".join(visible(line.rstrip()) for line in value.strip().splitlines())


def _matching(pattern: re.Pattern[str], text: str, name: str, example: str) -> str:
    if not pattern.fullmatch(text):
        msg = f"{name} is {text!r}; expected one such as {example!r}"
        raise ArgumentError(msg)
    return text


def _version(contents: Contents) -> tuple[str, str]:
    """Return the release's version, filled up to three numbers, and where it is from."""
    version = contents.release.version if contents.release else ""
    full = version + ".0" * (2 - version.count("."))
    return (full, "of the release") if _SEMANTIC.fullmatch(full) else (VERSION, "")


def _title(contents: Contents) -> tuple[str, str]:
    """Return the release's title, or one made of datasets, and where it is from."""
    if contents.release:
        return one_line(contents.release.title), "of the release"
    # Cubes of scaled features are of the same dataset.
    datasets = {cube.sha256: shortened(cube.name, 40) for cube in contents.cubes}
    names = list(datasets.values()) or list(contents.experiments)
    which = ", ".join(names) if len(names) <= 3 else f"{len(names)} datasets"
    return f"Learning curves as distributions: {which}", "from the cubes' datasets"


def _description(contents: Contents) -> str:
    if not contents.cubes:
        return f"Distributions over hyper-parameters: {'; '.join(contents.experiments.values())}."
    repetitions = sorted({cube.repetitions for cube in contents.cubes})
    many = f"{repetitions[-1]:,}" if len(repetitions) == 1 else f"up to {repetitions[-1]:,}"
    count = len({cube.sha256 for cube in contents.cubes})
    learners = contents.labels("learner")
    scores = ", ".join(metric.long_name for metric in METRICS.values())
    summaries = all(cube.path.startswith("summaries/") for cube in contents.cubes)
    what = "statistics of the scores" if summaries else "the scores"
    text = (
        f"Learning curves of {len(learners)} classifier{'s' * (len(learners) != 1)} on {count} "
        f"dataset{'s' * (count != 1)}: at each training size {what} ({scores}) of {many} "
        "repetitions, each with its own random draw of training and test rows, so that a point of "
        "a curve is a distribution and not only its mean."
    )
    if contents.experiments:
        text += f" Experiments over hyper-parameters: {', '.join(contents.experiments)}."
    return text


def _creators(given: Mapping[str, Any], defaults: dict[str, str]) -> tuple[Creator, ...]:
    if "creators" not in given:
        defaults["creators"] = f"{CREATOR!r} (as CITATION.cff of lcdb has it)"
        return (Creator(CREATOR),)
    tables = given["creators"]
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        msg = "creators is not a list of tables; expected [[creators]] with a name in each"
        raise ArgumentError(msg)
    return tuple(_creator(table) for table in tables)


def _creator(table: Mapping[str, Any]) -> Creator:
    _check_keys(table, _CREATOR_FIELDS, "[[creators]]")
    texts = {name: one_line(_text(value, f"creators.{name}")) for name, value in table.items()}
    if "family_names" in texts:
        texts.setdefault("name", f"{texts.get('given_names', '')} {texts['family_names']}".strip())
    if "name" not in texts or ("given_names" in texts and "family_names" not in texts):
        msg = "[[creators]] lacks a name; expected name, or given_names and family_names"
        raise ArgumentError(msg)
    if "orcid" in texts:
        digits = _ORCID.fullmatch(texts["orcid"])
        if not digits:
            msg = f"orcid is {texts['orcid']!r}; expected one such as '0000-0002-1825-0097'"
            raise ArgumentError(msg)
        texts["orcid"] = f"https://orcid.org/{digits[1]}"
    return Creator(**texts)


def _date(given: Mapping[str, Any], contents: Contents, defaults: dict[str, str]) -> date:
    if "date" not in given:
        defaults["date"] = f"{contents.last_written.date()} ({contents.dated_by})"
        return contents.last_written.date()
    value = given["date"]
    try:
        return value if type(value) is date else date.fromisoformat(_text(value, "date"))
    except ValueError as error:
        msg = f"date is {value!r}; expected a day such as 2026-11-19"
        raise ArgumentError(msg) from error


def _license_url(given: Mapping[str, Any], license_: str) -> str:
    if "license_url" not in given:
        return _ADDRESSES.get(license_, f"https://spdx.org/licenses/{license_}.html")
    text = _text(given["license_url"], "license_url")
    return _matching(ADDRESS, text, "license_url", "https://creativecommons.org/licenses/by/4.0/")


def _license_text(given: Mapping[str, Any], place: Path | None) -> str:
    if "license_file" not in given or place is None:
        return ""
    path = place.parent / _text(given["license_file"], "license_file")
    try:
        return read_regular(path, "the text of the licence").decode()
    except UnicodeDecodeError as error:
        msg = f"{path} is no text: {error}; expected the licence in UTF-8"
        raise NotFoundError(msg) from error


def _keywords(given: Mapping[str, Any], defaults: dict[str, str]) -> tuple[str, ...]:
    if "keywords" not in given:
        defaults["keywords"] = ", ".join(KEYWORDS)
        return KEYWORDS
    words = given["keywords"]
    if not isinstance(words, list) or not words:
        msg = f"keywords is {words!r}; expected a list of texts"
        raise ArgumentError(msg)
    return tuple(dict.fromkeys(one_line(_text(word, "keywords")) for word in words))


def _rai(
    given: Mapping[str, Any], contents: Contents, defaults: dict[str, str]
) -> dict[str, str | list[str]]:
    """Return the responsible-AI fields: those that are given, and defaults for the others."""
    table = given.get("rai", {})
    if not isinstance(table, dict):
        msg = f"rai is {table!r}; expected a table [rai]"
        raise ArgumentError(msg)
    _check_keys(table, DEFAULTS, "[rai]")
    said = responsible(contents)
    for name in DEFAULTS:
        if name not in table:
            defaults[f"rai.{name}"] = "what lcdb knows of every database"
        elif isinstance(table[name], list):
            said[name] = [_text(one, f"rai.{name}") for one in table[name]]
        else:
            said[name] = _text(table[name], f"rai.{name}")
    return said
