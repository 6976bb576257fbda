"""The responsible-AI fields of Croissant: how the numbers came about, and what they are not for."""

from __future__ import annotations

from lcdb.publishing.contents import Contents

__all__ = ["DEFAULTS", "responsible"]

_Fields = dict[str, str | list[str]]

#: The fields that are always there, by their names in Croissant's vocabulary.
DEFAULTS = (
    "dataCollection",
    "dataCollectionType",
    "dataCollectionMissingData",
    "dataCollectionRawData",
    "dataImputationProtocol",
    "dataPreprocessingProtocol",
    "dataAnnotationProtocol",
    "dataLimitations",
    "dataBiases",
    "dataUseCases",
    "dataSocialImpact",
    "personalSensitiveInformation",
    "dataReleaseMaintenancePlan",
)


def responsible(contents: Contents) -> _Fields:
    """Return what can be said of any database, with the numbers of this one."""
    return {**_provenance(contents), **_preparation(contents), **_use()}


def _provenance(contents: Contents) -> _Fields:
    versions = ", ".join(contents.package_versions)
    missing = ", ".join(
        f"{count:,} {name.replace('_', ' ')}" for name, count in contents.status.items()
    )
    return {
        "dataCollection": (
            "Computed, not collected: classifiers are trained on random samples of public or local "
            "datasets and scored on rows that they were not trained on (except where the split is "
            "called 'pool'). Random numbers come from keyed streams, so that each value can be "
            f"computed again. Written by lcdb-plusplus {versions}."
            if versions
            else "Computed, not collected: learners are run with random hyper-parameters."
        ),
        "dataCollectionType": ["Experiments", "Secondary Data analysis"],
        "dataCollectionMissingData": (
            f"Curves by status: {missing or 'none'}. Values that were not computed are NaN or a "
            "stated integer, and the variable 'status' of each file says why."
        ),
        "dataCollectionRawData": _raw(contents),
    }


def _raw(contents: Contents) -> str:
    datasets = [
        f"{cube.name} ({f'OpenML {cube.openml_id}, ' if cube.openml_id is not None else ''}"
        f"{cube.rows} rows, SHA-256 of its canonical bytes {cube.sha256})"
        for cube in contents.cubes
    ]
    return (
        "The datasets themselves are not part of this one. The scores were computed on: "
        f"{'; '.join(datasets) or 'generated data'}."
    )


def _preparation(contents: Contents) -> _Fields:
    imputed = sum(cube.imputed_cells for cube in contents.cubes)
    dropped = sum(cube.dropped_rows for cube in contents.cubes)
    return {
        "dataImputationProtocol": (
            f"{imputed:,} missing cell{'s' * (imputed != 1)} of the datasets were filled with the "
            "median (numbers) or mode (categories) of their column over the whole dataset. "
            "Scores are never imputed."
        ),
        "dataPreprocessingProtocol": [
            f"{dropped:,} row{'s' * (dropped != 1)} without a target dropped.",
            "Each file's attributes count the rows dropped, the cells imputed and the rows that "
            "repeat an earlier one; its attribute 'plan' has the parameters of every learner.",
        ],
        "dataAnnotationProtocol": ["None: class labels are those of the datasets."],
    }


def _use() -> _Fields:
    return {
        "dataLimitations": [
            "Tabular classification with the listed learners and parameters only; a curve says "
            "nothing of other datasets, sizes or settings.",
            "The repetitions of a cell resample one finite dataset: their spread is that of the "
            "procedure on this dataset, not of new data from its population.",
        ],
        "dataBiases": [
            "Datasets and learners were chosen, not sampled: a mean over them is a mean over this "
            "choice."
        ],
        "dataUseCases": [
            "Research on learning curves: shapes, distributions, extrapolation, model selection, "
            "sample-size planning.",
            "Not meant to certify a classifier for use on people.",
        ],
        "dataSocialImpact": (
            "Repetitions that others need not compute save energy; rankings taken out of context "
            "may favour the learners and datasets that were chosen."
        ),
        "personalSensitiveInformation": [
            "None in the scores: no row of a dataset is part of the files. The datasets that they "
            "were computed on may describe people. Manifests name the machine and the account "
            "that computed."
        ],
        "dataReleaseMaintenancePlan": (
            "Files are identified by their SHA-256. A change of a number is a new version; errors "
            "are told to the creators."
        ),
    }
