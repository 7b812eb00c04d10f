# SPDX-License-Identifier: BSD-3-Clause
"""trafgen and netsniff-ng of Debian's netsniff-ng: another generator, another capture, whose counts must agree with the router's."""
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from star import StarSuite, router, wrong_with

from kamuee.lab.measure import losses
from measure.program import end, wait_until

TITLE = "trafgen"
ABOUT = """The generator *trafgen* sends through the router, *netsniff-ng* captures behind it (both: Debian's netsniff-ng). trafgen also writes its packets to
a file: what arrives must be these, in this order, with a TTL that is one less. Each packet that does not arrive must be in a counter of the router, of the
two links, or of netsniff-ng. The rates are those of a shared machine with two cores and packet sockets; they say nothing of a card. Linux forwards on the
sender's core, which so waits for it; kamueed has a core of its own, and its port drops what comes faster."""
STEADY, STEADY_GAP, FLAT_OUT_BYTES, FLAT_OUT, REFUSED = 30_000, "100us", 50_000_000, 100_000, 1_000
HEADERS = {4: 42, 6: 62}                                    # Ethernet, IP and UDP
SMALL = {4: 60, 6: 74}                                      # the smallest frames, without check sequence
FRAMES = {f"IPv{family} {size}": frames for family, small in SMALL.items() for size, frames in (
    (f"{small + 4}", [small]), ("512", [508]), ("1518", [1514]), ("IMIX", [small] * 7 + [576] * 4 + [1514]), ("256 flows, two links", [small]))}
NUMBERS = "dinc(0,255), dinc(0,254), dinc(0,252), dinc(0,250)"          # differ for 4 billion packets
PORT, CHECKSUM = 9, "0x1234"        # a wrong checksum: hosts do not answer, and trafgen computes others in each run
SOURCE = {4: "10.90.0.2", 6: "fd90:0::2"}
HOSTS = {"a": {4: "10.90.1.2", 6: "fd90:1::2"}, "b": {4: "10.90.2.2", 6: "fd90:2::2"}}
# What a router must not forward: family and other fields.
ODD = {
    "TTL 1": (4, "ttl=1"), "hop limit 1": (6, "hoplimit=1"), "wrong header checksum": (4, "csum=0x1234"), "IPv4 of version 5": (4, "ver=5"),
    "IPv4 header of 16 bytes": (4, "ihl=4"), "IPv4 longer than its frame": (4, "len=200"), "IPv6 of version 5": (6, "ver=5"),
    "IPv6 longer than its frame": (6, "len=200"), "source 127.0.0.1": (4, "sa=127.0.0.1"), "source ::1": (6, "sa=::1"),
    "source 224.0.0.9": (4, "sa=224.0.0.9"), "source ff02::9": (6, "sa=ff02::9"), "destination 127.0.0.1": (4, "da=127.0.0.1"),
    "destination ::1": (6, "da=::1"), "no route, IPv4": (4, "da=192.0.2.1"), "no route, IPv6": (6, "da=2001:db8::1"),
}
LIMITED_S = 120


@dataclass
class Seen:
    """Of one host: frames captured, packets that netsniff-ng lost, seconds from the first to the last frame."""
    frames: list[bytes]
    lost: int
    seconds: float


