"""The client side of the Model Context Protocol (package `mcp`), proved on 1.30.0 and 2.3.0, under any framework.

Every request of a client session is a crossing: `tools/call` runs a tool, all others read from the server. What a
server says of its tools (`readOnlyHint` and its kin) is their declared effect, unless the project declares another. In
the prefix of a replay no server is started or called, over whatever transport; when the replay goes live, it is, and
hears the handshake that the session has had. What passes a transport is not recorded by itself.

Entered at `ClientSession.send_request`, `send_notification` and `send_discover`, and at `stdio_client`,
`streamable_http_client` and `sse_client`, all public.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import wraps
from types import ModuleType
from typing import Any, cast
from weakref import WeakKeyDictionary

from anchored.adapters.adapter import Adapter, wrap
from anchored.boundary import ToolCall, current_gate, declaring, door_open, is_at_work, keep_by, unbound
from anchored.events import Outcome

_Method = Callable[..., Any]
_Opener = Callable[[], AbstractAsyncContextManager[Any]]

_HANDSHAKE = frozenset(
    {"initialize", "server/discover", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
)
"""Requests that a server must have heard before others mean the same to it."""

_KEPT_NOTICES = frozenset({"notifications/initialized", "notifications/roots/list_changed"})


class _Session:
    """What is known of one client session.

    Attributes:
        effects: of the server's tools, as it hinted at them.
        served: its latest request was served, so there is no server yet.
    """

    def __init__(self) -> None:
        import anyio

        self.effects: dict[str, str] = {}
        self.served = False
        self._unheard: list[Callable[[], Awaitable[object]]] = []
        self._waking = anyio.Lock()

    def serve(self, again: Callable[[], Awaitable[object]] | None) -> None:
        """A message was answered by the recording; `again` sends it to a server where one must hear it."""
        self.served = True
        if again is not None:
            self._unheard.append(again)

    async def wake(self) -> None:
        """A server is needed: it hears what it must have heard."""
        async with self._waking:
            while self._unheard:
                await self._unheard[0]()
                del self._unheard[0]
            self.served = False

    def remember(self, tools: list[Any]) -> None:
        """What a list of tools says of their effects."""
        for tool in tools:
            effect = _hinted(getattr(tool, "annotations", None))
            if effect is not None:
                self.effects[str(tool.name)] = effect


_sessions: WeakKeyDictionary[Any, _Session] = WeakKeyDictionary()


def _session(of: Any) -> _Session:
    if of not in _sessions:
        _sessions[of] = _Session()
    return _sessions[of]


def _hinted(annotations: Any) -> str | None:
    """`read` of a tool that only reads, `write` of one of which anything else is said, None where nothing is."""
    if annotations is None:
        return None
    said = annotations.model_dump(by_alias=True, exclude_none=True)
    if said.get("readOnlyHint") is True:
        return "read"
    return "write" if {"readOnlyHint", "destructiveHint", "idempotentHint"} & said.keys() else None


def _send_request(original: _Method) -> _Method:
    async def send_request(self: Any, request: Any, result_type: Any, *args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return await original(self, request, result_type, *args, **kwargs)
        session = _session(self)

        async def send() -> object:
            with door_open():  # a transport may send in the context of who asks
                return await original(self, request, result_type, *args, **kwargs)

        async def wake_and_send() -> object:
            await session.wake()
            return await send()

        document = request.model_dump(by_alias=True, mode="json", exclude_none=True)
        method = str(document["method"])
        params = cast("dict[str, Any]", document.get("params") or {})
        runs_tool = method == "tools/call"
        name = str(params["name"]) if runs_tool else f"mcp {method}"
        arguments = cast("dict[str, object]", params.get("arguments") or {}) if runs_tool else params
        if runs_tool and is_at_work(name, arguments):
            return await wake_and_send()
        call = ToolCall(
            gate,
            actor=None,
            name=name,
            arguments=arguments,
            function=declaring(session.effects.get(name) if runs_tool else "read"),
            judge=_outcome,
            read_text=_text if runs_tool else lambda _: None,
            pack=_pack,
            unpack=lambda data: _unpack(result_type, data),
            kind="execute_tool" if runs_tool else "retrieve",
            to_server=True,
        )
        result = await _asked(session, call, wake_and_send, send if method in _HANDSHAKE else None)
        if method == "tools/list":
            session.remember(result.tools)
        return result

    return send_request


def _send_discover(original: _Method) -> _Method:
    """The newer handshake goes past `send_request`, and gives plain data."""

    async def send_discover(self: Any, version: str) -> Any:
        gate = current_gate()
        if gate is None:
            return await original(self, version)
        session = _session(self)

        async def send() -> object:
            with door_open():
                return await original(self, version)

        async def wake_and_send() -> object:
            await session.wake()
            return await send()

        call = ToolCall(
            gate,
            actor=None,
            name="mcp server/discover",
            arguments={"version": version},
            function=declaring("read"),
            read_text=lambda _: None,
            kind="retrieve",
        )
        return await _asked(session, call, wake_and_send, send)

    return send_discover


async def _asked(
    session: _Session,
    call: ToolCall,
    run: Callable[[], Awaitable[object]],
    again: Callable[[], Awaitable[object]] | None,
) -> Any:
    """The result of a request, live or served."""
    ran: list[bool] = []

    async def noticed() -> object:
        ran.append(True)
        return await run()

    try:
        return await call.run_async(noticed)
    finally:
        if not ran:
            session.serve(again)


def _send_notification(original: _Method) -> _Method:
    async def send_notification(self: Any, notification: Any, *args: Any, **kwargs: Any) -> None:
        async def send() -> None:
            with door_open():
                await original(self, notification, *args, **kwargs)

        if current_gate() is None or not _session(self).served:
            await send()
            return
        method = notification.model_dump(by_alias=True, mode="json", exclude_none=True)["method"]
        if method in _KEPT_NOTICES:
            _session(self).serve(send)

    return send_notification


def _pack(value: object) -> object:
    return cast("Any", value).model_dump(by_alias=True, mode="json", exclude_unset=True)


def _unpack(result_type: Any, data: object) -> object:
    validate = getattr(result_type, "validate_python", None) or result_type.model_validate
    return validate(data)


def _outcome(value: object) -> Outcome:
    failed = getattr(value, "isError", None) or getattr(value, "is_error", None)
    return Outcome.FAILURE if failed else Outcome.SUCCESS


def _text(value: object) -> str | None:
    content = cast("list[Any]", getattr(value, "content", []))
    texts = [part.text for part in content if isinstance(getattr(part, "text", None), str)]
    return "\n".join(texts) if texts and len(texts) == len(content) else None


def _transport(original: _Method, *, session_id: bool) -> _Method:
    """A transport whose own connections, children and messages belong to the session's crossings."""

    @wraps(original)
    @asynccontextmanager
    async def opened(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        gate = current_gate()
        args = tuple(_without_boundary(argument) for argument in args)
        kwargs = {name: _without_boundary(argument) for name, argument in kwargs.items()}
        if gate is None:
            async with original(*args, **kwargs) as streams:
                yield streams
            return
        opening = _later if gate.serving else _now
        async with opening(lambda: original(*args, **kwargs), session_id) as streams:
            yield streams

    return opened


def _without_boundary(argument: Any) -> Any:
    """A server's parameters; what a server does is its tools' business, and it makes no crossings of its own."""
    environment = getattr(argument, "env", None)
    if environment is None or not hasattr(argument, "model_copy"):
        return argument
    return argument.model_copy(update={"env": unbound(environment)})


@asynccontextmanager
async def _now(opener: _Opener, session_id: bool) -> AsyncGenerator[Any]:
    """Opens a transport inside a door; what the program does while it is open is outside."""
    transport = opener()
    with door_open():
        streams = await transport.__aenter__()
    try:
        yield streams
    except BaseException:
        with door_open():
            if not await transport.__aexit__(*sys.exc_info()):
                raise
    else:
        with door_open():
            await transport.__aexit__(None, None, None)


@asynccontextmanager
async def _later(opener: _Opener, session_id: bool) -> AsyncGenerator[Any]:
    """Opens a transport when the first message goes to the server, if ever one does."""
    import anyio

    answers, read = anyio.create_memory_object_stream[Any](0)
    write, asked = anyio.create_memory_object_stream[Any](0)
    known: list[Callable[[], str | None]] = []

    async def run() -> None:
        async with asked, answers:
            try:
                first = await asked.receive()
            except anyio.EndOfStream:
                return
            with door_open():
                async with opener() as streams:
                    known.extend(streams[2:])
                    await _pump(first, asked, streams[1], streams[0], answers)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        try:
            yield (read, write, lambda: known[0]() if known else None) if session_id else (read, write)
        finally:
            await write.aclose()
            await read.aclose()


async def _pump(first: object, asked: Any, server: Any, said: Any, answers: Any) -> None:
    """Carries messages both ways until the program has closed its side."""
    import anyio

    async def back() -> None:
        try:
            async for message in said:
                await answers.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    async with anyio.create_task_group() as group:
        group.start_soon(back)
        await server.send(first)
        async for message in asked:
            await server.send(message)
        group.cancel_scope.cancel()


def _enter_session(module: Any) -> None:
    wrap(module.ClientSession, "send_request", _send_request)
    wrap(module.ClientSession, "send_notification", _send_notification)
    if hasattr(module.ClientSession, "send_discover"):
        wrap(module.ClientSession, "send_discover", _send_discover)
    errors: Any = sys.modules["mcp.shared.exceptions"]
    if hasattr(errors, "MCPError"):
        keep_by(errors.MCPError, lambda error: list(error.args), lambda parts: errors.MCPError(*parts))
    else:
        described = sys.modules["mcp.types"].ErrorData
        keep_by(
            errors.McpError,
            lambda error: error.error.model_dump(by_alias=True, mode="json", exclude_unset=True),
            lambda parts: errors.McpError(described.model_validate(parts)),
        )


def _enter_transport(name: str) -> Callable[[ModuleType], None]:
    def enter(module: Any) -> None:
        session_id = name.startswith("streamable") and hasattr(module, "streamablehttp_client")  # as 1.x had it
        setattr(module, name, _transport(getattr(module, name), session_id=session_id))

    return enter


def _adapter(name: str, enter: Callable[[ModuleType], None]) -> Adapter:
    return Adapter(name=name, distribution="mcp", proved_on=("1.30.0", "2.3.0"), enter=enter)


SESSION = _adapter("mcp", _enter_session)
STDIO = _adapter("mcp stdio", _enter_transport("stdio_client"))
STREAMABLE_HTTP = _adapter("mcp streamable http", _enter_transport("streamable_http_client"))
SSE = _adapter("mcp sse", _enter_transport("sse_client"))
