"""Answers that come after a moment of chance, and differ between two that ask the same."""

from anchored.testing import Reply, Rule, Script, Weighted

SOON = (0.0, 0.04)


def after(hundredths: int) -> Rule:
    text = f"after {hundredths}"
    seconds = (hundredths / 100, hundredths / 100)
    return Rule(
        name=text,
        when=lambda request: request.last.text == text,
        replies=Reply.delayed(Reply.text(text), seconds=seconds),
    )


script = Script(
    rules=[
        *(after(hundredths) for hundredths in (2, 9, 16)),
        Rule(
            name="slow",
            when=lambda request: request.last.text == "slow",
            replies=Reply.delayed(Reply.text("late"), seconds=(1, 1)),
        ),
        Rule(
            name="coin",
            when=lambda request: True,
            replies=[
                Weighted(weight=0.5, reply=Reply.delayed(Reply.text("heads it is"), seconds=SOON)),
                Weighted(weight=0.5, reply=Reply.delayed(Reply.text("tails it is"), seconds=SOON)),
            ],
        ),
    ]
)
