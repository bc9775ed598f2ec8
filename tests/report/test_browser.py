"""The page in a headless Chromium: what it shows, and that it obeys.

Which one: ``STATEEXTRACT_BROWSER``, else one on the PATH, else Playwright's own. Without any these tests are skipped; with
``STATEEXTRACT_BROWSER``, which ``scripts/test --with-browser`` sets, they are not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stateextract.audit.document import Bin, Statistics, Times
from stateextract.report.page import report_page
from stateextract.report.page_texts import value_text
from tests.report.documents import DAY, EVIL, NOW, grown, hostile, made, operator, owning, shop, statistics
from tests.report.made import browser_path

LAPTOP = {"width": 1366, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        except api.Error as error:
            if "STATEEXTRACT_BROWSER" in os.environ:
                raise
            pytest.skip(f"no Chromium (scripts/test --with-browser installs one): {str(error).splitlines()[0]}")
        yield browser
        browser.close()


class Report:
    """A report that is open: its tab, and what went wrong in it."""

    def __init__(self, browser: Any, folder: Path, documents: Sequence[Statistics], **settings: Any) -> None:
        self.file = folder / "report.html"
        self.file.write_text(report_page(documents), encoding="utf-8")
        self.context = browser.new_context(**{"viewport": LAPTOP, **settings})
        self.tab = self.context.new_page()
        self.trouble: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda message: self.trouble.append(message.text))
        self.tab.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.go("")

    def go(self, place: str) -> None:
        """Open the report anew at a place."""
        self.tab.goto("about:blank")
        self.tab.goto(self.file.as_uri() + place)

    def move(self, place: str) -> None:
        """To a place in the report that is open; its own listener has run before this one."""
        self.tab.evaluate(
            "place => new Promise(done => { addEventListener('hashchange', done, {once: true}); location.hash = place; })",
            place,
        )

    @contextmanager
    def told(self, event: str, target: str = "window") -> Iterator[None]:
        """Around what the page is told of in a later task, by an event, and not at once."""
        self.tab.evaluate(
            f"""() => {{ window.told = new Promise(done => {{
                {target}.addEventListener("{event}", () => done(true), {{once: true}});
                setTimeout(() => done(false), 30000);
            }}); }}"""
        )
        yield
        assert self.tab.evaluate("window.told"), "the page's own listener has run before that one"

    def moving(self) -> AbstractContextManager[None]:
        """Around what leads to another place: a browser changes the address before the page is told."""
        return self.told("hashchange")

    def text(self, selector: str) -> str:
        return " ".join(self.tab.locator(selector).inner_text().split())

    def texts(self, selector: str) -> list[str]:
        return [" ".join(text.split()) for text in self.tab.locator(selector).all_inner_texts()]

    def tiles(self, view: str) -> dict[str, str]:
        names, values = self.texts(f".{view} .tile dt"), self.texts(f".{view} .tile dd b")
        return dict(zip(names, values, strict=True))

    def rows(self, table: str) -> list[list[str]]:
        """The cells of a table's rows, once the table is there."""
        self.tab.locator(f"{table} tbody").wait_for(state="attached")
        found = self.tab.locator(f"{table} tbody tr").evaluate_all(
            "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
        )
        return [[" ".join(cell.split()) for cell in row] for row in found]

    def drawn(self) -> int:
        """Looks at all charts that can be seen; gives how many there are."""
        colors = self.tab.locator(".chart:visible").evaluate_all(
            """charts => charts.map(chart => {
                const canvas = chart.querySelector("canvas");
                const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
                return [chart.getAttribute("aria-label"), new Set(new Uint32Array(pixels.buffer)).size];
            })"""
        )
        assert [label for label, found in colors if found <= 5] == []
        return len(colors)


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    reports: list[Report] = []

    def open_report(*documents: Statistics, **settings: Any) -> Report:
        reports.append(Report(chromium, tmp_path, documents, **settings))
        return reports[-1]

    yield open_report
    for report in reports:
        report.context.close()
        assert report.trouble == []
        assert {url.split("#")[0] for url in report.requests} <= {report.file.as_uri(), "about:blank"}


