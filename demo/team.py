"""A research team of three agents on AG2: planner, researcher and writer, who speak when the model says so.

    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 python demo/team.py ["question"] [--rounds N]

It is an ordinary AG2 program and knows nothing of recording. The last line on stdout is the answer. With TOOL_LOG set,
every execution of a tool appends a line to that file.
"""

import argparse
import ast
import json
import operator
import os
from fractions import Fraction
from typing import Annotated

from autogen import ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent, register_function

QUESTION = "How many lamps per kilometre does the Corvane Tunnel have?"
ROUNDS = 20
NO_ANSWER = "No answer."

ARCHIVE = (
    "Corvane Tunnel, survey of 2009: 1240 lamps counted, all sodium. Replaced by the survey of 2021.",
    "Corvane Tunnel, survey of 2021: 1860 lamps counted, after the refit to LED.",
    "Corvane Tunnel, building record: length 6.2 km, two tubes, opened in 1974.",
    "Ostrel Bridge, survey of 2018: 412 lamps counted.",
    "Ostrel Bridge, building record: length 1.6 km.",
)

PLANNER = (
    "You are the planner. Turn the question into a short plan for the researcher. "
    "When the researcher has reported, say whether the report answers the question."
)
RESEARCHER = (
    "You are the researcher. Look the facts up with search_archive, compute with calculate, "
    "then report the result in one line that begins with 'Report:'."
)
WRITER = "You are the writer. Answer the question in one sentence from the researcher's report, then write TERMINATE."

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def search_archive(query: Annotated[str, "What to look for, a few words"]) -> str:
    """Read the archive's records that hold all words of the query."""
    note("search_archive", {"query": query})
    words = query.casefold().split()
    found = [record for record in ARCHIVE if all(word in record.casefold() for word in words)]
    return "\n".join(found) or "No record."


def calculate(expression: Annotated[str, "Numbers with + - * / and parentheses"]) -> str:
    """Compute an arithmetic expression exactly, to six decimals."""
    note("calculate", {"expression": expression})
    try:
        return f"{float(value(ast.parse(expression, mode='eval').body)):.6f}".rstrip("0").rstrip(".")
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        return f"Cannot be computed: {error}"


def value(node: ast.expr) -> Fraction:
    """The value of an expression of numbers and the four operations; anything else is refused."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Fraction(repr(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value(node.left), value(node.right))
    raise ValueError("only numbers, + - * / and parentheses are understood")


def note(tool: str, arguments: dict[str, str]) -> None:
    """Leave a trace of a tool's execution, so that tests can count them."""
    if path := os.environ.get("TOOL_LOG"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"tool": tool, "arguments": arguments}) + "\n")


def ask(question: str, *, rounds: int = ROUNDS) -> str:
    """Let the team work on a question and return its answer."""
    model = {
        "model": "scripted-1",
        "base_url": os.environ["OPENAI_BASE_URL"],
        "api_key": os.environ.get("OPENAI_API_KEY", "none"),
        "price": [0, 0],
    }
    config = {"config_list": [model], "temperature": 0, "cache_seed": None}
    planner = ConversableAgent("planner", system_message=PLANNER, llm_config=config, description="Plans and checks.")
    researcher = ConversableAgent(
        "researcher", system_message=RESEARCHER, llm_config=config, description="Looks facts up and computes."
    )
    writer = ConversableAgent("writer", system_message=WRITER, llm_config=config, description="Writes the answer.")
    for tool in (search_archive, calculate):
        register_function(tool, caller=researcher, executor=researcher, description=tool.__doc__)
    chat = GroupChat([planner, researcher, writer], speaker_selection_method="auto", max_round=rounds)
    manager = GroupChatManager(
        chat, llm_config=config, is_termination_msg=lambda message: "TERMINATE" in (message.get("content") or "")
    )
    user = UserProxyAgent("user", human_input_mode="NEVER", code_execution_config=False)
    user.initiate_chat(manager, message=question)
    last = chat.messages[-1]
    if last.get("name") != "writer":
        return NO_ANSWER
    return " ".join(last["content"].replace("TERMINATE", "").split())


def main() -> None:
    """Read the question, print the answer as the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="messages after which the team gives up")
    arguments = parser.parse_args()
    if "OPENAI_BASE_URL" not in os.environ:
        parser.error("OPENAI_BASE_URL is not set; start an endpoint with 'python -m anchored.testing demo/script.py'")
    print(ask(arguments.question, rounds=arguments.rounds))


if __name__ == "__main__":
    main()
