from __future__ import annotations

from collections.abc import Iterator

import pytest

from stateextract.columnar.convert import big_numbers


@pytest.fixture(scope="module", autouse=True)
def whole_columns() -> Iterator[None]:
    """Conversions work on whole columns here, as they do where there are many values."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(big_numbers, "FEW", 0)
        yield