def test_the_overview(opened: Any) -> None:
    report = opened(shop())
    assert report.tab.title() == report.text("h1") == "Checkpoint 42"
    assert report.text(".top .path") == "s3://shop/chk-42/_metadata"
    assert "3 files were found elsewhere" in report.text(".top")
    assert report.tiles("overview") == {
        "operators": "2", "states": "5", "rows": "945", "in files": "325.0 kB", "decoded": "100.0 kB",
    }  # fmt: skip
    assert report.rows("#states-table") == [
        ["legacy", "shopping", "value", "200.0 kB", "–", "–", "–", "–", "–",
         "✕ unsupported an unknown serializer: com.shop.OldSerializer"],
        ["carts", "shopping", "map", "123.5 kB", "98.8 kB", "900", "≈ 310", "99.6 ×", "1.8 ×", "✓ decoded"],
        ["_timer_state/event_user-timers", "shopping", "timer", "1.5 kB", "1.2 kB", "40", "40", "128.0 ×", "2.0 ×",
         "✓ decoded"],
        ["half", "sink: bills", "list", "50 B", "40 B", "5", "5", "–", "–", "◐ partial"],
        ["(coordinator)", "sink: bills", "coordinator", "0 B", "–", "–", "–", "–", "–", "– not selected not asked for"],
    ]  # fmt: skip
    assert report.rows("#operators-table") == [
        ["shopping shopping v1", "a" * 32, "shopping", "325.0 kB", "325.5 kB", "940", "3", "2 of 128"],
        ["sink: bills sink: bills v1", "b" * 32, "none unowned", "50 B", "550 B", "5", "2", "2 of 128"],
    ]
    assert report.drawn() == 1


def test_what_stands_out_leads_to_it(opened: Any) -> None:
    report = opened(shop())
    assert report.texts(".findings > li b")[:2] == ["Not read", "Owned by no operator of the plan"]
    with report.moving():
        report.tab.locator(".findings a", has_text="legacy").click()
    assert report.text("h1:visible") == "legacy ✕ unsupported"
    assert report.text(".callout.bad") == "an unknown serializer: com.shop.OldSerializer"
    assert report.tiles("state") == {
        "rows": "–", "distinct keys": "–", "in files": "200.0 kB", "decoded": "–", "of all files": "62 %",
    }  # fmt: skip


def test_a_state_in_full(opened: Any) -> None:
    report = opened(shop())
    report.go("#state=0")
    tab = report.tab
    assert tab.title() == "carts – Checkpoint 42"
    assert tab.evaluate("document.activeElement.tagName") == "H1"
    assert report.tiles("state") == {
        "rows": "900", "distinct keys": "≈ 310 ± 1.6 %", "in files": "123.5 kB", "decoded": "98.8 kB", "of all files": "38 %",
    }  # fmt: skip
    assert [re.sub(r"\D", "", text) for text in report.texts(".state .tile small")] == ["123456", "98765"]
    assert report.text(".callout.warn") == "2 lone surrogates were replaced in value.note"
    assert report.drawn() == 3
    for summary in tab.locator(".state summary").all():
        summary.click()

    def table(caption: str) -> list[list[str]]:
        return report.rows(f'.state [aria-label="{caption}"]')

    assert table("Heaviest key groups") == [
        ["5", "700", "78 %", "80,000"], ["0", "100", "11 %", "10,000"], ["127", "100", "11 %", "8,765"],
    ]  # fmt: skip
    assert table("Heaviest subtasks") == [["0", "800", "89 %", "90,000"], ["1", "100", "11 %", "8,765"]]
    texts = report.texts(".state .card > p.quiet")
    assert texts[:2] == [
        "3 of 128 key groups have rows; the largest has 99.6 × the average and 78 % of all.",
        "2 of 2 subtasks have rows; the largest has 1.8 × the average and 89 % of all.",
    ]
    tab.locator(".card", has=tab.locator("h2", has_text="Subtasks")).get_by_text(
        "decoded bytes", exact=True
    ).first.click()
    assert "the largest has 1.8 × the average and 91 % of all" in report.text(".pair .card:nth-child(2) p.quiet")
    assert table("Columns") == [
        ["key string", "0", "≈ 310 ± 1.6 %", "alice", "–", "yusuf", "4 / 6.25 / 12"],
        ["value.cents int64", "10 %", "77", "-9007199254740993", "250", "9223372036854775807", "–"],
        ["value.weight double", "0 3 NaN", "2", "-0.5", "–", "1e+300", "–"],
    ]
    assert table("Quantiles") == [
        ["length of key", "–", "6", "–", "11", "± 1.3 %"], ["value.cents", "10", "250", "4000", "–", "exact"],
    ]  # fmt: skip
    assert table("Biggest keys") == [["yusuf-the-longest", "5", "0", "17"], ["hiroshi", "0", "0", "7"]]
    assert table("Biggest values") == [["alice", "127", "1", "4,321"]]
    assert table("Schema") == [["key", "string"], ["value", "map<string, int64>"]]
    assert table("Histogram of last accesses") == [
        ["2025-11-25 14:00:00", "2025-11-26 14:00:00", "200"], ["2025-11-26 14:00:00", "2025-11-28 14:00:00", "700"],
    ]  # fmt: skip
    facts = dict(zip(report.texts(".facts dt"), report.texts(".facts dd"), strict=True))
    assert facts == {
        "with a time": "900", "oldest": "2025-11-25 14:00:00 (3 d before)", "newest": "2025-11-28 13:59:00 (1 min before)",
        "time to live": "2 d", "expired by it": "200 (22 %)",
    }  # fmt: skip


