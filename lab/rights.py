# SPDX-License-Identifier: BSD-3-Clause
"""Running kamueed as an ordinary user with the capabilities it needs (docs/features/rights.md).

KAMUEED_USER is the user's name, or a uid, for which no account has to exist; unset or `root`: as root.
"""
import os
import pwd
import subprocess
from pathlib import Path

from kamuee.lab.errors import LabError

# For ports on kernel interfaces (net_admin, net_raw) in namespaces of their own (sys_admin).
CAPABILITIES = ("net_admin", "net_raw", "sys_admin")


def ids() -> tuple[int, int] | None:
    """uid and gid; None: root."""
    name = os.environ.get("KAMUEED_USER", "root")
    if name.isdigit():
        return (int(name), int(name)) if int(name) else None
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        raise LabError(f"KAMUEED_USER: no user {name}: make it (deploy/make-groups deploy/kamuee.sysusers), or give a "
                       "number") from None
    return (user.pw_uid, user.pw_gid) if user.pw_uid else None


def restricted(argv: list[str], capabilities: tuple[str, ...] = CAPABILITIES) -> list[str]:
    """The command that runs another one as that user with exactly these capabilities."""
    who = ids()
    if who is None:
        return argv
    held = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    return ["setpriv", "--reuid", str(who[0]), "--regid", str(who[1]), "--clear-groups", "--no-new-privs",
            "--inh-caps", held, "--ambient-caps", held, "--bounding-set", held, *argv]


def give(*paths: Path) -> None:
    """What kamueed writes, and secrets that it reads, have to be that user's; programs that it runs have to be root's."""
    who = ids()
    if who:
        subprocess.run(["find", *map(str, paths), "-not", "-uid", str(who[0]), "-not", "(", "-type", "f", "-perm", "/111", ")",
                        "-exec", "chown", "-h", f"{who[0]}:{who[1]}", "{}", "+"], check=True)