class Suite(StarSuite):
    PACKAGES = ("netsniff-ng",)

    def cases(self) -> dict[str, list[str]]:
        return {case: [case] for case in (*FRAMES, "refused")}

    def run(self, case: str, kamueed: Path | None, out: Path) -> tuple[dict[str, tuple[str, str]], list[str]]:
        with router(kamueed, out) as lab:
            for host in lab.hosts.values():
                host.sysctl({"net.ipv6.conf.e0.router_solicitations": "0"})
            for addresses in HOSTS.values():
                lab.ping(lab.hosts["src"], addresses[6])
            trial = Trial(lab, out)
            if case == "refused":
                return {f"refused: {name}": trial.refused(*odd) for name, odd in ODD.items()}, wrong_with(lab)
            family, frames, is_flows = int(case[3]), FRAMES[case], "flows" in case
            hosts = ["a", "b"] if is_flows else ["a"]
            packets = [packet(lab, family, HOSTS[host][family], frame, number, "dinc(1024, 1279)" if is_flows else str(1024 + number))
                       for number, (frame, host) in enumerate((frame, host) for frame in frames for host in hosts)]
            flat_out = min(FLAT_OUT, FLAT_OUT_BYTES * len(frames) // sum(frames))
            return {**trial.forwarded(case, packets, hosts, STEADY, STEADY_GAP), **trial.forwarded(case, packets, hosts, flat_out, None)}, wrong_with(lab)


def packet(lab, family: int, destination: str, frame: int, number: int, port: str, more: str = "") -> str:
    """In trafgen's words."""
    ip = f"ipv4(sa={SOURCE[4]}, da={destination}, ttl=64{more})" if family == 4 else f"ipv6(sa={SOURCE[6]}, da={destination}, hoplimit=64{more})"
    source = lab.hosts["src"].ip_json("link show dev e0")[0]["address"]
    return (f"{{ eth(da={lab.router_mac('p0')}, sa={source}, type={'0x0800' if family == 4 else '0x86dd'}), {ip}, udp(sp={port}, dp={PORT}, csum={CHECKSUM}), "
            f"{NUMBERS}, fill({number}, {frame - HEADERS[family] - 4}) }}")


class Trial:
    def __init__(self, lab, out: Path):
        self.lab, self.out = lab, out

    def forwarded(self, case: str, packets: list[str], hosts: list[str], count: int, gap: str | None) -> dict[str, tuple[str, str]]:
        """The packets as trafgen sends them: nothing lost with gaps, each loss counted without."""
        name = f"{case}, {'slow' if gap else 'flat out'}"
        config, expected = self.out / "packets.cfg", self.out / "expected.pcap"
        config.write_text("\n".join(packets) + "\n")
        told(["trafgen", *TRAFGEN, "-n", str(count), "-i", config, "-o", expected])
        before = self.counts(hosts)
        with self.captured(hosts) as seen:
            said = told(self.lab.hosts["src"].argv(["trafgen", *TRAFGEN, *(["--gap", gap] if gap else []), "-n", str(count), "-i", str(config),
                                                    "-o", "e0"]))
        after = self.counts(hosts)
        sent = int(re.search(r"(\d+) packets outgoing", said).group(1))
        arrived = sum(len(host.frames) for host in seen.values())
        lost = {place: n - before["lost"].get(place, 0) for place, n in after["lost"].items() if n > before["lost"].get(place, 0)}
        lost |= {f"netsniff-ng {host}": each.lost for host, each in seen.items() if each.lost}
        told_losses = ", ".join(f"{place} {n:,}" for place, n in lost.items()) or "none"
        tests = {"order": in_order(self.lab, frames_of(expected)[0], seen)}
        measured = f"{arrived:,} of {sent:,}, {arrived / max(each.seconds for each in seen.values()):,.0f} packets/s"
        if gap:
            tests["none lost"] = verdict(sent == arrived == count, measured, told_losses)
        else:
            tests["losses counted"] = verdict(sent - arrived == sum(lost.values()), measured, f"{sent - arrived:,} missing, counted: {told_losses}")
        forwarded = after["forwarded"] - before["forwarded"]
        captured = arrived + sum(n for place, n in lost.items() if place.startswith("netsniff-ng") or place.endswith("rx_dropped of hosts"))
        tests["sent is counted"] = verdict(captured <= forwarded <= captured + self.noise, "", f"counted {forwarded:,}, captured {captured:,}")
        for file in self.out.glob("*.pcap"):
            file.unlink()
        return {f"{name}: {test}": result for test, result in tests.items()}

    @property
    def noise(self) -> int:
        """Packets of Linux's own that its links count too: kamueed counts them apart."""
        return 0 if self.lab.kamueed else 50

    def refused(self, family: int, fields: str) -> tuple[str, str]:
        """None of the packets arrives, and kamueed counts each for the same reason."""
        config = self.out / "packets.cfg"
        config.write_text(packet(self.lab, family, HOSTS["a"][family], 128, 0, "1024", f", {fields}") + "\n")
        before = self.counts(["a", "b"])["drops"]
        with self.captured(["a", "b"]) as seen:
            told(self.lab.hosts["src"].argv(["trafgen", *TRAFGEN, "--gap", STEADY_GAP, "-n", str(REFUSED), "-i", str(config), "-o", "e0"]))
        arrived = sum(len(host.frames) for host in seen.values())
        if arrived:
            return "failed", f"{arrived} of {REFUSED} arrived"
        if not self.lab.kamueed:
            return "passed", ""
        reasons = {reason: n - before.get(reason, 0) for reason, n in self.counts(["a", "b"])["drops"].items() if n > before.get(reason, 0)}
        reason = next((reason for reason, n in reasons.items() if n == REFUSED), None)
        return ("passed", reason) if reason else ("failed", f"{REFUSED} sent, counted: {reasons}")

    def counts(self, hosts: list[str]) -> dict:
        """Packets forwarded, lost by place, and dropped by reason, once nothing moves any more."""
        last, since = None, time.monotonic()
        while time.monotonic() - since < 0.5:
            now = self.read(hosts)
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(0.1)
        return last

    def read(self, hosts: list[str]) -> dict:
        lab, kamueed = self.lab, self.lab.kamueed
        inlet, link = (lab.wire, "w0") if kamueed else (lab.router, "p0")
        lost = {"rx_dropped of the router's link": statistic(inlet, link, "rx", "dropped"),
                "rx_dropped of hosts": sum(statistic(lab.hosts[host], "e0", "rx", "dropped") for host in hosts)}
        if not kamueed:
            return {"forwarded": sum(statistic(lab.router, port, "tx", "packets") for port in ("p1", "p2")), "lost": lost, "drops": {}}
        places = losses(kamueed.client)
        links = [entry["statistics"] for entry in kamueed.client.entries("interface") if entry["name"] in ("p1", "p2")]
        return {"forwarded": sum(link["tx-packets"] - link["inject-packets"] for link in links), "lost": lost | places,
                "drops": {place.removeprefix("drop "): n for place, n in places.items() if place.startswith("drop ")}}

    @contextmanager
    def captured(self, hosts: list[str]) -> Iterator[dict[str, Seen]]:
        """The packets that reach the hosts until the block has ended and nothing moves any more."""
        seen: dict[str, Seen] = {}
        logs = {host: self.out / f"{host}.sniff" for host in hosts}
        with ExitStack() as stack:
            sniffers = {}
            for host, log in logs.items():
                log.unlink(missing_ok=True)
                sniffers[host] = self.lab.popen(self.lab.hosts[host], [
                    "netsniff-ng", "--in", "e0", "--out", self.out / f"{host}.pcap", "--silent", "--notouch-irq", "--no-sock-mem", "--ring-size", "64MiB",
                    "--type", "host", "-f", f"udp dst port {PORT}"], log=str(log))
                stack.callback(end, sniffers[host], signal.SIGINT)
            for host, log in logs.items():
                wait_until(lambda: "Running!" in log.read_text(), f"netsniff-ng of {host} does not capture", 10, proc=sniffers[host],
                           log_end=log.read_text)
            yield seen
            self.counts(hosts)
        for host, log in logs.items():
            frames, seconds = frames_of(self.out / f"{host}.pcap")
            lost = re.search(r"(\d+)\s+packets failed filter \(out of space\)", log.read_text())
            seen[host] = Seen(frames, int(lost.group(1)) if lost else 0, seconds)


TRAFGEN = ("--cpus", "1", "--notouch-irq", "--no-sock-mem", "--no-cpu-stats")


def told(argv: list) -> str:
    done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMITED_S)
    if done.returncode or "outgoing" not in done.stdout:
        raise RuntimeError(f"{' '.join(map(str, argv))}: {done.stdout}")
    return done.stdout