def test_timers(opened: Any) -> None:
    report = opened(shop())
    report.go("#state=1")
    facts = dict(zip(report.texts(".facts dt"), report.texts(".facts dd"), strict=True))
    assert facts == {
        "first": "2025-11-27 14:00:00 (1 d before)", "last": "never (end of time)", "due already": "10 (25 %)",
    }  # fmt: skip
    report.tab.get_by_text("As a table").click()
    assert report.rows('[aria-label="Histogram of timers"]') == [
        ["–", "2025-11-28 14:00:00", "10"], ["2025-11-28 14:00:00", "2025-11-29 14:00:00", "25"],
        ["2025-11-29 14:00:00", "–", "5"],
    ]  # fmt: skip
    assert report.drawn() == 3


def test_times_at_the_ends_of_time(opened: Any) -> None:
    first, last = -(2**63), 2**63 - 1
    times = Times("window_end", first, last, 1, [Bin(first, -62_135_596_800_001, 1), Bin(253_402_300_800_000, last, 2)])
    state = replace(shop().operators[0].states[1], times=times, rows=3)
    report = opened(statistics([operator("o", [state])], taken_ms=None))
    report.go("#state=0")
    facts = dict(zip(report.texts(".facts dt"), report.texts(".facts dd"), strict=True))
    assert facts == {"first": "the beginning of time", "last": "never (end of time)", "ended already": "1 (33 %)"}
    report.tab.get_by_text("As a table").click()
    assert report.rows('[aria-label="Histogram of window ends"]') == [
        ["the beginning of time", "0000-12-31 23:59:59.999", "1"], ["+010000-01-01 00:00:00", "never (end of time)", "2"],
    ]  # fmt: skip
    assert report.drawn() == 3


def test_nothing_at_all(opened: Any) -> None:
    report = opened(statistics([]))
    assert report.tiles("overview")["states"] == "0"
    assert report.text(".calm") == "Every state was read, and nothing stands out."
    assert report.rows("#states-table") == report.rows("#operators-table") == []
    assert report.drawn() == 0


