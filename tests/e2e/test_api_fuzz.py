# SPDX-License-Identifier: BSD-3-Clause
"""Requests made at random from the schema, for a short while; `make fuzz-api SECONDS=3600` does it for long."""
import sys
from pathlib import Path

import pytest

from daemon import Daemon

sys.path.append(str(Path(__file__).resolve().parents[1] / "fuzz"))

import api_fuzz                                                                 # noqa: E402


@pytest.fixture
def daemon(kamueed):
    with Daemon(kamueed, "api-fuzz-e2e") as daemon:
        api_fuzz.add_routes(daemon)
        daemon.start(api_fuzz.CONFIGURATION)
        yield daemon


def test_no_request_ends_in_5xx_or_ends_kamueed(daemon):
    seen = api_fuzz.run(daemon, 8, 20261122)
    print(seen)
    assert seen[200] and seen[400]
