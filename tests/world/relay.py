"""A TCP relay in front of a server: it counts what passes, and cuts, freezes or refuses connections when a test says so."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass

_REQUEST = re.compile(rb"(GET|HEAD|PUT|POST|DELETE|PATCH) (\S+) HTTP/1\.1\r\n(.*?)\r\n\r\n", re.DOTALL)
_RANGE = re.compile(rb"^(?:x-ms-)?range: *bytes=(\d+)-(\d*)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Request:
    """One request of HTTP. ``first`` and ``last``: the bytes of the object that it asks for, None for all."""

    method: str
    path: str
    first: int | None = None
    last: int | None = None


class Relay:
    """Listen on a port of the loopback address and pass all bytes on to a server.

    :ivar requests: the requests of HTTP, in order; empty for other protocols.
    :ivar received: bytes that the server has sent.
    :param port: that of the server, on the loopback address.
    """

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._cut_at: int | None = None
        self._status = 0
        self._passes = threading.Event()
        self._passes.set()
        self.requests: list[Request] = []
        self.received = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def clear(self) -> None:
        """Forget what has passed, and pass everything from now on."""
        with self._lock:
            self.requests, self.received, self._cut_at, self._status = [], 0, None, 0
        self._passes.set()

    def cut(self, after: int = 0) -> None:
        """Close all connections when the server has sent so many more bytes, and every new one at once."""
        with self._lock:
            self._cut_at = self.received + after
        if not after:
            self.drop()

    def freeze(self) -> None:
        """Keep the connections open and pass nothing on."""
        self._passes.clear()

    def refuse(self, status: int) -> None:
        """Answer every request of a new connection with a status of HTTP."""
        self._status = status
        self.drop()

    def drop(self) -> None:
        """Close the connections that are open."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for one in pair:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._passes.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut():
                client.close()
                continue
            work = self._answer if self._status else self._connect
            threading.Thread(target=work, args=(client,), daemon=True).start()

    def _is_cut(self) -> bool:
        return self._cut_at is not None and self.received >= self._cut_at

    def _answer(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            while data := client.recv(1 << 16):
                self._note(data)
                if b"\r\n\r\n" in data:
                    client.sendall(b"HTTP/1.1 %d Refused\r\nContent-Length: 0\r\n\r\n" % self._status)

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._pairs.append((client, server))
        threading.Thread(target=self._pump, args=(server, client, False), daemon=True).start()
        self._pump(client, server, True)

    def _pump(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._passes.wait()
                if asks:
                    self._note(data)
                else:
                    with self._lock:
                        room = len(data) if self._cut_at is None else max(0, self._cut_at - self.received)
                        data = data[:room]
                        self.received += len(data)
                target.sendall(data)
                if not asks and self._is_cut():
                    break
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        source.close()

    def _note(self, data: bytes) -> None:
        match = _REQUEST.match(data)
        if match is None:
            return
        found = _RANGE.search(match[3])
        first = int(found[1]) if found else None
        last = int(found[2]) if found and found[2] else None
        with self._lock:
            self.requests.append(Request(match[1].decode(), match[2].decode("latin-1"), first, last))