def test_searching(opened: Any) -> None:
    document = made(10, 60)
    report = opened(document)
    tab = report.tab

    def names() -> list[str]:
        return report.texts("#states-table tbody th a")

    assert len(names()) == 60
    tab.keyboard.press("/")
    tab.keyboard.type("CLICKS map")
    expected = [s for o, s in document.states if "clicks" in o.operator_label and s.state_kind == "map"]
    assert sorted(names()) == sorted(s.state_name for s in expected if s.state_name) != []
    assert report.text("output").startswith(f"{len(expected)} of 60 states, ")
    # The field, the count next to it and the first hit are in view.
    height = tab.viewport_size["height"]
    for place in ("#search", "output", "#states-table tbody th a >> nth=0"):
        box = tab.locator(place).bounding_box()
        assert 0 <= box["y"] <= height - box["height"], place
    tab.keyboard.press("Control+A")
    tab.keyboard.type("timestamp[us")
    assert len(names()) == sum(bool(s.schema) for _, s in document.states)
    tab.locator("#search").fill("no such thing")
    assert names() == []
    tab.locator("#search").fill("")
    tab.locator("#status").select_option("unsupported")
    assert sorted(names()) == sorted(s.state_name or "" for _, s in document.states if s.status == "unsupported") != []


def test_sorting(opened: Any) -> None:
    document = made(10, 60)
    report = opened(document)
    rows = [s.rows for _, s in document.states if s.status != "unsupported"]
    unread = 60 - len(rows)
    head = report.tab.locator("#states-table thead th", has_text="rows")

    def shown() -> list[str]:
        return report.texts("#states-table tbody td:nth-child(6)")

    for direction, expected in (("descending", sorted(rows, reverse=True)), ("ascending", sorted(rows))):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == direction
        assert shown() == [f"{n:,}" for n in expected] + ["–"] * unread
    report.tab.locator("#states-table thead button", has_text="operator").focus()
    report.tab.keyboard.press("Enter")
    operators = report.texts("#states-table tbody td:nth-child(2)")
    assert operators == sorted(operators, key=str.lower)
    assert report.tab.locator("#states-table [aria-sort]").count() == 1


def test_the_treemap_leads_to_states_and_operators(opened: Any) -> None:
    report = opened(shop())
    chart = report.tab.locator(".chart.tall")

    def hit(y: int) -> None:
        # What is drawn anew is found by a click from the next frame on.
        report.tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        with report.moving():
            chart.click(position={"x": 60, "y": y})

    hit(10)
    assert report.tab.evaluate("location.hash") == "#operator=0"
    assert report.tab.evaluate("document.activeElement.id") == "operator-0"
    hit(60)
    assert report.text("h1:visible") == "legacy ✕ unsupported"
    with report.moving():
        report.tab.go_back()
    report.tab.locator(".overview").wait_for()
    report.tab.locator("[aria-labelledby=sizes-title]").get_by_text("rows", exact=True).click()
    hit(60)
    assert report.text("h1:visible") == "carts ✓ decoded"
    with report.moving():
        report.tab.get_by_text("next").click()
    assert report.text("h1:visible").startswith("_timer_state/event_user-timers")


