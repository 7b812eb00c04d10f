# SPDX-License-Identifier: BSD-3-Clause
"""A YAML document whose every value knows its line, so that errors can name it.

`Value` wraps a node of the composed document with its place in words ("nodes.r1.vlan"). The readers
(`text()`, `integer()`, `mapping()` ...) check the type and raise a LabError such as

    demo.yaml:12: nodes.r1.vlan: expected a whole number from 1 to 4094, found 'forty'
"""
import ipaddress
import re
from collections.abc import Callable

import yaml

from kamuee.lab.errors import LabError


class Value:
    def __init__(self, node: yaml.Node, file: str, path: str = ""):
        self.node, self.file, self.path = node, file, path

    @property
    def line(self) -> int:
        return self.node.start_mark.line + 1

    def error(self, text: str) -> LabError:
        where = f"{self.path}: " if self.path else ""
        return LabError(f"{self.file}:{self.line}: {where}{text}")

    def is_mapping(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    def is_list(self) -> bool:
        return isinstance(self.node, yaml.SequenceNode)

    def _found(self) -> str:
        if self.is_mapping():
            return "a mapping"
        if self.is_list():
            return "a list"
        return f"'{self.node.value}'" if self.node.value else "nothing"

    def mapping(self, known: tuple[str, ...] | None = None) -> dict[str, "Value"]:
        """Entries by key; keys outside `known` and keys given twice are errors."""
        if not self.is_mapping():
            raise self.error(f"expected a mapping (key: value), found {self._found()}")
        entries: dict[str, Value] = {}
        for key_node, value_node in self.node.value:
            key = str(key_node.value)
            here = Value(value_node, self.file, f"{self.path}.{key}" if self.path else key)
            here_key = Value(key_node, self.file, here.path)
            if known is not None and key not in known:
                raise here_key.error(f"unknown key; expected one of: {', '.join(known)}")
            if key in entries:
                raise here_key.error("appears twice")
            entries[key] = here
        return entries

    def items(self) -> list["Value"]:
        if not self.is_list():
            raise self.error(f"expected a list, found {self._found()}")
        return [Value(node, self.file, f"{self.path}[{i}]") for i, node in enumerate(self.node.value)]

    def text(self) -> str:
        if not isinstance(self.node, yaml.ScalarNode) or self.node.tag == "tag:yaml.org,2002:null":
            raise self.error(f"expected text, found {self._found()}")
        return self.node.value

    def name(self, pattern: str, expected: str) -> str:
        text = self.text()
        if not re.fullmatch(pattern, text):
            raise self.error(f"expected {expected}, found '{text}'")
        return text

    def choice(self, among: tuple[str, ...]) -> str:
        text = self.text()
        if text not in among:
            raise self.error(f"expected one of {', '.join(among)}; found '{text}'")
        return text

    def integer(self, least: int, most: int) -> int:
        return int(self._number(int, f"a whole number from {least} to {most}", least, most))

    def fraction(self) -> float:
        return self._number(float, "a number from 0 to 1", 0, 1)

    def _number(self, kind: type, expected: str, least: float, most: float) -> float:
        try:
            value = kind(self.text())
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise self.error(f"expected {expected}, found {self._found()}")
        return value

    def boolean(self) -> bool:
        if self.text() not in ("true", "false"):
            raise self.error(f"expected true or false, found {self._found()}")
        return self.text() == "true"

    def interface_address(self) -> str:
        return self._ip(ipaddress.ip_interface, "an address with prefix length, such as 10.0.1.1/24",
                        needs_slash=True)

    def prefix(self) -> str:
        return self._ip(ipaddress.ip_network, "a prefix without host bits, such as 10.0.1.0/24",
                        needs_slash=True)

    def address(self) -> str:
        return self._ip(ipaddress.ip_address, "an IPv4 or IPv6 address")

    def _ip(self, parse: Callable, expected: str, needs_slash: bool = False) -> str:
        text = self.text()
        try:
            parse(text)
        except ValueError:
            raise self.error(f"expected {expected}; found '{text}'") from None
        if needs_slash and "/" not in text:
            raise self.error(f"expected {expected}; found '{text}' (the /length is missing)")
        return text

    def texts(self) -> list[str]:
        return [item.text() for item in self.items()]


def parse(text: str, file: str) -> Value:
    """Parse YAML text; LabError names file and line of a syntax error."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise LabError(f"{file}:{line}: not YAML: {error.problem}") from None
    if node is None:
        raise LabError(f"{file}:1: empty; expected the keys nodes and links")
    return Value(node, file)
