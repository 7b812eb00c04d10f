# SPDX-License-Identifier: BSD-3-Clause
"""The web page: who gets what from its listener, and the page itself in headless Chromium."""
import json
import re
import shutil
import socket
import subprocess

import pytest

from browser import Browser
from daemon import Daemon
from support import eventually

PAGE = "http://127.0.0.1:8080/"
STATE = PAGE + "restconf/data/kamuee:state/"
LOOKUP = PAGE + "restconf/operations/kamuee:lookup"
ASK = """
import json, sys, urllib.request as u, urllib.error as e
method, url, headers, body = json.loads(sys.stdin.read())
r = u.Request(url, method=method, headers=headers, data=body.encode() if body else None)
try: a = u.urlopen(r)
except e.HTTPError as x: a = x
print(json.dumps([a.status, dict(a.headers), a.read().decode()]))
"""


@pytest.fixture(scope="module")
def daemon(kamueed):
    with Daemon(kamueed, "we-e2e") as daemon:
        daemon.start("set port p0 devargs net_af_packet0,iface=a0\nset port p1 devargs net_af_packet1,iface=a1\nset vr red table 77\n"
                     "set vport v40 port p1 vlan 40\nset forwarding latency-sample 61\n"
                     "set port p1 queue rate 1G\nset port p1 queue vr default guarantee 100M\n")
        for i in range(2):
            daemon.run(f"ip address add 10.{i}.{i}.1/24 dev p{i}")
            daemon.run(f"ip neighbor add 10.{i}.{i}.2 lladdr 02:00:00:00:00:0{i + 2} dev p{i}")
        daemon.run("ip address add 198.18.40.1/24 dev v40")
        daemon.run("ip route add 198.51.100.0/24 via 10.1.1.2")
        daemon.run("ip route add 192.0.2.0/24 via 10.0.0.2")
        daemon.serve()
        yield daemon


@pytest.fixture(scope="module")
def url(daemon) -> str:
    [url] = daemon.client.call("web-address")["url"]
    assert url.startswith(PAGE + "#")
    return url


@pytest.fixture(scope="module")
def browser(daemon):
    if not shutil.which("chromium"):
        pytest.skip("no chromium: make deps installs it")
    browser = Browser(daemon.name)
    yield browser
    browser.close()


def ask(daemon, target: str, key: str = "", method: str = "GET", body: str = "", **headers: str) -> tuple[int, dict, str]:
    given = {"X-Kamuee-Key": key, **({"Content-Type": "application/yang-data+json"} if body else {}), **headers}
    done = subprocess.run(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", ASK], check=True, text=True,
                          capture_output=True, input=json.dumps([method, target, given, body]))
    return tuple(json.loads(done.stdout))


def test_data_needs_the_key_and_nothing_can_be_changed(daemon, url):
    key = url.partition("#")[2]
    assert ask(daemon, STATE + "ledger", key)[0] == 200
    assert ask(daemon, STATE + "ledger")[0] == 401
    assert ask(daemon, STATE + "ledger", "0" * len(key))[0] == 401
    assert ask(daemon, STATE + "ledger", Authorization=f"Bearer {key}")[0] == 401
    assert ask(daemon, PAGE + "restconf/operations/kamuee:configuration", key, "POST", '{"kamuee:input":{}}')[0] == 200
    assert ask(daemon, PAGE + "restconf/streams/events")[0] == 401
    assert ask(daemon, LOOKUP, key, "POST", '{"kamuee:input":{"address":["198.51.100.7"]}}')[0] == 200
    for method, path in (("POST", "restconf/operations/kamuee:configure"), ("POST", "restconf/operations/kamuee:shutdown"),
                         ("POST", "restconf/operations/kamuee:web-address"), ("POST", "restconf/operations/kamuee:edit"),
                         ("POST", "restconf/operations/kamuee:clear-counters"), ("POST", "restconf/streams/events"),
                         ("GET", "restconf/data/kamuee:port"), ("GET", "restconf/data"),
                         ("DELETE", "restconf/data/kamuee:port=p0"), ("PUT", "restconf/data/kamuee:state/ledger"), ("GET", "metrics"),
                         ("GET", "restconf/data/kamuee:statement"), ("GET", "../etc/passwd"), ("POST", "")):
        assert ask(daemon, PAGE + path, key, method)[0] in (400, 403, 405, 421), path
    assert ask(daemon, PAGE, Host="rebound.example:8080")[0] == 421
    assert ask(daemon, STATE + "ledger", key, Host="rebound.example")[0] == 421