def statistic(namespace, device: str, way: str, counter: str) -> int:
    return namespace.ip_json(f"-s link show dev {device}")[0]["stats64"][way][counter]


def frames_of(pcap: Path) -> tuple[list[bytes], float]:
    """The frames of a capture with a little-endian head, and the seconds that it lasts."""
    data, at, frames, times = pcap.read_bytes(), 24, [], []
    while at < len(data):
        seconds, micro, length = (int.from_bytes(data[at + 4 * field:at + 4 * field + 4], "little") for field in range(3))
        times.append(seconds + micro / 1e6)
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames, times[-1] - times[0] if times else 0.0


def routed(packet: bytes) -> bytes:
    """The IP packet after a router: its TTL, and the checksum that belongs to it."""
    if packet[0] >> 4 == 6:
        return packet[:7] + bytes([packet[7] - 1]) + packet[8:]
    checksum = int.from_bytes(packet[10:12], "big") + 0x100
    return packet[:8] + bytes([packet[8] - 1]) + packet[9:10] + ((checksum & 0xffff) + (checksum >> 16)).to_bytes(2, "big") + packet[12:]


def in_order(lab, sent: list[bytes], seen: dict[str, Seen]) -> tuple[str, str]:
    """Each captured frame is a sent one, with the MAC addresses of its last link, after those that were sent before it."""
    places = {routed(frame[14:]): place for place, frame in enumerate(sent)}
    for host, port in zip(seen, ("p1", "p2")):
        ethernet = bytes.fromhex((lab.hosts[host].ip_json("link show dev e0")[0]["address"] + lab.router_mac(port)).replace(":", ""))
        last = -1
        for number, frame in enumerate(seen[host].frames):
            place = places.get(frame[14:])
            if place is None or frame[:12] != ethernet:
                return "failed", f"frame {number} at host {host} was not sent: {frame[:64].hex()}"
            if place <= last:
                return "failed", f"frame {number} at host {host} is packet {place}, after packet {last}"
            last = place
    return "passed", ""


def verdict(is_right: bool, measured: str, wrong: str) -> tuple[str, str]:
    return ("passed", measured) if is_right else ("failed", wrong)
