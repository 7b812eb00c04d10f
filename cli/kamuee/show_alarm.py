# SPDX-License-Identifier: BSD-3-Clause
"""show alarm [history], silence alarm, clear alarm: active and cleared alarms."""
from __future__ import annotations

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, given, listing
from kamuee.moment import duration
from kamuee.render import Column, count, right


def moment(text: str) -> str:
    """To the second, in the daemon's form: UTC."""
    return text[:19].replace("T", " ")


def message(alarm: dict) -> str:
    text = alarm["message"].removeprefix(f"{alarm['subject']}: ")
    if "silenced-until" not in alarm:
        return text
    return f"{text} (silenced until {moment(alarm['silenced-until'])} by {alarm['silenced-by']})"


ALARM = (Leaf("severity", Column("Severity")), Leaf("name", Column("Alarm")),
         Leaf("subject", Column("Subject"), show=given))
NOW = (Leaf("since", Column("Since"), show=moment), *ALARM, Leaf("count", right("Count")),
       Leaf("", Column("Message", wrap=True), show=message))
PAST = (Leaf("since", Column("From"), show=moment), Leaf("until", Column("To"), show=moment), *ALARM,
        Leaf("peak", right("Peak"), show=count))


def show(context: Context, match: Match) -> None:
    listing(context, NOW, context.client.entries("alarm"), "no alarms")


def history(context: Context, match: Match) -> None:
    listing(context, PAST, context.client.entries("alarm-history"), "no cleared alarms")


def silence(context: Context, match: Match) -> None:
    """silence alarm ALARM [SUBJECT] [for DURATION]"""
    name, subject, wanted = match.args["ALARM"], match.args.get("SUBJECT"), match.args.get("DURATION", "1h")
    length = duration(wanted)
    seconds = None if length is None else int(length.total_seconds())
    context.client.call("silence-alarm", name=name, subject=subject, seconds=seconds)
    what = f"{name} of {subject}" if subject else name
    context.line(f"{what} is silenced for {wanted}" if length else f"{what} is no longer silenced")


def clear(context: Context, match: Match) -> None:
    """clear alarm session-down [SUBJECT]"""
    context.client.call("clear-alarm", name="session-down", subject=match.args.get("SUBJECT"))