def test_the_page_forbids_what_it_does_not_need(daemon):
    status, headers, body = ask(daemon, PAGE)
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert not any(name.lower().startswith("access-control") for name in headers)
    assert "http" not in body.replace("<!DOCTYPE html>", "")   # nothing from elsewhere


def go(browser, page: str) -> None:
    eventually(lambda: browser.text("#live") == "live", 30, lambda: browser.text("body")[:500])   # it has taken the key from the address
    browser.run(f"location.hash = '#/{page}'")
    eventually(lambda: browser.run(f"!document.querySelector('[data-page={page}]').hidden && live.textContent === 'live'"), 30,
               lambda: browser.text("body")[:500])


def column(browser, table: str, number: int) -> list[str]:
    return browser.run(f"[...document.querySelectorAll('#{table} tbody tr')].map(row => row.cells[{number}]?.innerText ?? '')")


def no_complaints(browser) -> None:
    found, browser.complaints = [c for c in browser.complaints if c.get("source") != "network"], []   # answers of 400 are asked for
    assert found == []


def test_the_overview_is_live_and_has_the_last_hour(daemon, url, browser):
    browser.open(url)
    eventually(lambda: browser.text("#live") == "live", 30, lambda: browser.text("body")[:500])
    assert browser.run("location.href") == PAGE              # the key is not in sight
    assert column(browser, "ports", 0) == ["p0", "p1"]
    assert browser.text("#alarms")
    eventually(lambda: browser.text("#rx") not in ("–", ""), 20, "rates come with the second answer")
    points = "document.querySelector('#hour-graph polyline.rx')?.getAttribute('points').split(' ').filter(Boolean).length ?? 0"
    eventually(lambda: browser.run(points) >= 2, 50, "kamueed notes what ports counted every ten seconds")
    assert re.search(r"\d\d:\d\d", browser.run("document.querySelector('#hour-graph svg').textContent")), "the axis says when"
    browser.run("document.getElementById('hour-port').value = 'p1'; hour.dispatchEvent(new Event('change'))")
    eventually(lambda: "p1: received" in browser.text("#hour-graph .legend"), 20, lambda: browser.text("#hour-graph"))
    no_complaints(browser)


def test_the_overview_draws_who_sends_by_a_queue(daemon, url, browser):
    browser.open(url)
    go(browser, "overview")
    eventually(lambda: column(browser, "queues", 1) == ["vr default"], 20, lambda: browser.text("#queues-section"))
    assert column(browser, "queues", 4) == ["100M"]
    assert "guarantee 100M" in browser.run("document.querySelector('#queues svg.share').getAttribute('aria-label')")
    no_complaints(browser)


