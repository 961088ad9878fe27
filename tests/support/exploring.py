"""The explorer in a process of its own, as `planopt explore` starts it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse

GIVEN = ("--target", "5tok/s", "--budget", "20000", "--load", "steady")


@dataclass
class Served:
    """A server in a process of its own, and where its page is."""

    process: subprocess.Popen[str]
    address: str

    def get(self, name: str = "", **headers: str) -> HTTPResponse:
        """Ask for a file of the page."""
        return self._reply("GET", urlsplit(self.address).path + name, None, headers)

    def post(self, body: str, **headers: str) -> HTTPResponse:
        """Send what a question would be."""
        path = urlsplit(self.address).path + "ask"
        return self._reply("POST", path, body, headers)

    def lines(self, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Ask a question, and say what is answered as it comes."""
        for line in self.post(json.dumps(options)):
            yield json.loads(line)

    def connection(self) -> HTTPConnection:
        """Connect to it."""
        return HTTPConnection(urlsplit(self.address).netloc, timeout=60)

    def _reply(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> HTTPResponse:
        connection = self.connection()
        connection.request(method, path, body, headers)
        return connection.getresponse()


def started(*given: str) -> Served:
    """Start one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "planopt.cli", "explore", *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return Served(process, process.stdout.readline().strip())


def ended(served: Served) -> tuple[int, str]:
    """End one by Ctrl-C: its exit code, and what it has said besides."""
    served.process.send_signal(signal.SIGINT)
    _, said = served.process.communicate(timeout=20)
    return served.process.returncode, said