def test_history(opened: Any) -> None:
    report = opened(*grown())
    assert report.texts(".overview .tile small") == [
        "2 decoded, 3 not or in part", "+170 % since checkpoint 40", "+665 % since checkpoint 40", "−0.9 % since checkpoint 40",
    ]  # fmt: skip
    assert report.drawn() == 2
    card = report.tab.locator("[aria-labelledby=history-title]")
    assert card.locator("p").first.inner_text() == (
        "3 snapshots, from checkpoint 40, 2025-11-26 14:00:00 to checkpoint 42, 2025-11-28 14:00:00; 2 new states, 1 gone."
    )
    assert card.get_by_text("Note:").count() == 0
    report.tab.get_by_text("Growth of all 5 states").click()
    assert report.rows("#growth-table") == [
        ["legacy new", "shopping", "–", "200.0 kB", "+200.0 kB", "new"],
        ["carts", "shopping", "40.0 kB", "123.5 kB", "+83.5 kB", "+209 %"],
        ["half new", "sink: bills", "–", "50 B", "+50 B", "new"],
        ["_timer_state/event_user-timers", "shopping", "1.5 kB", "1.5 kB", "0 B", "0 %"],
        ["gone gone", "shopping", "1.0 kB", "–", "−1.0 kB", "−100 %"],
    ]
    report.tab.get_by_text("Totals of all 3 snapshots").click()
    assert report.rows("#totals-table") == [
        ["checkpoint 40, 2025-11-26 14:00:00", "3", "42.5 kB", "100.9 kB", "350"],
        ["checkpoint 41, 2025-11-27 14:00:00", "2", "81.5 kB", "100.0 kB", "640"],
        ["checkpoint 42, 2025-11-28 14:00:00", "5", "325.0 kB", "100.0 kB", "945"],
    ]
    card.get_by_text("rows", exact=True).first.click()
    assert report.rows("#growth-table") == [
        ["carts", "shopping", "300 rows", "900 rows", "+600", "+200 %"],
        ["half new", "sink: bills", "–", "5 rows", "+5", "new"],
        ["_timer_state/event_user-timers", "shopping", "40 rows", "40 rows", "0", "0 %"],
        ["gone gone", "shopping", "10 rows", "–", "−10", "−100 %"],
        ["legacy new", "shopping", "–", "–", "–", "–"],
    ]  # fmt: skip
    labels, pictures = [], set()
    for order in ("largest", "growing most", "all together"):
        card.get_by_text(order, exact=True).click()
        labels.append(card.locator(".chart").get_attribute("aria-label"))
        pictures.add(card.locator("canvas").evaluate("c => c.toDataURL()"))
    assert len(pictures) == 3
    assert labels == [
        "Lines of the rows of the 5 states that are largest; the table below has all.",
        "Lines of the rows of the 5 states that are growing most; the table below has all.",
        "Line of the rows of all states together; the table of totals has the figures.",
    ]
    with report.moving():
        report.tab.locator("#growth-table a", has_text="carts").click()
    report.tab.get_by_text("As a table").first.click()
    assert [row[1:] for row in report.rows('[aria-label="History of this state"]')] == [
        ["40,000", "98,765", "300"], ["80,000", "98,765", "600"], ["123,456", "98,765", "900"],
    ]  # fmt: skip


def test_owners(opened: Any) -> None:
    report = opened(statistics([owning("a", 700), owning("b", 900)]))
    table = '[aria-labelledby=owners-title] [aria-label="The keys that own most"]'
    assert report.rows(table) == [
        ["alice", "b", "900 B to 909 B", "50 %", "4", "7", "carts 800 B, timers_of_users 100 B"],
        ["alice", "a", "700 B to 709 B", "50 %", "4", "7", "carts 600 B, timers_of_users 100 B"],
        ['{"f0": 1}', "b", "90 B", "5 %", "1", "1", "timers_of_users 100 B"],
        ['{"f0": 1}', "a", "70 B", "5 %", "1", "1", "timers_of_users 100 B"],
    ]
    # They are before everything else.
    assert report.texts("main section h2")[:2] == ["Who owns the state", "What stands out"]
    report.tab.locator("[aria-labelledby=owners-title]").get_by_text("windows", exact=True).click()
    window = "2025-11-28T13:00:00Z to 2025-11-28T14:00:00Z"
    table = table.replace("keys", "windows")
    assert [row[:3] for row in report.rows(table)] == [[window, "b", "900 B"], [window, "a", "700 B"]]


def test_empty_states_do_not_weigh(opened: Any) -> None:
    empty = replace(shop().operators[0].states[1], rows=0, file_bytes=10**9)
    report = opened(statistics([operator("o", [shop().operators[0].states[0], empty])]))
    assert report.texts(".overview .tile small")[0] == "all decoded, 1 of them empty"
    assert report.rows("#states-table")[0][0] == "carts"
    assert report.text("[aria-labelledby=sizes-title] > p") == "Click a state to see it. 1 empty state cannot be drawn."


