"""Answers for `http_clients.py`: by the last message's first word."""

from anchored.testing import ChatRequest, Reply, Rule, Script, Weighted


def _asks(word: str):
    return lambda request: request.last.text.split()[0] == word


def _about(request: ChatRequest) -> str:
    return "about " + request.last.text + ", in quite a few words so that there is something to break off; " * 4


ABOUT = Reply.text(_about)
script = Script(
    rules=[
        Rule(name="cut", when=_asks("cut"), replies=Reply.cut(ABOUT, after=150)),
        Rule(name="hang", when=_asks("timeout"), replies=Reply.hang(seconds=30)),
        Rule(name="gzip", when=_asks("gzip"), replies=Reply.gzipped(ABOUT)),
        Rule(
            name="retried",
            when=_asks("retried"),
            replies=[
                Weighted(weight=0.75, reply=Reply.status(429)),
                Weighted(weight=0.25, reply=ABOUT),
            ],
        ),
        Rule(
            name="racing",
            when=_asks("racing"),
            replies=[
                Weighted(weight=0.5, reply=Reply.delayed(Reply.text("heads"), seconds=(0.0, 0.1))),
                Weighted(weight=0.5, reply=Reply.delayed(Reply.text("tails"), seconds=(0.0, 0.1))),
            ],
        ),
        Rule(name="rest", when=lambda request: True, replies=ABOUT),
    ]
)
