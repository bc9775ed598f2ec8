"""Jobs that need more of Flink than its streaming API, and their cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.golden.api_cases import api_cases
from tests.golden.backends import backend_cases
from tests.golden.case import Case


@dataclass(frozen=True)
class Library:
    """What a job needs.

    :param name: the profile in ``jobs/pom.xml`` with the jars, and the folder in ``jobs/src`` with the job.
    :param versions: Flink's version by a case's, where not the newest of its jars can be had.
    """

    name: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


NONE = Library()
SQL = Library("sql", {"f120": "1.20.3"})
LIBRARIES: Mapping[str, Library] = {
    "sql": SQL,
    "sqlcore": SQL,
    "changes": Library("backends"),
    "cep": Library("cep"),
    "scala": Library("scala", {"f120": "1.20.3"}),
    "scalakryo": Library("scala", {"f120": "1.20.3"}),
    "avro": Library("avro", {"f120": "1.20.3"}),
}
"""By the job."""


def profiles(library: str, version: str) -> list[str]:
    """The profiles of ``jobs/pom.xml`` for a library and a version of Flink."""
    if library != "backends" or version.startswith("1.13"):
        return [library] if library else []
    # flink-dstl-dfs, which writes changelogs into files, was not to be had for Flink 1.17.
    return ["backends", "changelog", *([] if version.startswith("1.17") else ["changelog-files"])]


def library_cases() -> list[Case]:
    """The cases of all libraries."""
    return [*backend_cases(), *api_cases()]


__all__ = ["LIBRARIES", "NONE", "Library", "library_cases", "profiles"]
