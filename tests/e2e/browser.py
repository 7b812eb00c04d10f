# SPDX-License-Identifier: BSD-3-Clause
"""Headless Chromium inside a network namespace, told what to do by the DevTools protocol over a pipe."""
import base64
import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path

PATIENCE_S = 60


class Browser:
    """One page. What the page complains about (exceptions, refused content) is in `complaints`."""

    def __init__(self, namespace: str):
        to_read, self.write_fd = os.pipe()
        self.read_fd, to_write = os.pipe()
        self.profile = tempfile.TemporaryDirectory(prefix="kamuee-chromium-")
        self.log = Path(self.profile.name, "log").open("wb")
        options = ("--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking "
                   f"--disable-component-update --remote-debugging-pipe --user-data-dir={self.profile.name}/profile")
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, "bash", "-c", f"exec chromium {options} about:blank 3<&{to_read} 4>&{to_write}"],
            pass_fds=(to_read, to_write), stdout=self.log, stderr=self.log, env={**os.environ, "HOME": self.profile.name})
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session, self.complaints = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def message(self) -> dict:
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self.buffer:
            assert select.select([self.read_fd], [], [], max(0, end - time.monotonic()))[0], "Chromium does not answer"
            read = os.read(self.read_fd, 1 << 20)
            assert read, "Chromium ended: " + Path(self.log.name).read_text()[-2000:]
            self.buffer += read
        one, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(one)

    def call(self, method: str, **given) -> dict:
        self.number += 1
        body = {"id": self.number, "method": method, "params": given, **({"sessionId": self.session} if self.session else {})}
        os.write(self.write_fd, json.dumps(body).encode() + b"\0")
        while True:
            said = self.message()
            if said.get("id") == self.number:
                assert "error" not in said, said
                return said["result"]
            if said.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(said["params"]["exceptionDetails"])
            if said.get("method") == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
                self.complaints.append(said["params"]["entry"])

    def open(self, url: str, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url="about:blank")  # or another fragment of the same page would load nothing
        self.call("Page.navigate", url=url)

    def run(self, script: str):
        said = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def text(self, selector: str) -> str:
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def screenshot(self, path: Path, highest: int = 2000) -> None:
        """The page as a PNG, down to `highest` pixels."""
        height = min(highest, self.run("document.documentElement.scrollHeight"))
        width = self.run("innerWidth")       # beyond the viewport there is no scroll bar
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        os.close(self.write_fd)  # which ends it
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_fd)
        self.log.close()
        self.profile.cleanup()
