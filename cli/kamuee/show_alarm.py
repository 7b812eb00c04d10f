# SPDX-License-Identifier: BSD-3-Clause
"""show alarm [history]: what is wrong now; what was wrong lately."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.moment import duration
from kamuee.render import Column, right

NOW = (Column("Since"), Column("Severity"), Column("Alarm"), Column("Subject"), right("Count"), Column("Message", wrap=True))
PAST = (Column("From"), Column("To"), Column("Severity"), Column("Alarm"), Column("Subject"), right("Peak"))


def show(context: Context, match: Match) -> None:
    raised = context.client.entries("alarm")
    if context.options.json:
        context.json(raised)
    elif raised:
        context.lines(render.table(NOW, map(row, raised), context.width, context.wide))
    else:
        context.line("no alarms")


def history(context: Context, match: Match) -> None:
    past = context.client.entries("alarm-history")
    if context.options.json:
        context.json(past)
    elif past:
        context.lines(render.table(PAST, map(past_row, past), context.width, context.wide))
    else:
        context.line("no cleared alarms")


def silence(context: Context, match: Match) -> None:
    """silence alarm ALARM [SUBJECT] [for DURATION]"""
    name, subject, wanted = match.args["ALARM"], match.args.get("SUBJECT"), match.args.get("DURATION", "1h")
    length = duration(wanted)
    seconds = None if length is None else int(length.total_seconds())
    context.client.call("silence-alarm", name=name, subject=subject, seconds=seconds)
    what = f"{name} of {subject}" if subject else name
    context.line(f"{what} is silenced for {wanted}" if length else f"{what} is no longer silenced")


def moment(text: str | None) -> str | None:
    """To the second, as the daemon says it: UTC."""
    return text and text[:19].replace("T", " ")


def row(alarm: dict) -> list[str | None]:
    subject = alarm["subject"]
    message = alarm["message"].removeprefix(f"{subject}: ")
    if "silenced-until" in alarm:
        message += f" (silenced until {moment(alarm['silenced-until'])} by {alarm['silenced-by']})"
    return [moment(alarm["since"]), alarm["severity"], alarm["name"], subject or "-", str(alarm["count"]), message]


def past_row(alarm: dict) -> list[str | None]:
    return [moment(alarm["since"]), moment(alarm.get("until")), alarm["severity"], alarm["name"], alarm["subject"] or "-",
            render.count(alarm["peak"])]
