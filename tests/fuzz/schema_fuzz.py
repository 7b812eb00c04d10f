# SPDX-License-Identifier: BSD-3-Clause
"""schemathesis against a living kamueed, by the OpenAPI document that tools/openapi makes from the YANG model.

    make fuzz-schema [SECONDS=1200] [SEED=1]        root; `make fuzz-schema` fetches schemathesis into a folder of its own

Beside crashes and 5xx it looks whether each status and each answer is one that the model has. A relay by TCP leads to the socket, so
that no request can close the listener that the others need. tests/fuzz/api_fuzz.py knows YANG itself, and goes deeper.
"""
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "cli"), str(ROOT / "tests" / "e2e"), str(Path(__file__).resolve().parent)]

import api_fuzz                                                                 # noqa: E402
from daemon import Daemon                                                       # noqa: E402

PATIENCE_S = "120"      # a machine that stood still is no hang
EXAMPLES = "3"          # so that each of 1320 operations has its turn
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def relay(path: Path) -> int:
    """A port of the loopback interface that leads to the socket."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def copy(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            source.close()
            sink.close()

    def accept() -> None:
        while True:
            client, _ = listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(path))
            for pair in ((client, server), (server, client)):
                threading.Thread(target=copy, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def main() -> None:
    binary, folder, seconds, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    daemon = Daemon(binary, "schema-fuzz")
    try:
        api_fuzz.add_routes(daemon)
        daemon.start(api_fuzz.CONFIGURATION)
        with tempfile.TemporaryDirectory() as work:
            document = Path(work) / "kamuee.json"
            document.write_bytes(subprocess.run([ROOT / "tools" / "openapi"], check=True, capture_output=True).stdout)
            code = subprocess.run([sys.executable, "-m", "schemathesis.cli", "run", document, "--url", f"http://127.0.0.1:{relay(daemon.socket)}",
                                   "--checks", CHECKS, "--phases", "fuzzing", "--max-time", str(seconds), "--seed", seed, "--max-failures", "20",
                                   "--request-timeout", PATIENCE_S, "--generation-database", "none", "--max-examples", EXAMPLES,
                                   "--no-color", "--warnings", "off", *sys.argv[5:]],
                                  cwd=work, env={**os.environ, "PYTHONPATH": folder}).returncode
        api_fuzz.judge_end(daemon)
    except BaseException:
        print(daemon.log.read_text(errors="replace")[-6000:])
        raise
    finally:
        daemon.end()        # not 0 when memory was lost
    sys.exit(code)


if __name__ == "__main__":
    main()
