"""The report of a snapshot of 50 operators and 300 states: its size, and the time in which a browser opens it.

    python -m benchmarks.report [--operators N] [--states N] [--snapshots N] [--output FILE]

Makes statistics (up to 32768 key groups, 8 columns to a state), writes their report and opens it in a headless Chromium, which
is that at STATEEXTRACT_BROWSER, one on the PATH or Playwright's own. Goals: 4 MB, 2 seconds. Several snapshots are those of a
history, which is written first, and of which the report is made.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Measurement, Size, UnavailableError, show
from stateextract.audit.document import Statistics
from stateextract.audit.history.history_files import Recorded, read_history, write_snapshot
from stateextract.report.page import report_page
from tests.report.made import browser_path, made_statistics


def opening_seconds(page: Path, times: int = 5) -> tuple[float, float]:
    """Medians: seconds from the request of a page to its first frame with everything in it, and those it used a core."""
    from playwright.sync_api import sync_playwright

    seconds, busy = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        for _ in range(times):
            tab = browser.new_page()
            session = tab.context.new_cdp_session(tab)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            start = time.perf_counter()
            tab.goto(page.as_uri())
            tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            seconds.append(time.perf_counter() - start)
            metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
            busy.append(metrics["TaskDuration"])
            tab.close()
        browser.close()
    return sorted(seconds)[times // 2], sorted(busy)[times // 2]


def made_history(options: argparse.Namespace, folder: str) -> list[Recorded]:
    """Writes a history and reads it."""
    seconds, sizes = [], []
    for age in range(options.snapshots):
        document = made_statistics(options.operators, options.states, age)
        start = time.perf_counter()
        name = write_snapshot(folder, document)
        seconds.append(time.perf_counter() - start)
        sizes.append(Path(folder, name).stat().st_size)
    start = time.perf_counter()
    found = read_history(folder)
    print(
        f"history: {max(sizes) / 1e6:.2f} MB a snapshot at most, written in {sorted(seconds)[len(seconds) // 2]:.2f} s each, "
        f"all read in {time.perf_counter() - start:.2f} s"
    )
    return found


def measure(subject: str, documents: list[Statistics | Recorded], page: Path) -> Iterator[Measurement]:
    """Write the report and open it."""
    start = time.perf_counter()
    page.write_text(report_page(documents), encoding="utf-8")
    yield Measurement(subject, "written", time.perf_counter() - start, "s")
    yield Measurement(subject, "size of the page", page.stat().st_size / 1e6, "MB", 4)
    seconds, busy = opening_seconds(page)
    yield Measurement(subject, "opened by Chromium", seconds, "s", 2)
    yield Measurement(subject, "opened by Chromium, processor time", busy, "s")


def benchmark(size: Size) -> Iterator[Measurement]:
    """The report of one snapshot."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        raise UnavailableError("playwright is not installed") from None
    if browser_path() is None:
        raise UnavailableError("no Chromium was found")
    with tempfile.TemporaryDirectory() as folder:
        yield from measure("50 operators, 300 states", [made_statistics(50, 300)], Path(folder) / "report.html")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--operators", type=int, default=50)
    parser.add_argument("--states", type=int, default=300)
    parser.add_argument("--snapshots", type=int, default=1)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        documents: list[Statistics | Recorded] = [made_statistics(options.operators, options.states)]
        if options.snapshots > 1:
            documents = [*made_history(options, f"{temporary}/history")]
        subject = f"{options.states} states, {options.snapshots} snapshots"
        show(measure(subject, documents, options.output or Path(temporary) / "report.html"))


if __name__ == "__main__":
    main()
