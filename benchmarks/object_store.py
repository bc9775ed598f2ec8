"""What reading from an object store costs beside local files, for answers that come late.

    python -m benchmarks.object_store [--megabytes 200] [--late 50] [--rate 100] [--shape pojo] [--form heap]
                                      [--files 1]

A server of its own speaks as much of S3's protocol as reading takes. Each answer begins so many milliseconds late, and comes at
so many megabytes a second, as those of a store do. All of the state is read, in this process: from local files, from the server
as it is read, and from the server one read after the other, of one file after the other.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlsplit

from benchmarks.get import FORMS, write
from benchmarks.measuring import Measurement, Size, show
from stateextract.api import open_snapshot
from stateextract.files import prefetch as early
from stateextract.files.read_ahead import AHEAD, ReadAhead
from tests.writers.generate import plan_operators, write_snapshot
from tests.writers.shapes import SHAPES

STEP = 256 << 10
"""Bytes of an answer that are sent together."""
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "benchmark",
    "AWS_SECRET_ACCESS_KEY": "benchmark",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Answers(BaseHTTPRequestHandler):
    """As much of S3's protocol as reading takes, over a folder that is the bucket ``flink``."""

    protocol_version = "HTTP/1.1"
    folder: Path
    late: float
    rate: float

    def do_HEAD(self) -> None:
        """The size of an object."""
        self._answer(None)

    def do_GET(self) -> None:
        """Bytes of an object, or the objects below a prefix."""
        query = parse_qs(urlsplit(self.path).query)
        if "list-type" in query:
            self._list(query.get("prefix", [""])[0])
        else:
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            self._answer((int(first), int(last)))

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def _answer(self, wanted: tuple[int, int] | None) -> None:
        time.sleep(self.late)
        file = self.folder / urlsplit(self.path).path.removeprefix("/flink/")
        if not file.is_file():
            self._begin(404, 0)
            return
        size = file.stat().st_size
        if wanted is None:
            self._begin(200, size)
            return
        first, last = wanted[0], min(wanted[1], size - 1)
        self._begin(206, last - first + 1, ("Content-Range", f"bytes {first}-{last}/{size}"))
        with file.open("rb") as opened:
            opened.seek(first)
            data = opened.read(last - first + 1)
        for at in range(0, len(data), STEP):
            self.wfile.write(data[at : at + STEP])
            time.sleep(min(STEP, len(data) - at) / self.rate)

    def _list(self, prefix: str) -> None:
        time.sleep(self.late)
        files = [file for file in self.folder.rglob("*") if file.is_file()]
        found = {str(file.relative_to(self.folder)): file.stat().st_size for file in files}
        contents = [
            f"<Contents><Key>{name}</Key><Size>{size}</Size><LastModified>2024-01-01T00:00:00Z</LastModified></Contents>"
            for name, size in found.items()
            if name.startswith(prefix)
        ]
        count = f"<KeyCount>{len(contents)}</KeyCount><IsTruncated>false</IsTruncated>"
        body = f"<ListBucketResult>{count}{''.join(contents)}</ListBucketResult>"
        self._begin(200, len(body))
        self.wfile.write(body.encode())

    def _begin(self, status: int, length: int, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("Content-Length", str(length)), ("ETag", "x"), ("Content-Type", "text/xml"), *headers):
            self.send_header(name, value)
        self.end_headers()


def serve(folder: Path, late: float, rate: float, ready: Connection) -> None:
    """A server that runs until it is killed; sends its port.

    :param late: seconds until an answer begins; :param rate: bytes a second of each answer.
    """
    Answers.folder, Answers.late, Answers.rate = folder, late, rate
    http = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    ready.send(http.server_port)
    http.serve_forever()


def seconds(uri: str) -> tuple[float, int]:
    """How long it takes to read all of a snapshot's state, and how many rows it has."""
    start = time.perf_counter()
    (state,) = open_snapshot(uri).states
    rows = sum(batch.num_rows for batch in state.to_batches())
    return time.perf_counter() - start, rows


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=float, default=200, help="of the snapshot")
    parser.add_argument("--late", type=float, default=50, help="milliseconds until an answer begins")
    parser.add_argument("--rate", type=float, default=100, help="megabytes a second of one answer")
    parser.add_argument("--shape", choices=sorted(SHAPES), default="pojo")
    parser.add_argument("--form", choices=FORMS, default="heap")
    parser.add_argument("--files", type=int, default=1, help="heap files, if not one")
    return parser


def measure(options: argparse.Namespace) -> Iterator[Measurement]:
    """Write a snapshot and read it from both."""
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / "chk-1"
        if options.files == 1:
            write(local, options.form, options.shape, options.megabytes / 2)
        else:
            plans = plan_operators([options.shape], gigabytes=options.megabytes / 1e3, files=options.files)
            write_snapshot(local, plans)
        context = multiprocessing.get_context("spawn")
        ready, other = context.Pipe()
        arguments = (Path(folder), options.late / 1e3, options.rate * 1e6, other)
        server = context.Process(target=serve, args=arguments, daemon=True)
        server.start()
        os.environ.update(ENVIRONMENT, AWS_ENDPOINT_URL=f"http://127.0.0.1:{ready.recv()}")
        try:
            seconds(str(local))  # what is loaded once
            near, rows = seconds(str(local))
            subject = f"{options.form}, {options.shape}, {options.megabytes:g} MB"
            yield Measurement(subject, "local files", near, "s")
            original = ReadAhead.__init__
            for reads, files in ((AHEAD, early.AHEAD), (1, 1)):
                with (
                    mock.patch.object(ReadAhead, "__init__", lambda *given, most=reads: original(*given[:3], most)),
                    mock.patch.object(early, "AHEAD", files),
                ):
                    far, found = seconds("s3://flink/chk-1")
                assert found == rows
                yield Measurement(subject, f"S3, {reads} reads of {files} files at once", far, "s")
        finally:
            server.kill()


def benchmark(size: Size) -> Iterator[Measurement]:
    """POJOs in one file, answers after 50 ms at 100 MB/s."""
    return measure(parser().parse_args([f"--megabytes={200 * size.factor:g}"]))


def main() -> None:
    """Run the benchmark."""
    show(measure(parser().parse_args()))


if __name__ == "__main__":
    main()
