"""RO-Crate 1.1: the description that research archives and workflow tools read."""

from __future__ import annotations

from typing import Any

from lcdb.publishing.contents import Contents
from lcdb.publishing.metadata import Creator, Metadata
from lcdb.publishing.text import address

__all__ = ["ro_crate"]

_CONTEXT = "https://w3id.org/ro/crate/1.1/context"
_PROFILE = "https://w3id.org/ro/crate/1.1"


def ro_crate(
    contents: Contents, metadata: Metadata, url: str, pages: dict[str, str]
) -> dict[str, Any]:
    """Return the crate's metadata; `pages` are the files beside it: name to media type."""
    files = [
        {
            "@id": address(url, file.path),
            "@type": "File",
            "name": file.path,
            "contentSize": str(file.bytes),
            "encodingFormat": file.format,
            "sha256": file.sha256,
        }
        for file in contents.files
    ]
    beside: list[dict[str, Any]] = [
        {"@id": name, "@type": "File", "name": name, "encodingFormat": kind}
        for name, kind in pages.items()
    ]
    agents = [_agent(creator, number) for number, creator in enumerate(metadata.creators, 1)]
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": metadata.title,
        "description": metadata.description,
        "url": url,
        "version": metadata.version,
        "datePublished": metadata.date.isoformat(),
        "keywords": list(metadata.keywords),
        "license": {"@id": metadata.license_url},
        "creator": [{"@id": agent["@id"]} for agent in agents],
        "publisher": {"@id": "#publisher"},
        "hasPart": [{"@id": one["@id"]} for one in (*beside, *files)],
    }
    if metadata.doi:
        root["identifier"] = f"https://doi.org/{metadata.doi}"
    return {
        "@context": _CONTEXT,
        "@graph": [
            {
                "@id": "ro-crate-metadata.json",
                "@type": "CreativeWork",
                "about": {"@id": "./"},
                "conformsTo": {"@id": _PROFILE},
            },
            root,
            {
                "@id": metadata.license_url,
                "@type": "CreativeWork",
                "name": metadata.license,
                "description": f"The licence {metadata.license}",
            },
            {"@id": "#publisher", "@type": "Organization", "name": metadata.publisher},
            *agents,
            *beside,
            *files,
        ],
    }


def _agent(creator: Creator, number: int) -> dict[str, Any]:
    agent: dict[str, Any] = {
        "@id": creator.orcid or f"#creator-{number}",
        "@type": "Person" if creator.is_person else "Organization",
        "name": creator.name,
    }
    if creator.is_person:
        agent |= {"givenName": creator.given_names, "familyName": creator.family_names}
    if creator.affiliation:
        agent["affiliation"] = creator.affiliation
    return agent