def test_why_states_grew(opened: Any) -> None:
    documents = []
    for number, (entries, size) in enumerate([(1000, 10_000), (3000, 33_000)]):
        grown = replace(shop().operators[0].states[0], entries=entries, decoded_bytes=size, ttl=None)
        documents.append(statistics([operator("o", [grown])], 40 + number, NOW + number * DAY))
    report = opened(*documents)
    assert report.rows('[aria-label="Why states changed most"]') == [
        ["carts", "+23.0 kB", "0 B", "+20.0 kB", "+3.0 kB", "0 B"],
    ]  # fmt: skip
    report.tab.evaluate(
        "() => { const { init } = echarts; window.echarts = { init: (...of) => (window.chart = init(...of)) }; }"
    )
    report.tab.locator("[aria-labelledby=history-title]").get_by_text("growing most", exact=True).click()
    axis = "name => chart.getOption().xAxis[0].axisLabel.formatter(name)"
    assert report.tab.evaluate(axis, "checkpoint 40, 2025-11-28 14:00:00") == "checkpoint 40\n2025-11-28"
    assert report.tab.evaluate(axis, "checkpoint 40") == "checkpoint 40"


def test_history_in_an_order_that_may_be_wrong(opened: Any) -> None:
    documents = grown()
    again = replace(documents[0], snapshot=replace(documents[0].snapshot, taken_ms=0, metadata_sha256="c0ffee"))
    report = opened(documents[0], again)
    assert report.texts("[aria-labelledby=history-title] > p")[1] == (
        f"Note: several snapshots have the checkpoint id {again.snapshot.checkpoint_id}: they are of different jobs, or "
        "the job began anew; they are in the order of their files' times."
    )


def test_hostile_texts_are_shown_and_do_nothing(opened: Any) -> None:
    report = opened(hostile())
    assert report.drawn() == 1
    assert set(report.texts("#states-table tbody th a")) == {value_text(evil, 1000) for evil in EVIL}
    for index, evil in enumerate(EVIL):
        report.move(f"#state={index}")
        assert report.tab.locator("h1:visible bdi").text_content() == value_text(evil, 1000)
        assert report.tab.locator('[aria-label="Biggest keys"] td').first.text_content() == value_text(evil)
        assert report.drawn() == 3
    report.tab.locator(".chart:visible canvas").first.hover()
    assert report.tab.locator("script").count() == 3
    assert report.tab.locator("img, svg, iframe, a:not([href^='#'])").count() == 0
    assert report.tab.evaluate("typeof window.hacked") == "undefined"


def test_a_script_that_got_in_would_not_run(chromium: Any, tmp_path: Path) -> None:
    report = Report(chromium, tmp_path, [shop()])
    report.tab.evaluate(
        "() => { const s = document.createElement('script'); s.text = 'window.hacked = 1'; document.body.append(s); }"
    )
    assert report.tab.evaluate("typeof window.hacked") == "undefined"
    assert any("Content Security Policy" in text for text in report.trouble)
    report.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_it(opened: Any, scheme: str) -> None:
    report = opened(made(10, 60), viewport=PHONE, color_scheme=scheme, device_scale_factor=2)
    for place in ("", "#state=0"):
        report.go(place)
        assert report.tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert report.drawn() >= 1


def test_colors_follow_the_system_and_paper_is_light(opened: Any) -> None:
    report = opened(shop(), color_scheme="dark")
    report.go("#state=0")
    ground = "getComputedStyle(document.body).backgroundColor"
    pixels = "c => c.toDataURL()"
    canvas = report.tab.locator(".chart:visible canvas").first
    dark = (report.tab.evaluate(ground), canvas.evaluate(pixels))
    report.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    paper = (report.tab.evaluate(ground), canvas.evaluate(pixels))
    report.tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert (report.tab.evaluate(ground), canvas.evaluate(pixels)) == dark
    with report.told("change", "matchMedia('(prefers-color-scheme: dark)')"):
        report.tab.emulate_media(color_scheme="light")
    light = (report.tab.evaluate(ground), canvas.evaluate(pixels))
    assert light == paper
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert report.drawn() == 3


def test_a_large_snapshot_opens(opened: Any) -> None:
    report = opened(made(50, 300))
    assert report.tiles("overview")["states"] == "300"
    assert report.tab.locator("#states-table tbody tr").count() == 300
    assert report.drawn() == 1
