"""The page, served to the own browser and to nobody else."""

import secrets
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

import msgspec

from planopt.documents.homes import HomesPlan
from planopt.documents.plan import Plan
from planopt.errors import InputError
from planopt.explore.desk import Desk
from planopt.explore.page import explorer
from planopt.report.page.html import page

Connection: TypeAlias = socket.socket | tuple[bytes, socket.socket]

HERE = "127.0.0.1"
LARGEST_QUESTION = 65_536
"""Bytes of what is asked."""
ANY_PORT = 0
"""One that is free."""
MOST_AT_ONCE = 8
"""Requests in flight; a page has one, and for a moment the one that it supersedes."""
PATIENCE_SECONDS = 30
"""For a request to be sent."""


SAVED: dict[str, tuple[str, Callable[[Plan | HomesPlan], str]]] = {
    "plan.json": ("application/json", lambda plan: plan.to_json() + "\n"),
    "report.html": ("text/html", page),
}
"""What the last plan can be saved as."""


class Server(ThreadingHTTPServer):
    """A desk's page at an address that only whoever was told it can know."""

    daemon_threads = True
    request_queue_size = 2 * MOST_AT_ONCE

    def __init__(self, desk: Desk, port: int, given: Mapping[str, object]) -> None:
        self.desk = desk
        self.given = given
        self.token = secrets.token_urlsafe(24)
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        super().__init__((HERE, port), _Handler)

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a browser that means this server may call it."""
        return tuple(f"{name}:{self.server_port}" for name in (HERE, "localhost"))

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def process_request(self, request: Connection, client_address: object) -> None:
        """Take a request if there is a place for it."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(
        self, request: Connection, client_address: object
    ) -> None:
        """Answer a request, and give its place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Connection, client_address: object) -> None:
        """Forget a browser that has left."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = PATIENCE_SECONDS
    server_version = "planopt"
    sys_version = ""

    def do_GET(self) -> None:
        name, desk = self._asked_for(), self.server.desk
        if name == "":
            self._head("text/html; charset=utf-8")
            self.wfile.write(explorer(desk.folders, self.server.given).encode())
        elif name in SAVED and desk.kept is not None:
            kind, written = SAVED[name]
            self._head(f"{kind}; charset=utf-8", file=name)
            self.wfile.write(written(desk.kept).encode())
        elif name is not None:
            self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        if self._asked_for() != "ask":
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST_QUESTION:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        try:
            options = msgspec.json.decode(
                self.rfile.read(int(length)), type=dict[str, str | bool]
            )
        except msgspec.MsgspecError:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        self._head("application/x-ndjson")
        for answer in self.server.desk.ask(options):
            self.wfile.write(msgspec.json.encode(answer) + b"\n")
            self.wfile.flush()

    def _asked_for(self) -> str | None:
        """Say what is asked for by the own page; refuse all others."""
        origin = self.headers.get("Origin")
        own = [f"http://{host}" for host in self.server.hosts]
        before, token, name = [*self.path.split("/", 2), "", ""][:3]
        if self.headers.get("Host") not in self.server.hosts or (
            origin is not None and origin not in own
        ):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif before or not secrets.compare_digest(
            token.encode(), self.server.token.encode()
        ):
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            return name
        return None

    def _head(self, kind: str, file: str = "") -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        if file:
            self.send_header("Content-Disposition", f'attachment; filename="{file}"')
        self.end_headers()

    def log_message(self, format: str, *values: object) -> None:
        """Keep quiet."""


def serve(
    given: Mapping[str, object],
    folders: Sequence[str],
    port: int,
    on_ready: Callable[[str], object],
) -> None:
    """Serve the page until Ctrl-C."""
    desk = Desk(folders)
    try:
        server = Server(desk, port, given)
    except OSError as error:
        raise InputError.of(
            "E006",
            f"port {port} cannot be listened at: {error.strerror}",
            field="--port",
            value=port,
            accepted="a port that is free, or none",
        ) from error
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        on_ready(server.address)
        desk.run()
        server.shutdown()
