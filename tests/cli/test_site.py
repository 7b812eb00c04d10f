# SPDX-License-Identifier: BSD-3-Clause
"""`make site`: each page of the documents is there and found, no link leads nowhere."""
import json
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run([ROOT / "tools/make-site", out], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def targets(page: Path) -> list[str]:
    text = page.read_text()
    return [to for to in re.findall(r'(?:href|src)="([^"]*)"', text) if not re.match(r"https?:|mailto:|data:|javascript:", to)]


def test_each_page_is_there(site):
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html")
        found = site / (name.with_name("index.html") if name.name == "README.html" else name)
        assert found.exists(), name
    for page in (ROOT / "docs/man").iterdir():
        assert "<h1" in (site / "man" / f"{page.name}.html").read_text()


def test_no_link_leads_nowhere(site):
    ids = {page: set(re.findall(r'\bid="([^"]*)"', page.read_text())) for page in site.rglob("*.html")}
    broken = []
    for page in ids:
        if page.name == "404.html":                        # its links begin at the site's root
            continue
        for to in targets(page):
            path, anchor = urldefrag(unquote(to))
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or anchor and target.suffix == ".html" and anchor not in ids[target]:
                broken.append(f"{page.relative_to(site)}: {to}")
    assert not broken, "\n".join(sorted(set(broken)))


def test_search_finds_a_feature(site):
    found = json.loads((site / "search/search_index.json").read_text())["docs"]
    assert any(entry["location"].startswith("features/urpf.html") and "reverse" in entry["text"] for entry in found)
