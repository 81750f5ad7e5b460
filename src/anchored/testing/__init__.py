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

`python -m anchored.testing SCRIPT.py --seed 7` serves it, and `running_endpoint` does so for a test. An answer is a
function of the seed, the request and how often that very request came before; neither the clock nor the order of
requests counts. `Script.answer` is that function, without a server.
"""

from anchored.testing.loading import load_script
from anchored.testing.log import Call, read_calls
from anchored.testing.replies import Reply, Response
from anchored.testing.request import ChatRequest, Json, Message, RequestError, ToolCall
from anchored.testing.running import EndpointError, RunningEndpoint, running_endpoint
from anchored.testing.script import Answer, NoRuleError, Rule, RuleFailedError, Script, ScriptError, Weighted

__all__ = [
    "Answer",
    "Call",
    "ChatRequest",
    "EndpointError",
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
