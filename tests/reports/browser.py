# SPDX-License-Identifier: BSD-2-Clause
"""A chromium without a window, told what to do by its own protocol over a pipe."""

import json
import os
import subprocess
from base64 import b64decode
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMED_KEYS = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}


def axe() -> str | None:
    """The source of axe-core, as the package axe-playwright-python brings it, where it is there."""
    spec = find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        return None
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")


class Browser:
    """One tab, `width` by `height`, with a profile of its own in `profile`."""

    def __init__(self, program: str, profile: Path, width: int = 1280, height: int = 900) -> None:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # The protocol is spoken on descriptors 3 and 4, and a shell is what can put them there.
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}',
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            pass_fds=(theirs_in, theirs_out),
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._out = os.fdopen(ours_out, "wb")
        self._in = os.fdopen(ours_in, "rb")
        self._rest = b""
        self._sent = 0
        self._session = ""
        self._events: list[str] = []
        target = next(
            each for each in self.ask("Target.getTargets")["targetInfos"] if each["type"] == "page"
        )
        attached = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        self.ask("Page.enable")
        self.resize(width, height)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._out.close()
        self._in.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, method: str, **params: Any) -> Any:
        """What the browser answers to a command of its protocol."""
        self._sent += 1
        command = {"id": self._sent, "method": method, "params": params}
        if self._session:
            command["sessionId"] = self._session
        self._out.write(json.dumps(command).encode() + b"\0")
        self._out.flush()
        while (message := self._next()).get("id") != self._sent:
            self._events.append(message.get("method", ""))
        assert "error" not in message, f"{method}: {message['error']}"
        return message["result"]

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            part = self._in.read1(1 << 20)
            assert part, "the browser went away"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, address: str) -> None:
        """Loads a page, whole."""
        # From one fragment of a page to another nothing would be loaded.
        self.ask("Page.navigate", url="about:blank")
        self._loaded()
        self.ask("Page.navigate", url=address)
        self._loaded()

    def _loaded(self) -> None:
        while "Page.loadEventFired" not in self._events:
            self._events.append(self._next().get("method", ""))
        self._events.clear()

    def run(self, script: str) -> Any:
        """What an expression comes to in the page, a promise when it is kept."""
        answer = self.ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key, or a text, as if it were typed."""
        if key not in NAMED_KEYS:
            self.ask("Input.insertText", text=key)
            return
        typed = {"Enter": {"text": "\r"}}.get(key, {})
        about = {"key": key, "code": key, "windowsVirtualKeyCode": NAMED_KEYS[key]}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **about, **typed)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def resize(self, width: int, height: int) -> None:
        """The size of the window."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scheme(self, name: str) -> None:
        """What the reader prefers: light or dark."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.ask("Emulation.setEmulatedMedia", features=features)

    def picture(self) -> bytes:
        """What the window shows, as a PNG."""
        return b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def printed(self) -> bytes:
        """What it would print, on the paper that the page asks for, as a PDF."""
        return b64decode(self.ask("Page.printToPDF", preferCSSPageSize=True)["data"])
