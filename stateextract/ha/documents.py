"""JSON and YAML documents, as ``kubectl`` prints them. Bytes of a file never become anything but maps, lists and text."""

from __future__ import annotations

import json
from typing import Any

from stateextract.errors import FormatError

_DEEPEST = 50
_MOST_YAML = 16 * 10**6
"""Characters. PyYAML reads about one million in a second."""


def parse_documents(text: str) -> list[Any]:
    """Parse the documents of a text that is JSON or YAML. All scalars of YAML are text.

    :raises FormatError: for another text, an alias, or documents that are nested too deeply.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            return [json.loads(text)]
        except RecursionError:
            raise FormatError("the JSON is nested too deeply") from None
        except ValueError as error:
            raise FormatError(f"the file is not JSON: {error}") from None
    if len(text) > _MOST_YAML:
        raise FormatError(
            f"the YAML has {len(text)} characters", expected=f"at most {_MOST_YAML}", advice="use the output of kubectl -o json"
        )
    import yaml  # here, since every command loads this module

    try:
        _check_events(text)
        return [document for document in yaml.load_all(text, yaml.BaseLoader) if document not in (None, "")]
    except yaml.YAMLError as error:
        problem, mark = getattr(error, "problem", None) or str(error), getattr(error, "problem_mark", None)
        where = "" if mark is None else f" in line {mark.line + 1}, column {mark.column + 1}"
        raise FormatError(f"the file is not YAML: {problem}{where}") from None


def _check_events(text: str) -> None:
    """Refuse what would make nested or shared objects, before PyYAML makes any."""
    import yaml

    depth = 0
    for event in yaml.parse(text, yaml.BaseLoader):
        if isinstance(event, yaml.AliasEvent):
            raise FormatError(f"line {event.start_mark.line + 1} of the YAML has an alias")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise FormatError(f"line {event.start_mark.line + 1} of the YAML has more than {_DEEPEST} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