def test_interfaces_have_vlans_and_addresses_and_neighbors_can_be_found(daemon, url, browser):
    browser.open(url)
    go(browser, "interfaces")
    eventually(lambda: column(browser, "interfaces", 0) == ["p0", "p1", "v40"], 20, lambda: str(column(browser, "interfaces", 0)))
    assert column(browser, "interfaces", 1) == ["port", "port", "VLAN 40 on p1"]
    assert "10.1.1.1/24" in column(browser, "interfaces", 4)[1] and "198.18.40.1/24" in column(browser, "interfaces", 4)[2]
    eventually(lambda: all(rate[0].isdigit() for place in (7, 8, 9, 10) for rate in column(browser, "interfaces", place)), 20,
               lambda: str([column(browser, "interfaces", place) for place in (7, 8, 9, 10)]))   # packets and bits per second, of a VLAN, too
    graphs = "[...document.querySelectorAll('#interfaces tbody tr')[2].querySelectorAll('svg.spark')]"
    daemon.run("ping -c 5 -i 0.2 -W 0.1 198.18.40.9", check=False)            # ARP by the VLAN
    assert browser.run(f"{graphs}.map(graph => graph.getAttribute('aria-label').split(':')[0])") == ["v40 received", "v40 sent"]
    sent = f"{graphs}[1].querySelector('polyline').getAttribute('points').split(' ').filter(point => Number(point.split(',')[1]) < 98).length"
    eventually(lambda: browser.run(sent), 30, lambda: browser.run(f"{graphs}[1].outerHTML"))   # more than nothing
    go(browser, "neighbors")
    eventually(lambda: {"10.0.0.2", "10.1.1.2"} <= set(column(browser, "neighbors", 0)), 20, lambda: str(column(browser, "neighbors", 0)))
    browser.run("let f = document.getElementById('neighbors-filter'); f.value = '02:00:00:00:00:03'; f.dispatchEvent(new Event('input', {bubbles: true}))")
    eventually(lambda: column(browser, "neighbors", 0) == ["10.1.1.2"], 20, lambda: str(column(browser, "neighbors", 0)))
    no_complaints(browser)


def test_access_lists_have_their_rules_counters(daemon, url, browser):
    daemon.configure("set acl edge default permit", "set acl edge rule 10 permit icmp", "set acl edge rule 20 deny tcp", "set interface v40 acl in edge")
    daemon.client.call("acl-change", name="edge", lease=60, add="15 deny udp from any to any port 19")
    browser.open(url)
    go(browser, "lists")
    eventually(lambda: column(browser, "rules", 0) == ["10", "15", "20"], 20, lambda: browser.text("#rules"))
    assert column(browser, "lists", 0) == ["edge"] and column(browser, "lists", 1) == ["3"] and column(browser, "lists", 2) == ["1"]
    assert column(browser, "rules", 1)[1] == "deny udp from any to any port 19"
    eventually(lambda: column(browser, "rules", 4) == ["0"] * 3, 20, lambda: browser.text("#rules"))    # a rate comes with the second answer
    browser.run("document.getElementById('rules-from').value = '15'; document.getElementById('rules-from').dispatchEvent(new Event('change'))")
    eventually(lambda: column(browser, "rules", 0) == ["15", "20"], 20, lambda: browser.text("#rules"))
    no_complaints(browser)


def search(browser, text: str, longer: bool = False) -> None:
    browser.run(f"document.getElementById('routes-prefix').value = {text!r}; document.getElementById('routes-longer').checked = {str(longer).lower()};"
                "document.getElementById('routes-form').requestSubmit()")


def test_routes_are_searched_and_their_changes_told(daemon, url, browser):
    browser.open(url)
    go(browser, "routes")
    eventually(lambda: "198.51.100.0/24" in column(browser, "routes", 0), 20, lambda: str(column(browser, "routes", 0)))
    search(browser, "198.51.100.7")
    eventually(lambda: column(browser, "routes", 0) == ["198.51.100.0/24"], 20, lambda: browser.text("#routes-count"))
    assert column(browser, "routes", 1) == ["via 10.1.1.2, p1"]
    eventually(lambda: "198.51.100.0/24" in column(browser, "changes", 1), 20, lambda: str(column(browser, "changes", 1)))
    search(browser, "198.51.0.0/16", longer=True)
    eventually(lambda: column(browser, "routes", 0) == ["198.51.100.0/24"], 20, lambda: browser.text("#routes-count"))
    search(browser, "203.0.113.9")
    eventually(lambda: "no route for 203.0.113.9" in browser.text("#routes-count"), 20, lambda: browser.text("#routes-count"))
    search(browser, "nonsense")
    eventually(lambda: "nonsense" in browser.text("#routes-count.bad"), 20, lambda: browser.text("#routes-count"))
    no_complaints(browser)


