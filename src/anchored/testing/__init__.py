"""For tests of agents without a model: a scripted endpoint that fails as often as you say.

A script is a Python file:

    from anchored.testing import Reply, Rule, Script, Weighted

    script = Script(
        rules=[
            Rule(
                name="guided",
                when=lambda request: request.contains("use the current figure"),
                replies=Reply.text("300"),
            ),
            Rule(
                name="unguided",
                when=lambda request: True,
                replies=[
                    Weighted(weight=0.75, reply=Reply.text("200")),
                    Weighted(weight=0.25, reply=Reply.text("300")),
                ],
            ),
        ]
    )

`python -m anchored.testing SCRIPT.py --seed 7` serves it, and `running_endpoint` does so for a test. It speaks, at once
and in streams,

    POST /v1/chat/completions   OpenAI chat completions; Azure's /openai/deployments/MODEL/chat/completions too
    POST /v1/responses          OpenAI responses
    POST /v1/messages           Anthropic messages
    POST /v1/embeddings         a small vector for each text, by its hash; no rule is asked
    GET  /v1/models             what the script names

and a rule sees one `ChatRequest`, whichever was asked. OPENAI_BASE_URL is the URL that it prints, ANTHROPIC_BASE_URL
the same without `/v1`.

An answer is a function of the seed, the request and how often that very request came before (its occurrence); neither
the clock nor the order of different requests counts. `Script.answer` is that function, without a server. A request for
a stream is another request than the same without one. Of identical requests at the same time, the one that arrives
first is occurrence 0, the next is 1, and each has a draw of its own: another id, another reply if its rule has several,
another time if it is delayed. So which of several identical callers gets which answer is left to chance, as with a real
provider, while the answers among them are not.

How a reply is sent can be made to fail and to race:

    Reply.delayed(reply, seconds=(0.0, 0.2))    later, by a time drawn with the answer; requests overlap
    Reply.hang(seconds=60)                      nothing for so long: for timeouts
    Reply.cut(reply, after=100)                 the connection is closed after so many bytes of the body
    Reply.gzipped(reply)                        with content-encoding gzip
    Reply.status(429, retry_after=0.5)          an error
"""

from anchored.testing.conversation import Json, Message, ToolCall
from anchored.testing.loading import load_script
from anchored.testing.log import Call, read_calls
from anchored.testing.replies import Reply
from anchored.testing.request import ChatRequest, Format, RequestError
from anchored.testing.response import Response
from anchored.testing.running import EndpointError, RunningEndpoint, running_endpoint
from anchored.testing.script import Answer, NoRuleError, Rule, RuleFailedError, Script, ScriptError, Weighted

__all__ = [
    "Answer",
    "Call",
    "ChatRequest",
    "EndpointError",
    "Format",
    "Json",
    "Message",
    "NoRuleError",
    "Reply",
    "RequestError",
    "Response",
    "Rule",
    "RuleFailedError",
    "RunningEndpoint",
    "Script",
    "ScriptError",
    "ToolCall",
    "Weighted",
    "load_script",
    "read_calls",
    "running_endpoint",
]
