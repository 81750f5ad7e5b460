"""A script: ordered rules, each with its possible replies and their known probabilities.

The weights are the probabilities, not a hint of them: over the occurrences of one request, and over different requests
that meet the same rule, draws are independent and a reply is drawn with exactly its weight. A statistic that is tried
on a scripted program can so be compared with the truth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from anchored.errors import UsageError
from anchored.testing.draw import Draw
from anchored.testing.replies import Reply
from anchored.testing.request import ChatRequest
from anchored.testing.response import Response

SUM_TOLERANCE = Fraction(1, 10**9)
"""What weights may miss 1 by: enough for 0.333333333333, too little for a typing error."""


class ScriptError(UsageError):
    """The script cannot be meant, or cannot answer a request."""


class NoRuleError(ScriptError):
    """No rule of the script applies to a request."""


class RuleFailedError(ScriptError):
    """A function in a rule raised."""


@dataclass(frozen=True, kw_only=True)
class Weighted:
    """A reply and the probability with which its rule gives it."""

    weight: float | Fraction
    """In (0, 1]. A float counts as the decimal it is written as: 0.1 is 1/10."""
    reply: Reply

    @property
    def probability(self) -> Fraction:
        """The weight as an exact number."""
        return Fraction(repr(self.weight)) if isinstance(self.weight, float) else Fraction(self.weight)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What is answered where a condition holds.

    Raises:
        ScriptError: there is no reply, a weight is not in (0, 1], or the weights do not sum up to 1.
    """

    name: str
    """Stands in the log."""
    when: Callable[[ChatRequest], bool]
    """The condition; it must look at the request alone, never at a counter or clock."""
    replies: Reply | Sequence[Weighted]
    """One sure reply, or several of which one is drawn."""

    def __post_init__(self) -> None:
        """Check the weights, and keep a copy of the list that nobody changes."""
        if not isinstance(self.replies, Reply):
            object.__setattr__(self, "replies", tuple(self.replies))
        for choice in self.choices:
            if not math.isfinite(choice.weight) or not 0 < choice.weight <= 1:
                raise ScriptError(
                    f"Rule {self.name!r} has a weight that is no probability.",
                    expected="a number above 0 and up to 1",
                    found=str(choice.weight),
                    next_step="Leave the reply out if it is never to be given.",
                )
        total = sum((choice.probability for choice in self.choices), Fraction(0))
        if abs(total - 1) > SUM_TOLERANCE:
            raise ScriptError(
                f"The weights of rule {self.name!r} are no distribution.",
                expected="a sum of 1",
                found=f"{float(total):g} from {len(self.choices)} replies",
                next_step="Weights are probabilities: correct them so that they sum up to 1.",
            )

    @property
    def choices(self) -> tuple[Weighted, ...]:
        """The possible replies in the order of their numbers."""
        return (Weighted(weight=1, reply=self.replies),) if isinstance(self.replies, Reply) else tuple(self.replies)

    def draw(self, draw: Draw) -> int:
        """The number of the reply that is given to this occurrence."""
        point = draw.fraction("reply")
        for index, choice in enumerate(self.choices):
            point -= choice.probability
            if point < 0:
                return index
        return len(self.choices) - 1


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a script gives for one request, and by which rule."""

    rule: str
    reply: int
    """The number of the reply among the rule's replies, from 0."""
    response: Response


@dataclass(frozen=True, kw_only=True)
class Script:
    """Rules in order; the first whose condition holds answers.

    Raises:
        ScriptError: two rules have one name, so that the log could not tell them apart.
    """

    rules: Sequence[Rule]
    models: Sequence[str] = ("scripted-1",)
    """What `GET /v1/models` lists; requests may name any model."""

    def __post_init__(self) -> None:
        """Check the names, and keep copies of the lists that nobody changes."""
        object.__setattr__(self, "rules", tuple(self.rules))
        object.__setattr__(self, "models", tuple(self.models))
        twice = sorted(name for name, count in Counter(rule.name for rule in self.rules).items() if count > 1)
        if twice:
            raise ScriptError(
                "The script's rules have no names of their own.",
                expected="a different name for each rule",
                found="several named " + ", ".join(map(repr, twice)),
                next_step="Rename them; the log names the rule that answered.",
            )

    def rule(self, request: ChatRequest) -> Rule:
        """The rule that answers a request.

        Raises:
            NoRuleError: there is none.
            RuleFailedError: a condition raised.
        """
        for rule in self.rules:
            try:
                applies = rule.when(request)
            except Exception as error:
                raise _failed(rule, "condition", error) from error
            if applies:
                return rule
        last = request.last
        raise NoRuleError(
            "The script has no rule for this request.",
            expected="one of the rules " + ", ".join(repr(rule.name) for rule in self.rules),
            found=f"{len(request.messages)} messages, system {request.system[:120]!r}, "
            f"last by {last.role!r} {last.name!r}: {last.text[:240]!r}; tools {list(request.tool_names)}",
            next_step="Add a rule for it, or a last rule whose condition always holds.",
        )

    def answer(self, request: ChatRequest, *, seed: int, occurrence: int = 0) -> Answer:
        """The answer: a pure function of its arguments, given that the functions in the rules are pure.

        Args:
            request: what is asked.
            seed: the endpoint's seed.
            occurrence: how many times this very request came before, from 0.

        Raises:
            NoRuleError: no rule applies.
            RuleFailedError: a function in a rule raised.
        """
        rule = self.rule(request)
        draw = Draw(seed=seed, digest=request.digest, occurrence=occurrence)
        index = rule.draw(draw)
        try:
            response = rule.choices[index].reply.response(request, draw)
        except Exception as error:
            raise _failed(rule, f"reply {index}", error) from error
        return Answer(rule=rule.name, reply=index, response=response)


def _failed(rule: Rule, part: str, error: Exception) -> RuleFailedError:
    return RuleFailedError(
        f"Rule {rule.name!r} of the script failed.",
        expected=f"a {part} that answers",
        found=f"{type(error).__name__}: {error}",
        next_step="Correct the script; ChatRequest's views never raise on odd messages.",
    )
