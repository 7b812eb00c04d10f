# SPDX-License-Identifier: BSD-3-Clause
"""program load, program replace, program table: packet programs of virtual routers."""
from __future__ import annotations

from kamuee import configure
from kamuee.context import Context
from kamuee.grammar import Match


def load(context: Context, match: Match) -> None:
    """program load NEWPROGRAM file OBJECT hook HOOK [vr VR]; HOOK may be an EtherType"""
    given = match.args
    hook = f"hook ether-type ether-type {given['HOOK']}" if given["HOOK"].startswith("0x") else f"hook {given['HOOK']}"
    vr = f"vr {given['VR']} " if given.get("VR", "default") != "default" else ""
    configure.send(context, [f"set program {given['NEWPROGRAM']} {vr}{hook} file {configure.quoted(given['OBJECT'])}"])


def replace(context: Context, match: Match) -> None:
    """program replace PROGRAM"""
    context.client.call("program-replace", name=match.args["PROGRAM"])


def put(context: Context, match: Match) -> None:
    """program table PROGRAM TABLE set KEY NUMBER"""
    change(context, match, value=str(int(match.args["NUMBER"], 0)))


def remove(context: Context, match: Match) -> None:
    """program table PROGRAM TABLE delete KEY"""
    change(context, match)


def change(context: Context, match: Match, **value: str) -> None:
    context.client.call("program-table-set", name=match.args["PROGRAM"], table=match.args["TABLE"], key=str(int(match.args["KEY"], 0)), **value)
