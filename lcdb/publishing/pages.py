"""What people read beside the cubes: README, LICENSE, CITATION.cff and the list of digests."""

from __future__ import annotations

from collections.abc import Mapping

from lcdb.publishing.contents import Contents, Cube
from lcdb.publishing.metadata import Creator, Metadata, shortened
from lcdb.publishing.text import markdown, yaml

__all__ = ["citation", "license_page", "readme", "sums"]


def readme(contents: Contents, metadata: Metadata, url: str) -> str:
    """Return the page that a host shows: what is there, and the line that opens it."""
    total = sum(file.bytes for file in contents.files)
    parts = [
        f"# {markdown(metadata.title)}",
        "\n\n".join(map(markdown, metadata.description.split("\n\n"))),
        f'```python\nimport lcdb\ndb = lcdb.open("{url}")\n```',
        "`pip install lcdb-plusplus` brings `lcdb`. The cubes are netCDF-4 files, which any "
        "netCDF reader opens as well.",
    ]
    if contents.cubes:
        parts += [_counts(contents), _table(contents.cubes)]
    parts += [f"- {markdown(text)}" for text in contents.experiments.values()]
    names = ", ".join(markdown(creator.name) for creator in metadata.creators)
    doi = f", doi {markdown(metadata.doi)}" if metadata.doi else ""
    parts += [
        "## Files",
        f"{len(contents.files)} files, {total:,} bytes; `sha256sum -c SHA256SUMS` compares them. "
        "`croissant.json`, `ro-crate-metadata.json` and `datacite.json` describe them to machines.",
        "## Citation and licence",
        f"{names} ({metadata.date.year}), version {metadata.version}{doi}; see "
        f"`CITATION.cff`. Licence: [{markdown(metadata.license)}](<{metadata.license_url}>), see "
        "`LICENSE`.",
    ]
    return "\n\n".join(parts) + "\n"


def _counts(contents: Contents) -> str:
    status = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in contents.status.items())
    learners = contents.labels("learner")
    names = ", ".join(markdown(shortened(name, 40)) for name in learners[:20])
    more = f" and {len(learners) - 20} more" if len(learners) > 20 else ""
    return f"Learners ({len(learners)}): {names}{more}. Curves: {status}."


def _table(cubes: tuple[Cube, ...]) -> str:
    head = "| id | dataset | rows | features | classes | sizes | repetitions | complete curves |"
    lines = [head, "|---|---|--:|--:|--:|--:|--:|--:|"]
    for cube in cubes:
        sizes = f"{cube.first_size:,}…{cube.last_size:,} ({cube.sizes:,})"
        numbers = (cube.rows, cube.features, cube.classes)
        cells = [markdown(shortened(cube.id, 40)), markdown(shortened(cube.name))]
        cells += [f"{number:,}" for number in numbers]
        cells += [sizes, f"{cube.repetitions:,}", f"{cube.status['complete']:,}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def license_page(metadata: Metadata) -> str:
    """Return the text of the licence if it was given, and else a notice that names it."""
    if metadata.license_text:
        return metadata.license_text
    names = ", ".join(creator.name for creator in metadata.creators)
    return (
        f"{metadata.title}\n"
        f"Copyright (c) {metadata.date.year} {names}\n\n"
        f"SPDX-License-Identifier: {metadata.license}\n\n"
        f"This database is made available under the licence {metadata.license}; its text is at\n"
        f"{metadata.license_url}\n\n"
        "The datasets that it was computed on are not part of it and have licences of their own.\n"
    )


def citation(metadata: Metadata, url: str) -> str:
    """Return CITATION.cff, by which hosts of code and reference managers cite."""
    fields = {
        "title": metadata.title,
        "abstract": metadata.description,
        "version": metadata.version,
        "date-released": metadata.date.isoformat(),
        "license": metadata.license,
        "doi": metadata.doi,
        # The format knows addresses of the web alone.
        "url": url if url.startswith(("https://", "http://")) else "",
    }
    lines = [
        "cff-version: 1.2.0",
        f"message: {yaml('If you use this database, please cite it as below.')}",
        "type: dataset",
        *(f"{name}: {yaml(value)}" for name, value in fields.items() if value),
        "authors:",
        *(line for creator in metadata.creators for line in _author(creator)),
        "keywords:",
        *(f"  - {yaml(word)}" for word in metadata.keywords),
    ]
    return "\n".join(lines) + "\n"


def _author(creator: Creator) -> list[str]:
    names = (
        {"family-names": creator.family_names, "given-names": creator.given_names}
        if creator.is_person
        else {"name": creator.name}
    )
    more = {"orcid": creator.orcid}
    if creator.is_person:  # an organization has none in this format
        more["affiliation"] = creator.affiliation
    lines = [f"{name}: {yaml(value)}" for name, value in (names | more).items() if value]
    return [f"  {'- ' if first else '  '}{line}" for first, line in _marked(lines)]


def _marked(lines: list[str]) -> list[tuple[bool, str]]:
    return [(number == 0, line) for number, line in enumerate(lines)]


def sums(digests: Mapping[str, str]) -> str:
    """Return lines that ``sha256sum -c`` takes."""
    return "".join(f"{digest}  {path}\n" for path, digest in digests.items())
