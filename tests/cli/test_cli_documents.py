# SPDX-License-Identifier: BSD-3-Clause
"""Documents agree with the schema and the program: shapes, 64-bit leaves, manual pages, help."""
import re
import shutil
import subprocess

import pytest
import schema
from conftest import ROOT

from kamuee import client, commands, options, reference, shapes

MODULE = schema.module()
STATE = MODULE.at("state")
MAN = ROOT / "docs" / "man"
PAGES = ("kamuee.1", "kamueed.8", "kamuee.conf.5", "kamuee-frr.7", "kamuee-flowspec.8")


def plain_text(page):
    """A manual page without its macros' escapes."""
    return (MAN / page).read_text(encoding="utf-8").replace("\\-", "-").replace("\\&", "")


def test_generated_names_of_64_bit_leaves_are_up_to_date():
    assert reference.WIDE.read_text(encoding="utf-8") == reference.wide(), \
        "run: PYTHONPATH=cli python3 -m kamuee.reference docs/features/cli.md"


def test_every_command_that_prints_json_has_a_shape_and_every_shape_a_command():
    used = {command.json for command in commands.COMMANDS if command.json}
    assert used == set(shapes.SHAPES)


def test_wide_names_are_exactly_the_64_bit_leaves_of_state_and_operations():
    wide = {leaf.argument for _, leaf in [*STATE.leaves(), *operations()]
            if leaf.one("type").argument in ("uint64", "int64")}
    assert client.WIDE == wide


def test_no_string_of_state_could_be_taken_for_a_64_bit_number():
    texts = {leaf.argument for _, leaf in STATE.leaves()
             if leaf.keyword == "leaf" and leaf.one("type").argument in ("string", "name")}
    assert texts & client.WIDE == set()


def test_no_64_bit_number_is_in_a_row_that_is_passed_on_as_text():
    assert {leaf.argument for _, leaf in STATE.at("routes/route").leaves()} & client.WIDE == set()


def operations():
    return [entry for rpc in MODULE.all("rpc") for entry in rpc.leaves()]


def test_every_keyword_has_a_meaning():
    for command in commands.COMMANDS:
        words = re.findall(r"[a-z][a-z0-9-]*", command.pattern)
        for word in words:
            assert commands.meaning(word)


def test_every_function_that_a_command_names_exists():
    from importlib import import_module
    for command in commands.COMMANDS:
        module, _, name = command.run.partition(":")
        assert callable(getattr(import_module(f"kamuee.{module}"), name)), command.run


def test_commands_and_shapes_in_the_cli_page_are_up_to_date():
    page = ROOT / "docs" / "features" / "cli.md"
    text = page.read_text(encoding="utf-8")
    assert reference.filled(text) == text, "run: PYTHONPATH=cli python3 -m kamuee.reference docs/features/cli.md"


def test_completion_scripts_for_packages_are_what_the_program_prints():
    from kamuee.completion import SCRIPTS
    folder = ROOT / "deploy" / "completion"
    assert (folder / "kamuee.bash").read_text(encoding="utf-8") == SCRIPTS["bash"]
    assert (folder / "_kamuee").read_text(encoding="utf-8") == SCRIPTS["zsh"]


@pytest.mark.parametrize("command", commands.COMMANDS, ids=lambda command: command.pattern[:30])
def test_manual_page_describes_every_command(command):
    page = plain_text("kamuee.1")
    assert f".It {reference.mdoc(command.pattern)}" in page


@pytest.mark.parametrize("option", options.OPTIONS, ids=lambda option: option.long)
def test_manual_page_describes_every_option(option):
    page = plain_text("kamuee.1")
    assert f"Fl {option.long[1:]}" in page
    assert not option.short or f"Fl {option.short[1:]}" in page


def test_configuration_page_describes_every_leaf_with_its_default_and_range():
    page = plain_text("kamuee.conf.5")
    described = dict(re.findall(r"^\.It Ic set ([^\n]*)\n(.*?)(?=^\.It|^\.El)", page, re.M | re.S))
    for path, leaf in MODULE.leaves():
        if path.startswith("state/") or any(path.startswith(rpc.argument + "/") for rpc in MODULE.all("rpc")):
            continue
        words = path.split("/")[:-1] if leaf.one("k:keywordless") else path.split("/")
        line = next((key for key in described if words_of(key) == words), None)
        if is_key(path):
            assert any(path.split("/")[0] == key.split()[0] for key in described), path
            continue
        assert line, f"kamuee.conf(5) does not describe {path}"
        text = described[line]
        if default := leaf.one("default"):
            assert default.argument in text, f"{path}: default {default.argument}"
        for enum in leaf.one("type").all("enum"):
            assert enum.argument in text, f"{path}: {enum.argument}"
        if limits := leaf.one("type").one("range"):
            for number in limits.argument.split(".."):
                assert number == "max" or number in text, f"{path}: range {limits.argument}"


def words_of(line):
    """The words of the schema in a line such as 'port Ar NAME Ic mtu Ar BYTES'."""
    return re.findall(r"\b[a-z][a-z0-9-]*\b", line)


def is_key(path):
    parent, _, name = path.rpartition("/")
    if not parent:
        return False
    key = MODULE.at(parent).one("key")
    return key is not None and name in key.argument.split()


@pytest.mark.parametrize("page", PAGES)
def test_manual_page_is_correct_mdoc(page):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed: apt-get install mandoc")
    result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(MAN / page)], capture_output=True, text=True)
    assert result.stdout == ""


def test_daemon_page_names_every_option_of_kamueed():
    source = (ROOT / "src" / "main" / "options.c").read_text(encoding="utf-8")
    names = set(re.findall(r'\{"([a-z][a-z-]+)",\s*(?:no|required|optional)_argument', source))
    assert names, "no options found in src/main/options.c"
    page = plain_text("kamueed.8")
    assert {name for name in names if f"Fl -{name}" not in page} == set()


def make(*words):
    return subprocess.run(["make", "-s", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_help_of_make_begins_with_targets_for_users_and_has_all():
    groups = dict(part.partition("\n")[::2] for part in re.split(r"^to ", make("help"), flags=re.MULTILINE)[1:])
    shown = {name.strip(): set(re.findall(r"^ +([a-z0-9-]+)  ", text, re.MULTILINE)) for name, text in groups.items()}
    described = set(re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert next(iter(shown)) == "use" and shown["use"] >= {"demo", "demo-stop", "install", "uninstall"}
    assert set.union(*shown.values()) == described and len(shown) == 5


def test_the_demo_installs_and_builds_only_what_it_needs():
    said = make("-n", "demo", "BUILD=nowhere")
    assert "ninja -C nowhere kamueed src/main/kamuee-keeper\n" in said
    installed = set(re.search(r"--no-install-recommends (.*?)&&", said, re.DOTALL)[1].split())
    assert installed >= {"frr", "bird2", "iperf3", "libdpdk-dev"}
    assert not [name for name in installed if re.search("chromium|qemu|ansible|cross|arm64|aarch64|mkdocs|clang|pytest", name)]
