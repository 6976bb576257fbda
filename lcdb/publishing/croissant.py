"""Croissant 1.0 with the responsible-AI fields: what dataset searches and loaders read."""

from __future__ import annotations

from typing import Any

from lcdb.publishing.contents import Contents, Cube, File
from lcdb.publishing.metadata import Creator, Metadata, shortened
from lcdb.publishing.text import address, bibtex

__all__ = ["croissant"]

# As the specification prescribes it, word for word: readers compare.
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_CONFORMS = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]

# Fields of the record set `datasets`: type and meaning of what `_record` returns.
_FIELDS = {
    "id": ("sc:Text", "what lcdb.open(...)[...] takes"),
    "name": ("sc:Text", "name of the dataset"),
    "file": ("sc:Text", "its cube, below the address of the database"),
    "rows": ("sc:Integer", "rows of the dataset"),
    "features": ("sc:Integer", "columns that learners are trained on, before encoding"),
    "classes": ("sc:Integer", "number of classes"),
    "first_size": ("sc:Integer", "smallest training size"),
    "last_size": ("sc:Integer", "largest training size"),
    "sizes": ("sc:Integer", "number of training sizes"),
    "repetitions": ("sc:Integer", "repetitions of each cell"),
    "learners": ("sc:Integer", "number of learners"),
    "complete_curves": ("sc:Integer", "curves that were computed whole"),
}


def croissant(contents: Contents, metadata: Metadata, url: str) -> dict[str, Any]:
    """Return the JSON-LD of a database at an address."""
    document: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS,
        "name": metadata.title,
        "description": metadata.description,
        "url": url,
        "license": metadata.license_url,
        "version": metadata.version,
        "datePublished": metadata.date.isoformat(),
        "dateModified": contents.last_written.date().isoformat(),
        "inLanguage": "en",
        "keywords": list(metadata.keywords),
        "creator": [_agent(creator) for creator in metadata.creators],
        "publisher": {"@type": "sc:Organization", "name": metadata.publisher},
        "citeAs": metadata.citation or _citation(metadata, url),
        "isLiveDataset": False,
    }
    if metadata.doi:
        document["sameAs"] = f"https://doi.org/{metadata.doi}"
    document |= {f"rai:{name}": value for name, value in metadata.rai.items()}
    document["rai:dataCollectionTimeframe"] = [
        contents.first_written.isoformat(),
        contents.last_written.isoformat(),
    ]
    document["distribution"] = [_file(file, url) for file in contents.files]
    if contents.cubes:
        document["recordSet"] = [_datasets(contents.cubes)]
    return document


def _agent(creator: Creator) -> dict[str, Any]:
    agent: dict[str, Any] = {
        "@type": "sc:Person" if creator.is_person else "sc:Organization",
        "name": creator.name,
    }
    if creator.orcid:
        agent["url"] = creator.orcid
    return agent


def _citation(metadata: Metadata, url: str) -> str:
    authors = " and ".join(
        f"{bibtex(creator.family_names)}, {bibtex(creator.given_names)}".rstrip(", ")
        if creator.is_person
        else f"{{{bibtex(creator.name)}}}"
        for creator in metadata.creators
    )
    fields = {
        "title": f"{{{bibtex(metadata.title)}}}",
        "author": authors,
        "publisher": bibtex(metadata.publisher),
        "year": str(metadata.date.year),
        "version": metadata.version,
        "doi" if metadata.doi else "url": metadata.doi or url,
    }
    lines = ", ".join(f"{name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{lcdb{metadata.date.year}, {lines}}}"


def _file(file: File, url: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "contentUrl": address(url, file.path),
        "contentSize": f"{file.bytes} B",
        "encodingFormat": file.format,
        "sha256": file.sha256,
    }


def _datasets(cubes: tuple[Cube, ...]) -> dict[str, Any]:
    """Return a table of the datasets; the arrays are in netCDF, which Croissant cannot describe."""
    return {
        "@type": "cr:RecordSet",
        "@id": "datasets",
        "name": "datasets",
        "description": "One row per dataset, with the file that has its learning curves.",
        "key": {"@id": "datasets/id"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"datasets/{name}",
                "name": f"datasets/{name}",
                "description": meaning,
                "dataType": kind,
            }
            for name, (kind, meaning) in _FIELDS.items()
        ],
        "data": [
            {f"datasets/{name}": value for name, value in _record(cube).items()} for cube in cubes
        ],
    }


def _record(cube: Cube) -> dict[str, Any]:
    return {
        "id": cube.id,
        "name": shortened(cube.name, 1000),
        "file": cube.path,
        "rows": cube.rows,
        "features": cube.features,
        "classes": cube.classes,
        "first_size": cube.first_size,
        "last_size": cube.last_size,
        "sizes": cube.sizes,
        "repetitions": cube.repetitions,
        "learners": len(cube.labels["learner"]),
        "complete_curves": cube.status["complete"],
    }
