"""``stateextract uid-hash``: the operator ids that Flink makes of uids."""

from __future__ import annotations

import json

import click

from stateextract.cli.common_options import format_option


@click.command("uid-hash")
@click.argument("uids", nargs=-1, required=True, metavar="UID...")
@format_option
def uid_hash(uids: tuple[str, ...], format_: str) -> None:
    """Print the operator id that Flink makes of each UID.

    Snapshots of Flink 1 hold only these ids.
    """
    from stateextract.metadata.uid import operator_id

    ids = [(uid, operator_id(uid)) for uid in uids]
    if format_ == "json":
        click.echo(json.dumps([{"operator_uid": uid, "operator_id": id_} for uid, id_ in ids], indent=1))
        return
    for uid, id_ in ids:
        click.echo(id_ if len(ids) == 1 else f"{id_}  {uid}")
