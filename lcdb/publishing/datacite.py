"""DataCite metadata (kernel 4) as JSON: what archives ask for before they give a DOI."""

from __future__ import annotations

from typing import Any

from lcdb.publishing.contents import Contents
from lcdb.publishing.metadata import Creator, Metadata

__all__ = ["datacite"]


def datacite(contents: Contents, metadata: Metadata, url: str) -> dict[str, Any]:
    """Return the attributes of a DOI; without one yet, all but the DOI itself."""
    total = sum(file.bytes for file in contents.files)
    document: dict[str, Any] = {
        "types": {"resourceType": "Learning-curve database", "resourceTypeGeneral": "Dataset"},
        "creators": [_creator(creator) for creator in metadata.creators],
        "titles": [{"title": metadata.title}],
        "publisher": {"name": metadata.publisher},
        "publicationYear": str(metadata.date.year),
        "subjects": [{"subject": word} for word in metadata.keywords],
        "dates": [
            {"date": metadata.date.isoformat(), "dateType": "Issued"},
            {
                "date": f"{contents.first_written.date()}/{contents.last_written.date()}",
                "dateType": "Created",
            },
        ],
        "language": "en",
        "version": metadata.version,
        "rightsList": [
            {
                "rights": metadata.license,
                "rightsUri": metadata.license_url,
                "rightsIdentifier": metadata.license,
                "rightsIdentifierScheme": "SPDX",
                "schemeUri": "https://spdx.org/licenses/",
            }
        ],
        "descriptions": [{"description": metadata.description, "descriptionType": "Abstract"}],
        "sizes": [f"{total} bytes", f"{len(contents.files)} files"],
        "formats": sorted({file.format for file in contents.files}),
        "relatedIdentifiers": _sources(contents),
        "url": url,
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    }
    return {"doi": metadata.doi, **document} if metadata.doi else document


def _creator(creator: Creator) -> dict[str, Any]:
    if not creator.is_person:
        return {"name": creator.name, "nameType": "Organizational", **_more(creator)}
    return {
        "name": f"{creator.family_names}, {creator.given_names}".rstrip(", "),
        "nameType": "Personal",
        "givenName": creator.given_names,
        "familyName": creator.family_names,
        **_more(creator),
    }


def _more(creator: Creator) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if creator.orcid:
        more["nameIdentifiers"] = [
            {
                "nameIdentifier": creator.orcid,
                "nameIdentifierScheme": "ORCID",
                "schemeUri": "https://orcid.org",
            }
        ]
    if creator.affiliation:
        more["affiliation"] = [{"name": creator.affiliation}]
    return more


def _sources(contents: Contents) -> list[dict[str, str]]:
    ids = sorted({cube.openml_id for cube in contents.cubes if cube.openml_id is not None})
    return [
        {
            "relatedIdentifier": f"https://www.openml.org/d/{number}",
            "relatedIdentifierType": "URL",
            "relationType": "IsDerivedFrom",
        }
        for number in ids
    ]
