"""The page as a file: what is in it, that nothing gets out of its place, how large it is."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from stateextract.errors import UsageError
from stateextract.report.page import SCRIPTS, report_page
from stateextract.report.page_data import page_model
from tests.report.documents import EVIL, hostile, made, shop, statistics

REPORT = Path(str(files("stateextract.report")))


class Elements(HTMLParser):
    """All elements with their attributes and the text directly in them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, text) for name, attributes, text in self.found if name == tag]


@pytest.mark.parametrize("title", [None, *EVIL])
def test_hostile_texts_are_data(title: str | None) -> None:
    page = report_page([hostile()], title)
    page.encode()
    elements = Elements(page)
    scripts = elements.of("script")
    assert [attributes for attributes, _ in scripts] == [{"type": "application/json", "id": "data"}, {}, {}]
    assert json.loads(scripts[0][1])["states"] == page_model([hostile()])["states"]
    assert [tag for tag, _, _ in elements.found] == [tag for tag, _, _ in Elements(report_page([shop()])).found]


def test_the_policy_allows_what_stands_in_the_page_and_no_more() -> None:
    elements = Elements(report_page([shop()]))
    (policy,) = [a["content"] for a, _ in elements.of("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    code = [text for attributes, text in elements.of("script") if not attributes]
    ((_, style),) = elements.of("style")
    assert rules == {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'",
        "script-src": " ".join(map(digest, code)), "style-src": digest(style),
    }  # fmt: skip
    assert not [
        a for _, a, _ in elements.found if a.keys() & {"src", "style", "onclick"} or "://" in str(a.get("href"))
    ]


def test_titles() -> None:
    assert Elements(report_page([shop()])).of("title")[0][1].strip() == "Checkpoint 42"
    assert Elements(report_page([shop()], "The <shop>")).of("title")[0][1].strip() == "The <shop>"


def test_figures_that_are_none() -> None:
    document = shop()
    column = replace(document.operators[0].states[0].columns[0], null_share=math.nan)
    state = replace(document.operators[0].states[0], columns=[column])
    broken = statistics([replace(document.operators[0], states=[state])])
    with pytest.raises(UsageError, match="a figure that is not a number"):
        report_page([broken])


def test_the_size_of_a_large_snapshot() -> None:
    document = made(50, 300)
    assert (document.totals.operators, document.totals.states) == (50, 300)
    assert {o.operator_max_parallelism for o in document.operators} >= {128, 32768}
    assert len(report_page([document]).encode()) < 4_000_000


def test_the_library_is_the_one_that_is_recorded() -> None:
    record = json.loads((REPORT / "echarts" / "build.json").read_text())
    content = (REPORT / "echarts" / record["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == record["sha256"]
    versions = {part["name"]: part["version"] for part in record["made_of"]}
    assert f"Apache ECharts {versions['echarts']}".encode() in content[:200]
    assert b"</script" not in content.lower()
    assert "The Apache Software Foundation" in (REPORT / "echarts" / "NOTICE").read_text()
    for part in ("Apache License", "d3.js", "Baidu"):
        assert part in (REPORT / "echarts" / "LICENSE").read_text()


def test_all_code_is_in_the_page() -> None:
    assert {path.name for path in (REPORT / "assets").glob("*.js")} == set(SCRIPTS)
