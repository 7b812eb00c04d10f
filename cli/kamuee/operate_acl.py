# SPDX-License-Identifier: BSD-3-Clause
"""clear acl, clear acl temporary, reload acl, reload address-set, address-set SET add|delete"""
from __future__ import annotations

from kamuee.context import Context
from kamuee.grammar import Match


def clear(context: Context, match: Match) -> None:
    """clear acl [ACL] counters"""
    context.client.call("clear-acl", name=match.args.get("ACL"))


def clear_temporary(context: Context, match: Match) -> None:
    """clear acl ACL temporary"""
    context.client.call("acl-change", name=match.args["ACL"], replace=True)


def reload(context: Context, match: Match) -> None:
    """reload acl [ACL], reload address-set [SET]"""
    context.client.call("reload", acl=match.args.get("ACL"), address_set=match.args.get("SET"))


def change(context: Context, match: Match) -> None:
    """address-set SET (add|delete) MEMBER…"""
    verb = "add" if "add" in match.args else "delete"
    answer = context.client.call("address-set-change", name=match.args["SET"], **{verb: list(match.rest)})
    if skipped := answer.get("skipped"):
        context.line(f"{skipped} {'were already in the set' if verb == 'add' else 'were not in the set'}")
