"""Receipts of real replays: two verifiers agree, a sabotaged replayer gets none, the same plan gives the same bytes."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anchored.testing import running_endpoint

from .conftest import DEMO, Done, Stand, make_stand

VERIFIER = Path(__file__).parents[2] / "tools" / "verify_receipt.py"


@pytest.fixture(scope="module")
def evidence(stand: Stand) -> dict[str, Path]:
    """A receipt of a guided replay, and the leaf files of both recordings."""
    receipt = stand.folder / "receipt.json"
    done, attempt = stand.replay("first", "--at", "18", "--guide", "check the year", "--receipt", str(receipt))
    assert done.status == 0, done.err
    paths = {"receipt": receipt}
    for which, name in (("source", "first"), ("replay", attempt["name"])):
        paths[which] = stand.folder / f"{which}.leaves.json"
        assert stand.anchored("export", name, "--leaves", str(paths[which])).status == 0
    return paths


def independent(receipt: Path, leaves: dict[str, Path] | None = None) -> Done:
    more = [] if leaves is None else ["--source", str(leaves["source"]), "--replay", str(leaves["replay"])]
    done = subprocess.run(
        [sys.executable, "-I", str(VERIFIER), str(receipt), *more], capture_output=True, text=True, check=False
    )
    return Done(status=done.returncode, out=done.stdout, err=done.stderr)


def test_package_and_verifier_agree(stand: Stand, evidence: dict[str, Path]) -> None:
    """R0-09: both accept the receipt, and say how far they got."""
    ours = stand.anchored("verify", str(evidence["receipt"]), "--json")
    assert (ours.status, ours.json["level"]) == (0, "matches the recordings")
    alone, full = independent(evidence["receipt"]), independent(evidence["receipt"], evidence)
    assert (alone.status, full.status) == (0, 0), (alone.err, full.err)
    assert "self-consistent" in alone.out
    assert "matches the recordings" in full.out


def test_every_altered_field_is_refused_by_both(
    stand: Stand, evidence: dict[str, Path], tmp_path: Path, figures: Any
) -> None:
    """R0-11, R0-13: no single field of a receipt can be changed; a sample goes through the command line."""
    from anchored.errors import DamagedError
    from anchored.receipts import verify_receipt

    document = json.loads(evidence["receipt"].read_bytes())
    altered = list(alterations(document))
    assert len(altered) > 50
    for number, (where, changed) in enumerate(altered):
        data = canonical(changed)
        with pytest.raises(DamagedError):
            verify_receipt(data)
        (tmp_path / "altered.json").write_bytes(data)
        assert independent(tmp_path / "altered.json").status == 5, where
        if number % 12 == 0:
            assert stand.anchored("verify", str(tmp_path / "altered.json")).status == 5, where
    figures.add(
        "Receipt, every field altered, removed, or one added",
        "test_every_altered_field_is_refused_by_both",
        altered=len(altered),
        refused_by_the_package=len(altered),
        refused_by_the_verifier=len(altered),
    )


def test_altered_and_rehashed_needs_the_recordings(stand: Stand, evidence: dict[str, Path], tmp_path: Path) -> None:
    """A receipt that was altered and hashed anew is self-consistent, and both verifiers say that this is all."""
    document = json.loads(evidence["receipt"].read_bytes())
    document["predicate"]["configuration"]["replay"] = "0" * 64
    document["predicate"]["digest"] = own_digest(document)
    forged = tmp_path / "forged.json"
    forged.write_bytes(canonical(document))
    alone = independent(forged)
    assert alone.status == 0
    assert "self-consistent" in alone.out
    assert stand.anchored("verify", str(forged)).status == 5, "the store has the recordings"
    empty = stand.anchored("verify", str(forged), "--store", str(tmp_path / "empty"))
    assert empty.status == 0
    assert "could only be checked by itself" in empty.out
    document["predicate"]["suffix"]["digest"] = "0" * 64
    document["predicate"]["digest"] = own_digest(document)
    forged.write_bytes(canonical(document))
    assert independent(forged).status == 0
    assert independent(forged, evidence).status == 5


def test_same_plan_and_attempt_give_the_same_receipt(tmp_path: Path) -> None:
    """R0-09: two empty stores, one source file, the same endpoint seed: the receipts are equal, byte for byte."""
    with running_endpoint(DEMO / "script.py", seed=0, log=tmp_path / "log.jsonl") as endpoint:
        stand = make_stand(tmp_path, endpoint)
        assert stand.record("run").status == 0
    source = tmp_path / ".anchored" / "runs" / "run.sqlite"
    receipts: list[bytes] = []
    for number in range(2):
        store = tmp_path / f"store-{number}"
        (store / "runs").mkdir(parents=True)
        shutil.copy(source, store / "runs" / "run.sqlite")
        with running_endpoint(DEMO / "script.py", seed=5, log=tmp_path / f"log-{number}.jsonl") as endpoint:
            stand.endpoint = endpoint
            receipt = tmp_path / f"receipt-{number}.json"
            done, _ = stand.replay("run", "--store", str(store), "--at", "24", "--receipt", str(receipt))
            assert done.status == 0, done.err
            receipts.append(receipt.read_bytes())
    assert receipts[0] == receipts[1]


SABOTAGE = """
import importlib.abc, sys
import wrapt

@wrapt.when_imported("anchored.boundary.transport_httpx")
def sabotage(module):
    original = module.pieces
    def one_wrong_byte(result):
        for piece in original(result):
            yield piece.replace(b"researcher", b"researchep", 1)
    module.pieces = one_wrong_byte
"""


def test_sabotaged_replayer_yields_no_receipt(stand: Stand, tmp_path: Path) -> None:
    """Receipts are rebuilt from what the program was handed: one wrong byte, and there is none."""
    (tmp_path / "sitecustomize.py").write_text(SABOTAGE)
    for arguments in ((), ("--at", "32")):
        done, attempt = stand.replay("first", *arguments, PYTHONPATH=str(tmp_path))
        assert done.status == 3, (done.err, attempt)
        assert attempt["receipt"] is None
        assert attempt["divergence"]["kind"] == "result"
        assert attempt["divergence"]["position"] == 5


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def own_digest(document: dict[str, Any]) -> str:
    held = {key: value for key, value in document["predicate"].items() if key != "digest"}
    return hashlib.sha256(b"anchored/receipt/v1\0" + canonical({**document, "predicate": held})).hexdigest()


def alterations(document: Any) -> Iterator[tuple[str, Any]]:
    """The document with one value changed, one member removed or one added, everywhere."""
    for path, value in list(leaves(document, ())):
        changed = json.loads(json.dumps(document))
        target = changed
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = other(value)
        yield "/".join(map(str, path)), changed
        if isinstance(target, dict):
            removed = json.loads(json.dumps(document))
            target = removed
            for step in path[:-1]:
                target = target[step]
            del target[path[-1]]
            yield "-" + "/".join(map(str, path)), removed
    added = json.loads(json.dumps(document))
    added["predicate"]["note"] = "trust me"
    yield "+/predicate/note", added


def leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    children = list(items)
    if not children:
        yield path, value
    for key, child in children:
        yield from leaves(child, (*path, key))


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return ("1" if value[:1] == "0" else "0") + value[1:]
    return "something" if value is None else ["something"]
