# SPDX-License-Identifier: BSD-3-Clause
"""show tech-support: an archive with every show, also on a bad day."""
import json
import tarfile

from kamuee import commands, tech_support


def test_the_archive_has_each_show_and_linux(daemon, kamuee, tmp_path, monkeypatch):
    daemon.operations["configuration"] = lambda given: {"text": "set port p0 mtu 9000\n"}
    monkeypatch.setattr(tech_support, "LINUX", {"uname": "uname -a", "missing": "no-such-command", "fails": "false", "many": "seq 6000",
                                              "frr": "printf ' neighbor 192.0.2.1 password hidden7\\\\n ip ospf message-digest-key 1 md5 hidden7\\\\n'"})
    file = tmp_path / "bundle.tar.gz"
    result = kamuee("show", "tech-support", str(file))
    assert result.code == 0 and f"written to {file}" in result.out
    with tarfile.open(file) as archive:
        files = {name: archive.extractfile(name).read().decode(errors="replace") for name in archive.getnames()}
    assert json.loads(files["bundle/show-port.json"])[0]["name"] == "p0"
    assert files["bundle/show-running-config.txt"].startswith("set ")
    assert "Imbalance" in files["bundle/show-ledger.txt"].title()
    assert {finding["check"] for finding in json.loads(files["bundle/doctor.json"])} >= {"memory", "rp-filter"}
    assert "Linux" in files["bundle/linux/uname.txt"]
    assert "error: " in files["bundle/linux/missing.txt"] and "exit code 1" in files["bundle/linux/fails.txt"]
    assert files["bundle/linux/many.txt"].endswith("5000\n… 1000 more lines\n")
    assert files["bundle/linux/frr.txt"].count("<masked>") == 2 and "hidden7" not in files["bundle/linux/frr.txt"]
    assert "bundle/linux/log-file.txt" in files
    assert all(size for size in map(len, files.values()))


def test_a_daemon_that_is_gone_is_an_error_in_the_files(daemon, kamuee, tmp_path, monkeypatch):
    monkeypatch.setattr(tech_support, "LINUX", {})
    daemon.stop()
    file = tmp_path / "bundle.tgz"
    assert kamuee("show", "tech-support", str(file)).code == 0
    with tarfile.open(file) as archive:
        assert b"error: " in archive.extractfile("bundle/show-port.txt").read()


def test_a_file_that_can_not_be_written_is_named(kamuee, tmp_path):
    result = kamuee("show", "tech-support", str(tmp_path / "none" / "x.tar.gz"))
    assert result.code == 1 and "No such file" in result.err


def test_no_show_without_arguments_is_forgotten_and_no_full_table_taken():
    names = [" ".join(words) for words, _ in tech_support.shows()]
    assert len(names) == len(set(names)) > 20 and {"show port", "show fib", "show punt", "show ipv4 route summary"} <= set(names)
    assert "show ipv4 route" not in names
    patterns = [command.pattern for command in commands.COMMANDS if command.pattern.startswith("show ")]
    assert len(patterns) - len(names) <= 15, sorted(patterns)
    assert tech_support.plain("show port [PORT] statistics (pps|bps)") == ["show", "port", "statistics", "pps"]
    assert tech_support.plain("show ipv4 route (PREFIX|ADDRESS) at TIME [vr VR]") is None


def test_no_command_of_linux_lists_processes_of_others():
    for name, command in tech_support.LINUX.items():
        words = command.split()
        assert words[0] != "ps" or words[1:3] == ["-C", "{ours}"], name
        assert words[0] != "ss" or "p" not in words[1], name


def test_without_a_name_it_is_a_private_file_for_temporary_ones(kamuee, tmp_path, monkeypatch):
    monkeypatch.setattr(tech_support, "LINUX", {})
    monkeypatch.setattr(tech_support.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    result = kamuee("show", "tech-support")
    (file,) = tmp_path.glob("kamuee-*.tar.gz")
    assert result.code == 0 and f"written to {file}" in result.out and not list((tmp_path / "work").iterdir())
    assert file.stat().st_mode & 0o777 == 0o600
