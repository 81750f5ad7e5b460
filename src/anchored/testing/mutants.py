"""Recordings that were changed, every digest computed anew: what a replay must tell apart before anything goes live."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import msgspec

from anchored.events import Begin, Blob, Outcome, Request, Result, http_request, result_blob, tool_request
from anchored.library import FileJournal, Library, load
from anchored.recording import Event, Record, Recording, summarize

Written: TypeAlias = tuple[Record, Request | None, tuple[Blob, ...]]
"""An entry as a journal takes it: its request if it is a begin, and what it refers to."""


def changed_entries(
    source: Recording,
    *,
    begins: Mapping[int, Mapping[str, Any]] | None = None,
    requests: Mapping[int, Request] | None = None,
    results: Mapping[int, Result] | None = None,
    outcomes: Mapping[int, Outcome] | None = None,
) -> Generator[Written]:
    """The entries of a recording with other begins, requests, results or outcomes, by the position of the begin."""
    changed: dict[int, Begin] = {}
    for record in source.records:
        entry = record.entry
        if isinstance(entry, Begin):
            request = (requests or {}).get(entry.position) or source.contents.request(entry.request)
            fields: dict[str, Any] = {"request": request.digest, **(begins or {}).get(entry.position, {})}
            entry = changed[entry.position] = replace(entry, **fields)
            yield replace(record, entry=entry), request, tuple(request.blobs)
            continue
        event = source.log.event_at(entry.begin)
        result = (results or {}).get(entry.begin) or (source.result(event) if event else None)
        blobs = () if result is None else (result_blob(result), *result.contents())
        entry = replace(
            entry,
            begin_digest=changed[entry.begin].digest,
            outcome=(outcomes or {}).get(entry.begin, entry.outcome),
            result=blobs[0].digest if blobs else None,
        )
        yield replace(record, entry=entry), None, blobs


def store(library: Library, name: str, source: Recording, entries: Iterator[Written]) -> None:
    """Puts a recording with these entries, and all else of the source, into a store under a new name.

    Raises:
        UsageError: there is a run of this name.
        StoreError: the store cannot be written.
    """
    journal = FileJournal(library.create(name, source.opening, source.notes_of("order")[0]))
    for record, request, blobs in entries:
        journal.append(record, request=request, blobs=blobs, durable=False)
    for note in source.notes:
        if note.kind == "owner":
            journal.claim(cast("int", note.document["process"]))
        elif note.kind != "order":
            journal.note(note.kind, note.document)
    journal.close()
    closing = source.closing
    assert closing is not None
    summary = summarize(
        log=load(library.path(name)).log,
        task=source.opening.task,
        state=closing.state,
        configuration=closing.configuration,
        stop=closing.stop,
        final=closing.final,
    )
    library.finish(
        name, msgspec.structs.replace(closing, size=summary.size, head=summary.head, recording=summary.recording)
    )


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One change of one event.

    Attributes:
        position: where the event begins.
        path: JSON Pointer to the field that is another, as a divergence names it.
        begin: fields of the begin that are others.
        request: the request, if it is another.
    """

    position: int
    path: str
    begin: Mapping[str, Any]
    request: Request | None = None

    def entries(self, source: Recording) -> Iterator[Written]:
        """The source's entries with this change."""
        requests = {} if self.request is None else {self.position: self.request}
        return changed_entries(source, begins={self.position: self.begin}, requests=requests)


def mutations_of(source: Recording, event: Event) -> list[Mutation]:
    """Every way to change one event's request: who asks, what is called, and each single value in its body.

    So the texts of prompts, the schemas of tools, the settings, the history and a tool's arguments are all among them.
    """
    begin = event.begin
    who: list[tuple[str, dict[str, Any]]] = [
        ("/actor", {"actor": "somebody else"}),
        ("/name", {"name": "something else"}),
    ]
    found = [Mutation(position=event.position, path=path, begin=fields) for path, fields in who]
    view = cast("dict[str, Any]", source.request(begin))
    field = "arguments" if begin.kind == "execute_tool" else "body"
    for place in _leaves(view.get(field)):
        body = json.loads(json.dumps(view[field]))
        holder = body
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = _other(holder[place[-1]])
        path = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in (field, *place))
        if field == "arguments":
            request = tool_request(name=begin.name, arguments=body)
        else:
            request = http_request(
                method=view["method"],
                path=view["path"],
                query=view["query"],
                headers=tuple(cast("dict[str, str]", view.get("headers") or {}).items()),
                body=json.dumps(body).encode(),
            )
        found.append(Mutation(position=event.position, path=path, begin={}, request=request))
    return found


def _leaves(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where the single values in a JSON object or array stand."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield from _leaves(item, (*place, key))
    elif isinstance(value, list):
        for number, item in enumerate(cast("list[Any]", value)):
            yield from _leaves(item, (*place, number))
    elif place:
        yield place


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value or ''} and more"
