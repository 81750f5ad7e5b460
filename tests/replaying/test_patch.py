"""JSON Patch on text (issue, EditRequest): RFC 6902 by value, and not a byte of what no operation names."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from builders import json_values, nested, spaced
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import canonical
from anchored.replaying.patch import PatchError, apply_patch, parse_patch


def patched(text: str, *operations: dict[str, Any]) -> str:
    return apply_patch(text, parse_patch(json.dumps(operations)))


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **more}


# ---- What RFC 6902 says, case by case of its appendix A


@pytest.mark.parametrize(
    ("before", "operation", "after"),
    [
        ('{"lamp": 1}', op("add", "/road", value="wet"), '{"lamp": 1,"road":"wet"}'),
        ('{"lamps": [1, 3]}', op("add", "/lamps/1", value=2), '{"lamps": [1, 2,3]}'),
        ('{"lamp": 1, "road": 2}', op("remove", "/road"), '{"lamp": 1}'),
        ('{"lamp": 1, "road": 2}', op("remove", "/lamp"), '{ "road": 2}'),
        ('{"lamps": [1, 2, 3]}', op("remove", "/lamps/1"), '{"lamps": [1, 3]}'),
        ('{"lamps": [ 1 ]}', op("remove", "/lamps/0"), '{"lamps": [ ]}'),
        ('{"lamp":  1 , "road": 2}', op("replace", "/lamp", value="off"), '{"lamp":  "off" , "road": 2}'),
        (
            '{"north": {"lamp": 1, "pump": 2}, "south": {}}',
            op("move", "/south/pump", **{"from": "/north/pump"}),
            '{"north": {"lamp": 1}, "south": {"pump":2}}',
        ),
        ('{"a": ["x", "y", "z"]}', op("move", "/a/2", **{"from": "/a/0"}), '{"a": [ "y", "z","x"]}'),
        ('{"a": {"b": 1.50}}', op("copy", "/c", **{"from": "/a"}), '{"a": {"b": 1.50},"c":{"b": 1.50}}'),
        ('{"lamp": "on", "list": [1, 2.0]}', op("test", "/list/1", value=2), '{"lamp": "on", "list": [1, 2.0]}'),
        ('{"a": {"one": 1, "two": [2]}}', op("test", "/a", value={"two": [2], "one": 1}), None),
        ('{"lamp": 1}', op("add", "/child", value={"grand": {}}), '{"lamp": 1,"child":{"grand": {}}}'),
        ('{"lamp": 1}', op("replace", "/lamp", value=2, unknown="ignored"), '{"lamp": 2}'),
        ('{"/": 9, "~1": 10}', op("replace", "/~01", value=11), '{"/": 9, "~1": 11}'),
        ('{"/": 9, "~1": 10}', op("replace", "/~1", value=11), '{"/": 11, "~1": 10}'),
        ('{"lamps": ["a"]}', op("add", "/lamps/-", value=["b", "c"]), '{"lamps": ["a",["b", "c"]]}'),
        ('{"lamps": []}', op("add", "/lamps/-", value=0), '{"lamps": [0]}'),
        ('{"lamps": ["a"]}', op("add", "/lamps/1", value=0), '{"lamps": ["a",0]}'),
        ('{"lamp": 1}', op("add", "/lamp", value=None), '{"lamp": null}'),
        ('{"": {"": 1}}', op("replace", "//", value=2), '{"": {"": 2}}'),
        (' {"lamp": 1} ', op("replace", "", value=[1]), " [1] "),
        ('{"lamp": {"a": 1}}', op("copy", "", **{"from": "/lamp"}), '{"a": 1}'),
        ('{"lamp": 1}', op("move", "/lamp", **{"from": "/lamp"}), None),
    ],
)
def test_each_operation(before: str, operation: dict[str, Any], after: str | None) -> None:
    """Own content in the cases of RFC 6902, appendix A, and byte for byte."""
    assert patched(before, operation) == (before if after is None else after)


@pytest.mark.parametrize(
    ("before", "operation", "says"),
    [
        ('{"lamp": 1}', op("add", "/road/wet", value=1), "there is nothing at /road"),
        ('{"lamp": 1}', op("remove", "/road"), "there is nothing there"),
        ('{"lamp": 1}', op("replace", "/road", value=1), "there is nothing at /road"),
        ('{"lamp": 1}', op("copy", "/b", **{"from": "/a"}), "there is nothing at /a"),
        ('{"lamp": 1}', op("move", "/b", **{"from": "/a"}), "there is nothing at /a"),
        ('{"lamp": "on"}', op("test", "/lamp", value="off"), "the value there is another one"),
        ('{"lamp": 10}', op("test", "/lamp", value="10"), "the value there is another one"),
        ('{"lamp": 1}', op("test", "/lamp", value=True), "the value there is another one"),
        ('{"lamp": null}', op("test", "/lamp", value=False), "the value there is another one"),
        ('{"lamp": [1, 2]}', op("test", "/lamp", value=[1]), "the value there is another one"),
        ('{"lamp": 12345678901234567890}', op("test", "/lamp", value=12345678901234567891), "another one"),
        ('{"a": [1]}', op("add", "/a/2", value=1), "no index of an array of 1"),
        ('{"a": [1]}', op("add", "/a/01", value=1), "no index of an array of 1"),
        ('{"a": [1]}', op("add", "/a/-1", value=1), "no index of an array of 1"),
        ('{"a": [1]}', op("add", "/a/" + "9" * 5000, value=1), "no index of an array of 1"),
        ('{"a": [1]}', op("add", "/a/\u0660", value=1), "no index of an array of 1"),
        ('{"a": [1]}', op("remove", "/a/-"), "there is nothing there"),
        ('{"a": [1]}', op("replace", "/a/1", value=1), "there is nothing at /a/1"),
        ('{"a": "text"}', op("add", "/a/0", value=1), "no object and no array"),
        ('{"a": 1, "a": 2}', op("replace", "/a", value=1), "holds 'a' twice"),
        ('{"a": 1, "\\u0061": 2}', op("remove", "/a"), "holds 'a' twice"),
        ('{"a": 1}', op("remove", ""), "whole document"),
        ("", op("replace", "", value=1), "no JSON"),
        ("lamp=1", op("replace", "", value=1), "no JSON"),
        ('{"a": 1} and more', op("replace", "/a", value=1), "no JSON"),
    ],
)
def test_what_does_not_apply_is_refused(before: str, operation: dict[str, Any], says: str) -> None:
    with pytest.raises(PatchError) as caught:
        patched(before, operation)
    assert says in str(caught.value)


def test_the_operation_that_does_not_apply_is_named() -> None:
    with pytest.raises(PatchError, match=r"operation 2, remove /b~1c: there is nothing there"):
        patched('{"a": 1}', op("test", "/a", value=1), op("remove", "/b~1c"))


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ("", "no JSON array"),
        ("{}", "no array"),
        ('{"op": "remove", "path": "/a"}', "no array"),
        ("[1]", "operation 1: op is missing"),
        ("[[]]", "operation 1: op is missing"),
        ('[{"op": "remove", "path": "/a"}', "no JSON array"),
        ('[{"path": "/a"}]', "op is missing"),
        ('[{"op": "spam", "path": "/a"}]', "op is none of add, remove"),
        ('[{"op": "Add", "path": "/a", "value": 1}]', "op is none of add, remove"),
        ('[{"op": ["add"], "path": "/a", "value": 1}]', "op is no text"),
        ('[{"op": "add", "value": 1}]', "path is missing"),
        ('[{"op": "add", "path": null, "value": 1}]', "path is no text"),
        ('[{"op": "add", "path": "/a"}]', "value is missing"),
        ('[{"op": "test", "path": "/a"}]', "value is missing"),
        ('[{"op": "move", "path": "/a"}]', "from is missing"),
        ('[{"op": "copy", "from": "a", "path": "/a"}]', "does not begin with /"),
        ('[{"op": "add", "path": "a", "value": 1}]', "does not begin with /"),
        ('[{"op": "add", "path": "/~2", "value": 1}]', "~ stands only in"),
        ('[{"op": "add", "path": "/a~", "value": 1}]', "~ stands only in"),
        ('[{"op": "move", "from": "/a", "path": "/a/b"}]', "cannot be moved into itself"),
        ('[{"op": "move", "from": "", "path": "/a"}]', "cannot be moved into itself"),
        ('[{"op": "add", "path": "/a", "value": 1, "op": "remove"}]', "has 'op' twice"),
        ('[{"op": "remove", "path": "/a"}, {"op": "remove"}]', "operation 2: path is missing"),
    ],
)
def test_what_is_no_patch_is_refused(patch: str, says: str) -> None:
    with pytest.raises(PatchError) as caught:
        parse_patch(patch)
    assert says in str(caught.value)


@pytest.mark.parametrize("depth", [5_000, 100_000])
def test_deep_nesting_is_patched_or_refused(depth: int) -> None:
    """H-07: no RecursionError, neither where a value is passed over nor where it is compared."""
    text = f'{{"a": {nested(depth)}, "b": 1}}'
    assert patched(text, op("replace", "/b", value=2)) == text.replace('"b": 1', '"b": 2')
    same = f'[{{"op": "test", "path": "/a", "value": {nested(depth)}}}]'
    try:
        assert apply_patch(text, parse_patch(same)) == text
    except PatchError:
        return


# ---- Against patches of parsed values


def reference(value: Any, operation: dict[str, Any]) -> Any:
    """One operation on a parsed value; LookupError, TypeError or ValueError where it does not apply."""
    name, path = operation["op"], tokens(operation["path"])
    if name in ("move", "copy"):
        moved = copy.deepcopy(at(value, tokens(operation["from"])))
        if name == "move" and operation["from"] == operation["path"]:
            return value
        if name == "move":
            value = without(value, tokens(operation["from"]))
        return put(value, path, moved)
    if name == "remove":
        return without(value, path)
    if name == "test":
        if canonical(at(value, path)) != canonical(operation["value"]):
            raise ValueError("another")
        return value
    if name == "replace":
        at(value, path)
        return put(without(value, path), path, operation["value"]) if path else operation["value"]
    return put(value, path, operation["value"])


def tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def index(token: str, most: int) -> int:
    if not (token.isascii() and token.isdigit()) or str(int(token)) != token or int(token) > most:
        raise LookupError(token)
    return int(token)


def at(value: Any, path: list[str]) -> Any:
    for token in path:
        value = value[index(token, len(value) - 1)] if isinstance(value, list) else value[token]
    return value


def without(value: Any, path: list[str]) -> Any:
    if not path:
        raise ValueError("the whole")
    value = copy.deepcopy(value)
    outer = at(value, path[:-1])
    del outer[index(path[-1], len(outer) - 1) if isinstance(outer, list) else path[-1]]
    return value


def put(value: Any, path: list[str], new: Any) -> Any:
    if not path:
        return new
    value = copy.deepcopy(value)
    outer = at(value, path[:-1])
    if isinstance(outer, list):
        outer.insert(len(outer) if path[-1] == "-" else index(path[-1], len(outer)), new)
    elif isinstance(outer, dict):
        outer[path[-1]] = new
    else:
        raise TypeError("a scalar")
    return value


def pointers(value: Any, path: str = "") -> list[str]:
    """Of every value, and of places where one could be put."""
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += pointers(item, f"{path}/{key.replace('~', '~0').replace('/', '~1')}")
        found.append(path + "/new~0~1")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            found += pointers(item, f"{path}/{place}")
        found += [f"{path}/-", f"{path}/{len(value)}"]
    return found


@given(json_values(leaves=10), st.data(), st.integers(0, 2**32))
@settings(max_examples=500, deadline=None)
def test_patches_of_text_are_patches_of_values(value: Any, data: st.DataObject, seed: int) -> None:
    """Property: by value the patched text is the patched value, or both refuse, over odd white space and escapes."""
    text = spaced(value, random.Random(seed))
    for _ in range(data.draw(st.integers(1, 4))):
        places = st.sampled_from(pointers(value)) | st.sampled_from(["/x/y", "/0", "/-", "/"])
        name = data.draw(st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]))
        operation = op(name, data.draw(places))
        if name in ("move", "copy"):
            operation["from"] = data.draw(places)
        elif name != "remove":
            operation["value"] = data.draw(json_values(leaves=3))
            if name == "test" and data.draw(st.booleans()):
                operation["value"] = reached(value, operation["path"])
        into_itself = name == "move" and operation["path"].startswith(operation["from"] + "/")
        try:
            expected = None if into_itself else [reference(value, operation)]
        except (LookupError, TypeError, ValueError):
            expected = None
        if expected is None:
            with pytest.raises(PatchError):
                patched(text, operation)
            return
        text, value = patched(text, operation), expected[0]
        assert json.dumps(json.loads(text), sort_keys=True) == json.dumps(value, sort_keys=True)


def reached(value: Any, pointer: str) -> Any:
    try:
        return at(value, tokens(pointer))
    except (LookupError, TypeError, ValueError):
        return None


@given(
    st.dictionaries(st.text(max_size=5), json_values(leaves=5), min_size=1, max_size=4),
    json_values(leaves=3),
    st.integers(0, 2**32),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_all_but_the_replaced_value_keeps_its_bytes(
    body: dict[str, Any], value: Any, seed: int, data: st.DataObject
) -> None:
    """Property: before and after the value that is replaced, the text is the same; the value is as the patch has it."""
    chance = random.Random(seed)
    text, new = spaced(body, chance), spaced(value, chance).strip(" \t\n\r")
    path = data.draw(st.sampled_from(pointers(body)).filter(lambda path: path and reached_is_there(body, path)))
    patch = f'[ {{"path": {json.dumps(path)}, "op":"replace", "value" : {new} }} ]'
    sent = apply_patch(text, parse_patch(patch))
    places = [
        place
        for place in range(len(text) + 1)
        if sent.startswith(text[:place] + new) and text.endswith(sent[place + len(new) :])
    ]
    assert places


def reached_is_there(value: Any, pointer: str) -> bool:
    try:
        at(value, tokens(pointer))
    except (LookupError, TypeError, ValueError):
        return False
    return True


def test_numbers_and_texts_keep_their_form() -> None:
    """What a parsed copy would lose: in what is passed over, moved, copied, and added."""
    text = '{"seed": 12345678901234567890, "t": 1.50, "n": NaN, "s": "\\u00e9\\/", "e": 1e400, "big": 1E+2}'
    patch = """[{"op": "move", "from": "/t", "path": "/u"}, {"op": "copy", "from": "/s", "path": "/v"},
                {"op": "add", "path": "/w", "value": 0.10}, {"op": "add", "path": "/\\u00e9", "value": "\\u0041"}]"""
    assert apply_patch(text, parse_patch(patch)) == (
        '{"seed": 12345678901234567890, "n": NaN, "s": "\\u00e9\\/", "e": 1e400, "big": 1E+2'
        ',"u":1.50,"v":"\\u00e9\\/","w":0.10,"é":"\\u0041"}'
    )
    for value in ("150e-2", "1.5", "1.500"):
        assert apply_patch(text, parse_patch(f'[{{"op": "test", "path": "/t", "value": {value}}}]')) == text
