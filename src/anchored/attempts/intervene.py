"""From what the user gives to an intervention."""

from __future__ import annotations

import json
from pathlib import Path

from anchored.boundary.calling import call_from
from anchored.errors import UsageError
from anchored.recording import Anchor, Recording
from anchored.replaying import (
    EditRequest,
    Guide,
    Intervention,
    PatchError,
    ReplaceResult,
    SwapModel,
    Unchanged,
    text_replacement,
    whole_replacement,
)


def choose_intervention(
    source: Recording,
    position: int | None,
    *,
    guide: str | None = None,
    set_result: Path | None = None,
    edit: Path | None = None,
    model: str | None = None,
    call: str | None = None,
    folder: Path | None = None,
) -> Intervention:
    """What is to be changed at the anchor; nothing if nothing is given.

    Args:
        source: the recording.
        position: the anchor; None for a replay to the end.
        guide: a message.
        set_result: a file with a result; `.json` is the whole result, any other its text.
        edit: a file with a JSON Patch.
        model: the name of a model.
        call: "module:function".
        folder: where the program runs; where it was recorded if None.

    Raises:
        UsageError: more than one is given, or no anchor, or it cannot be used.
    """
    check_intervention(
        anchored=position is not None, guide=guide, set_result=set_result, edit=edit, model=model, call=call
    )
    if set_result is not None and position is not None:
        return _read_replacement(source, position, set_result)
    if edit is not None:
        return _read_edit(edit)
    if model is not None:
        return SwapModel(model=model)
    if call is not None:
        return call_from(call, folder or Path(str(source.opening.configuration["folder"])))
    return Unchanged() if guide is None else Guide(text=guide)


def check_intervention(
    *,
    anchored: bool,
    guide: str | None = None,
    set_result: Path | None = None,
    edit: Path | None = None,
    model: str | None = None,
    call: str | None = None,
) -> None:
    """Whether what is given is one intervention, and has an anchor.

    Raises:
        UsageError: it is not.
    """
    options = {"--guide": guide, "--set-result": set_result, "--edit": edit, "--model": model, "--call": call}
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise _unusable(f"{', '.join(given[:-1])} and {given[-1]}")
    if given and not anchored:
        raise _unusable(f"{given[0]} without --at")
    if given and options[given[0]] == "":
        raise _unusable(f"{given[0]} with an empty text")


def check_applies(source: Recording, anchor: Anchor, intervention: Intervention) -> None:
    """Whether an edit or another model fits the recorded request, so that a wrong one is refused before anything runs.

    A request of which something is kept as raw bytes is not looked at: there only the child has all of it.

    Raises:
        RefusedError: it does not fit.
    """
    event = source.log.event_at(anchor.position)
    if event is None or not isinstance(intervention, (EditRequest, SwapModel)):
        return
    request = source.request(event.begin)
    body = request.get("body")
    parts = [body, *(body.values() if isinstance(body, dict) else ())]
    parts += [item for part in parts if isinstance(part, list) for item in part]
    if any(isinstance(part, dict) and part.keys() == {"raw"} for part in parts):
        return
    text = json.dumps(body, ensure_ascii=False) if "body" in request else ""
    try:
        intervention.apply(method=str(request["method"]), path=str(request["path"]), body=text.encode("utf-8"))
    except UnicodeEncodeError:
        return


def _read_edit(path: Path) -> EditRequest:
    try:
        return EditRequest(patch=path.read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError, PatchError) as error:
        raise UsageError(
            "The file with the edit cannot be used.",
            expected='a JSON Patch (RFC 6902) in UTF-8, as [{"op": "replace", "path": "/temperature", "value": 0}]',
            found=f"{path}: {error.strerror if isinstance(error, OSError) else error}",
            next_step="Correct the file.",
        ) from error


def _read_replacement(source: Recording, position: int, path: Path) -> ReplaceResult:
    try:
        content = path.read_bytes()
        if path.suffix == ".json":
            return whole_replacement(source, position, content)
        return text_replacement(source, position, content.decode("utf-8").removesuffix("\n"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "The file with the result cannot be read.",
            expected="a text in UTF-8, or JSON in a file that ends in .json",
            found=f"{path}: {error.strerror if isinstance(error, OSError) else error}",
            next_step="Correct the file.",
        ) from error


def _unusable(found: str) -> UsageError:
    return UsageError(
        "An intervention needs an anchor, and there is one at a time.",
        expected="--at E with one of --guide, --set-result, --edit, --model, --call",
        found=found,
        next_step="See `anchored show RUN` for the events that can be anchored.",
    )