def test_revisions_say_what_they_changed_and_events_come_by_themselves(daemon, url, browser):
    browser.open(url)
    go(browser, "events")
    daemon.client.call("configure", line=["set interface p0 redirect true"], comment="for the picture")
    eventually(lambda: any("for the picture" in said for said in column(browser, "events", 2)), 20, lambda: str(column(browser, "events", 2)))
    go(browser, "configuration")
    eventually(lambda: "for the picture" in column(browser, "revisions", 3)[0], 20, lambda: str(column(browser, "revisions", 3)))
    browser.run("document.querySelector('#revisions tbody button').click()")
    eventually(lambda: "+ set interface p0 redirect true" in browser.text("#difference"), 20, lambda: browser.text("#difference"))
    assert browser.text("#difference").count("\n") <= 2, "only what that commit changed"
    assert "set interface p0 redirect true" in browser.text("#running")
    no_complaints(browser)


def test_a_packet_is_explained(daemon, url, browser):
    browser.open(url)
    go(browser, "packet")
    eventually(lambda: browser.run("document.getElementById('in').value") == "p0", 40)
    browser.run("source.value = '10.0.0.9'; destination.value = '203.0.113.9'; explain.requestSubmit()")
    assert "dropped: ip4_no_route" in eventually(lambda: browser.text("#explained .bad"), 20, lambda: browser.text("#explained"))
    assert eventually(lambda: column(browser, "flows", 0), 20)   # a row of a flow, or that there are none
    no_complaints(browser)


def test_without_its_key_the_page_asks_for_it(daemon, url, browser):
    browser.open(PAGE)
    browser.run("sessionStorage.clear()")
    browser.open(PAGE)
    eventually(lambda: browser.run("!locked.hidden && board.hidden"), 20, lambda: browser.text("#live"))
    browser.run(f"document.getElementById('key').value = {url.partition('#')[2]!r}; unlock.requestSubmit()")
    eventually(lambda: browser.run("locked.hidden && !board.hidden"), 20, lambda: browser.text("#live"))


PAGES = ("overview", "interfaces", "neighbors", "routes", "configuration", "events", "packet")
WIDTHS = {"phone": 390, "tablet": 820, "desktop": 1280}


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_every_control_has_a_name_and_every_page_fits_the_window(daemon, url, browser, width):
    browser.open(url, width=width)
    eventually(lambda: browser.text("#live") == "live", 20)
    eventually(lambda: browser.run("document.querySelectorAll('svg.hour text.y').length"), 20, lambda: browser.text("#hour-graph"))
    browser.run("document.querySelectorAll('svg.hour text.y').forEach(x => x.textContent = '50.0M')")       # as wide as a label gets
    for page in PAGES:
        go(browser, page)
        assert browser.run("[...document.querySelectorAll('input, select')].filter(x => !x.labels.length).length") == 0
        assert browser.run("[...document.querySelectorAll('progress, svg')].filter(x => !x.getAttribute('aria-label')).length") == 0
        assert browser.run("document.documentElement.scrollWidth") <= width, page
        cut = browser.run("[...document.querySelectorAll('td, th, input, svg')].filter(x => x.offsetParent && x.closest('thead') === null && "
                          "x.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5).map(x => x.outerHTML.slice(0, 80))")
        assert cut == [], f"{page}: cut off at the right"
        beyond = browser.run("[...document.querySelectorAll('section table')].filter(x => x.offsetParent && x.getBoundingClientRect().right > "
                             "x.closest('section').getBoundingClientRect().right + 0.5).map(x => x.id)")
        assert beyond == [], f"{page}: tables wider than their panel"
        left = browser.run("[...document.querySelectorAll('svg.hour text')].filter(x => x.getBBox().x < 0).map(x => x.textContent)")
        assert left == [], f"{page}: labels of the graph are cut off at the left"


def test_the_page_says_which_router_it_is_and_a_tablet_has_tables(daemon, url, browser):
    browser.open(url, width=WIDTHS["tablet"])
    go(browser, "overview")
    assert browser.text("#router") == socket.gethostname() and browser.run("document.title") == f"{socket.gethostname()}: overview"
    is_table = "getComputedStyle(document.querySelector('#ports tbody tr')).display"
    assert eventually(lambda: browser.run(is_table), 20) == "table-row"
    browser.open(url, width=WIDTHS["phone"])
    eventually(lambda: browser.run(f"document.querySelector('#ports tbody tr') ? {is_table} : ''") == "grid", 20)
