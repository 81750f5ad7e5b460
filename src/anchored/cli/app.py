"""The application that the commands are added to, and the options that several of them have."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from anchored import __version__
from anchored.cli.console import out, use_color
from anchored.library import Library

_ORDER = ("record", "list", "show", "diff", "verify", "replay", "test", "export", "rm")


class _InOrder(TyperGroup):
    """Lists the commands in the order in which people meet them."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return sorted(super().list_commands(ctx), key=_ORDER.index)  # pyright: ignore[reportArgumentType]


app = typer.Typer(
    name="anchored",
    cls=_InOrder,
    help="Was a failing multi-agent run repaired, or only resampled? Record it, replay its exact prefix, change one"
    " thing at an anchor, go live from there, and get a receipt.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Store = Annotated[
    str | None, typer.Option("--store", help="Folder of the recordings [default: $ANCHORED_STORE or ./.anchored].")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's name, a prefix of its digest, a trace id, or `last`.")]

GuideText = Annotated[
    str | None, typer.Option("--guide", metavar="TEXT", help="Append this user message at the anchor.")
]
SetResult = Annotated[
    Path | None,
    typer.Option(
        "--set-result",
        metavar="FILE",
        help="Give the event at the anchor this result: FILE.json is all of it, any other file its text.",
    ),
]

EditFile = Annotated[
    Path | None,
    typer.Option("--edit", metavar="FILE", help="Apply this JSON Patch (RFC 6902) to the request at the anchor."),
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Ask this model at the anchor in place of the recorded one."),
]
BackgroundPatterns = Annotated[
    list[str] | None,
    typer.Option(
        "--background",
        metavar="PATTERN",
        help="HTTP to HOST[:PORT][/PATH] is telemetry: no event, and answered locally in replays. Repeatable.",
    ),
]
CallTarget = Annotated[
    str | None,
    typer.Option("--call", metavar="MODULE:FUNCTION", help="Let this function change the request at the anchor."),
]


def _print_version(asked: bool) -> None:
    if asked:
        out().print(f"anchored {__version__}")
        raise typer.Exit


@app.callback()
def common(
    *,
    color: Annotated[bool | None, typer.Option("--color/--no-color", help="Colours; also NO_COLOR=1.")] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Options before the command."""
    use_color(color)


def library(store: str | None) -> Library:
    """The store that is meant."""
    return Library.locate(store, os.environ)
