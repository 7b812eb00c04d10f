# SPDX-License-Identifier: BSD-3-Clause
"""kamuee-program as tests use it: sources in C or text of WebAssembly, frames made here, verdicts read back."""
import json
import os
import struct
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "programs/examples"
PROGRAM = Path(os.environ.get("KAMUEED", ROOT / "build/kamueed")).parent / "compiler/kamuee-program"
HEADER = "#include <kamuee/program.h>\n"

# What a packet program in text of WebAssembly begins with.
WAT = """(module
  (import "kamuee" "count" (func $count (param i32 i64)))
  (memory 1 1)
  {}
  (export "packet" (func $packet)))"""


def run(*words: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=60)


def source(folder: Path, text: str, name: str = "x.c") -> Path:
    path = folder / name
    path.write_text(text if name.endswith(".c") and text.startswith("#") else HEADER + text)
    return path


def module(folder: Path, functions: str, whole: str = WAT, features: str = "") -> Path:
    (folder / "x.wat").write_text(whole.replace("{}", functions))
    subprocess.run(["wat2wasm", "--debug-names", *features.split(), folder / "x.wat", "-o", folder / "x.wasm"], check=True, timeout=20)
    return folder / "x.wasm"


def write_pcap(path: Path, frames: list[bytes], step_ns: int = 1000) -> Path:
    """Nanosecond pcap of Ethernet; a packet each step_ns."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for i, frame in enumerate(frames):
            file.write(struct.pack("<IIII", 1 + i * step_ns // 10**9, i * step_ns % 10**9, len(frame), len(frame)) + frame)
    return path


def ether(kind: int, data: bytes) -> bytes:
    return (bytes.fromhex("020000000001020000000002") + struct.pack("!H", kind) + data).ljust(60, b"\0")


def ip4(src: str = "10.0.0.1", dst: str = "10.0.0.2", proto: int = 17, tos: int = 0, data: bytes = b"payload!", ttl: int = 64) -> bytes:
    quad = b"".join(bytes(map(int, a.split("."))) for a in (src, dst))
    return struct.pack("!BBHHHBBH", 0x45, tos, 20 + len(data), 0, 0, ttl, proto, 0) + quad + data


def ip6(traffic_class: int = 0, proto: int = 17, src: bytes = bytes(15) + b"\1", data: bytes = b"payload!") -> bytes:
    return struct.pack("!IHBB", 6 << 28 | traffic_class << 20, len(data), proto, 64) + src + bytes(15) + b"\2" + data


def tcp(flags: int) -> bytes:
    return struct.pack("!HHIIBBHHH", 1024, 80, 1, 0, 0x50, flags, 1024, 0, 0)


def verdicts(folder: Path, program: Path, frames: list[bytes], *words: str, step_ns: int = 1000) -> dict:
    done = run("test", program, "--pcap", write_pcap(folder / "in.pcap", frames, step_ns), "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def short(result: dict) -> list[tuple]:
    """(verdict, argument) of each packet."""
    return [(p["verdict"], *([p.get("reason", p["argument"])] if "argument" in p else [])) for p in result["packets"]]
