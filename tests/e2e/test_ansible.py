# SPDX-License-Identifier: BSD-3-Clause
"""A client that others made: Ansible's RESTCONF modules read and change the configuration by TLS, with a token."""
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from daemon import Daemon
from proxy import tls

ANSIBLE = Path(__file__).resolve().parents[2] / ".ansible"
TOKEN = "7b0c5a1e-ansible"
MTU = "/data/kamuee:port=p0/mtu"

INVENTORY = """
[routers]
r1 ansible_host=127.0.0.1
[routers:vars]
ansible_connection=ansible.netcommon.httpapi
ansible_network_os=ansible.netcommon.restconf
ansible_httpapi_port=8443
ansible_httpapi_use_ssl=true
ansible_httpapi_validate_certs=false
ansible_httpapi_restconf_root=/restconf/
ansible_user=robot
ansible_password=%s
"""
PLAYBOOK = """
- hosts: routers
  gather_facts: false
  tasks:
    - ansible.netcommon.restconf_get:
        path: /data/kamuee:port=p0
        content: config
      register: before
    - ansible.netcommon.restconf_config:
        path: /data/kamuee:port=p0
        method: patch
        content: '{"kamuee:port": [{"name": "p0", "mtu": 1400}]}'
    - ansible.netcommon.restconf_config:
        path: /data/kamuee:vport=v7
        method: put
        content: '{"kamuee:vport": [{"name": "v7", "port": "p0", "vlan": 7}]}'
    - ansible.netcommon.restconf_get:
        path: /data/kamuee:state/interface=v7
        content: nonconfig
      register: made
    - ansible.netcommon.restconf_config:
        path: /data/kamuee:vport=v7
        method: delete
    - ansible.netcommon.restconf_config:
        path: /data/kamuee:port=p0
        method: patch
        content: '{"kamuee:port": [{"name": "p0", "mtu": 7}]}'
      register: wrong
      failed_when: wrong is not failed
    - ansible.builtin.copy:
        content: '{{ {"before": before.response, "made": made.response, "wrong": wrong.msg} | to_json }}'
        dest: RESULT
      connection: local
      vars: { ansible_connection: local }
"""


@pytest.fixture
def daemon(kamueed):
    if not (ANSIBLE / "ansible_collections/ansible/netcommon").is_dir():
        pytest.skip("Ansible is not there: make deps")
    with Daemon(kamueed, "ansible-e2e") as daemon:
        tokens = daemon.dir / "tokens"
        tokens.write_text(f"robot admin sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
        tokens.chmod(0o600)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=127.0.0.1", "-keyout", f"{daemon.dir}/key.pem", "-out", f"{daemon.dir}/cert.pem"], check=True, capture_output=True)
        daemon.start("set port p0 devargs net_null0 mtu 9000\n"
                     f"set api tokens {tokens}\n")
        daemon.serve(tls(daemon))
        yield daemon


def play(daemon) -> dict:
    """What the playbook found."""
    result = daemon.dir / "result.json"
    (daemon.dir / "hosts").write_text(INVENTORY % TOKEN)
    (daemon.dir / "play.yaml").write_text(PLAYBOOK.replace("RESULT", str(result)))
    environment = dict(os.environ, PYTHONPATH=str(ANSIBLE), ANSIBLE_COLLECTIONS_PATH=str(ANSIBLE), ANSIBLE_HOME=str(daemon.dir / "ansible"),
                       ANSIBLE_PERSISTENT_CONNECT_TIMEOUT="120", ANSIBLE_PERSISTENT_CONNECT_RETRY_TIMEOUT="120", ANSIBLE_PERSISTENT_COMMAND_TIMEOUT="120",
                       ANSIBLE_LOCALHOST_WARNING="false", ANSIBLE_PYTHON_INTERPRETER=sys.executable, HOME=str(daemon.dir), LC_ALL="C.UTF-8")
    done = subprocess.run(["ip", "netns", "exec", daemon.name, sys.executable, str(ANSIBLE / "bin/ansible-playbook"), "-i",
                           str(daemon.dir / "hosts"), str(daemon.dir / "play.yaml")],
                          env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(result.read_text())


def test_ansible_reads_and_changes_the_configuration(daemon):
    found = play(daemon)
    assert found["before"]["kamuee:port"][0]["mtu"] == 9000
    assert found["made"]["kamuee:interface"][0]["vlan"] == 7
    assert "expected 68..9600" in str(found["wrong"])
    running = daemon.running()
    assert "mtu 1400" in running
    assert "vport v7" not in running
