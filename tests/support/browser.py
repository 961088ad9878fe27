"""A page in Chromium, driven over the DevTools protocol by a pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

FOUND = shutil.which("chromium") or shutil.which("google-chrome")
"""Debian: ``apt-get install chromium``."""
READS, WRITES = 3, 4
"""Where Chromium takes its orders, and where it answers."""


class Page:
    """One page; what its console says is kept."""

    def __init__(self, profile: Path, width: int = 1240, height: int = 900) -> None:
        assert FOUND is not None
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        # Away from where Chromium looks, so that neither takes the other's place.
        ends = [
            fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (orders, answers)
        ]
        self._process = subprocess.Popen(
            [
                *(FOUND, "--headless", "--no-sandbox", "--disable-gpu"),
                *("--hide-scrollbars", "--remote-debugging-pipe"),
                f"--user-data-dir={profile}",
            ],
            close_fds=False,
            preexec_fn=lambda: list(map(os.dup2, ends, (READS, WRITES))) and None,
            stderr=subprocess.DEVNULL,
        )
        for end in ends:
            os.close(end)
        os.close(orders)
        os.close(answers)
        self._text = b""
        self._number = 0
        self._session: str | None = None
        self.console: list[str] = []
        self.requests: list[str] = []
        target = self.order("Target.createTarget", url="about:blank")["targetId"]
        attached = self.order("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.order(f"{domain}.enable")
        self.size(width, height)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._orders)
        os.close(self._answers)

    def order(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Order something, and wait until it is done."""
        self._number += 1
        said = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            said["sessionId"] = self._session
        os.write(self._orders, json.dumps(said).encode() + b"\0")
        while True:
            told = self._told()
            if told.get("id") == self._number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result

    def _told(self) -> dict[str, Any]:
        while b"\0" not in self._text:
            read = os.read(self._answers, 1 << 20)
            assert read, "the browser has ended"
            self._text += read
        first, _, self._text = self._text.partition(b"\0")
        told: dict[str, Any] = json.loads(first)
        method, said = told.get("method"), told.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.console.append(json.dumps(said["exceptionDetails"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] == "error":
            self.console.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        return told

    def size(self, width: int, height: int) -> None:
        """Make the window so large."""
        self.order(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def open(self, address: str) -> None:
        """Go to an address."""
        self.order("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """Return what an expression is on the page."""
        told = self.order(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def until(self, expression: str, seconds: float = 60) -> float:
        """Wait until it is true; return how long that took."""
        started = time.monotonic()
        while not self.evaluate(expression):
            assert time.monotonic() - started < seconds, expression
            time.sleep(0.02)
        return time.monotonic() - started

    def press(self, key: str, code: int, times: int = 1) -> None:
        """Press a key."""
        for kind in ("rawKeyDown", "keyUp") * times:
            self.order(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
            )

    def picture(self) -> bytes:
        """Take a picture of the whole page."""
        shot = self.order(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True
        )
        return base64.b64decode(shot["data"])
