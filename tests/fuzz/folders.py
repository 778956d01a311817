"""Damage and forge saved folders, load them both ways, and count what comes of it.

``python tests/fuzz/folders.py --count 10000 --seed 0``. Half of the folders are damaged as files
are: flipped bits, cuts, files lost or swapped. They must be refused or answer as before. The other
half are made up and signed with a right digest: other types and sizes, NaN, absurd numbers, keys
and tensors added or lost. They must be refused or give answers that obey the laws of curves. No
error but our own may come out, no file but the two may be opened, and time and memory stay small.
"""

import argparse
import importlib.util
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from survtrace import load, portable
from survtrace.cli.commands.info import describe_model
from survtrace.errors import SurvtraceError
from survtrace.model_card import card_facts
from survtrace.saved_folder import DIGEST, NOTE, TENSORS, digest_of, written_note

SAVED = Path(__file__).parents[1] / "saved_formats"
BASES = sorted(path.parent for path in SAVED.glob("format_2/*/answers.json"))
LONGEST = 20  # seconds; then a folder counts as one that is read without end
SAME = 1e-6
ODD = (
    None, True, False, -1, 0, 1, 7, 10**6, 2**62, 2**70, 0.5, -0.5, 1e-300, 1e300, -1e300, math.nan,
    math.inf, "", "x", "NaN", "a" * 10_000, "\ud800", [], {}, [1], [[]], {"a": 1}, [None],
    [math.nan],
)  # fmt: skip
TYPES = (np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8, np.bool_)
WATCHED = ("open", "os.", "shutil.", "subprocess.", "socket.", "pickle.", "ctypes.dlopen")


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts, problems, worst = run(given.count, given.seed)
    for line in sorted(f"{kind:8} {what:28} {n:6}" for (kind, what), n in counts.items()):
        print(line)
    print(f"slowest {worst['seconds']:.2f} s, memory +{worst['memory']:.0f} MiB, seed {given.seed}")
    print(*problems[:20], sep="\n")
    sys.exit(bool(problems))


def run(count: int, seed: int) -> tuple[Counter, list[str], dict[str, float]]:
    """Try some folders; return what happened, what must not have, and the worst of time and memory.

    ``problems`` are errors that are not ours, damage that changed answers without a word, and
    answers that break laws.
    """
    rng, watch = random.Random(seed), Watch()
    counts, problems, slowest = Counter(), list[str](), 0.0
    signal.signal(signal.SIGALRM, _too_long)
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(home) / "est"
        references = {base: _references(base) for base in BASES}
        before = _memory()
        for number in range(count):
            base = rng.choice(BASES)
            kind, change = ("damaged", damage) if number % 2 else ("forged", forge)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(base / "est", folder)
            done = change(rng, folder)
            for read in (load, portable.load):
                started = time.process_time()
                with watch.folder(folder):
                    what = _outcome(read, folder, *references[base])
                slowest = max(slowest, time.process_time() - started)
                counts[kind, what] += 1
                silent = kind == "damaged" and what == "other answers"
                if what.startswith(("foreign", "laws")) or silent or watch.seen:
                    problems.append(f"{number} {base.name} {read.__module__} {done}: {what} "
                                    f"{watch.seen[:3]}")  # fmt: skip
        memory = _memory() - before
    signal.alarm(0)
    return counts, problems, {"seconds": slowest, "memory": memory}


def _references(base: Path) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Rows to ask about, and what the whole folder says of them; reads all that is read once."""
    rows = pd.DataFrame(json.loads((base / "answers.json").read_text(encoding="utf-8"))["rows"])
    _ask(portable.load(base / "est"), rows, base)
    return rows, _ask(load(base / "est"), rows, base / "est")


def _outcome(read, folder: Path, rows: pd.DataFrame, expected: dict[str, np.ndarray]) -> str:
    signal.alarm(LONGEST)
    try:
        est = read(folder)
    except SurvtraceError:
        return "refused"
    except Exception as error:
        return f"foreign {type(error).__name__}: {str(error)[:80]}"
    finally:
        signal.alarm(0)
    try:
        answers = _ask(est, rows, folder)
    except SurvtraceError:
        return "refused when asked"
    except Exception as error:
        return f"foreign when asked {type(error).__name__}: {str(error)[:80]}"
    if broken := _broken_laws(answers):
        return f"laws broken: {broken}"
    same = answers.keys() == expected.keys() and all(
        answers[name].shape == expected[name].shape
        and np.allclose(answers[name], expected[name], rtol=0, atol=SAME)
        for name in expected
    )
    return "same answers" if same else "other answers"


def _ask(est, rows: pd.DataFrame, folder: Path) -> dict[str, np.ndarray]:
    if hasattr(est, "network_"):
        describe_model(est, folder)
        card_facts(est)
    answers = dict(MAKE.ask(est, rows))
    return {name: np.asarray(answer) for name, answer in answers.items()}


def _broken_laws(answers: dict[str, np.ndarray]) -> str:
    for name, answer in answers.items():
        if not np.isfinite(answer).all():
            return f"{name} is not finite"
        if answer.min(initial=0) < -1e-6 or answer.max(initial=1) > 1 + 1e-6:
            return f"{name} is no probability"
    if (np.diff(answers["incidence"]) < -1e-6).any():
        return "incidence falls"
    return ""


def damage(rng: random.Random, folder: Path) -> str:
    """Damage files as disks and people do."""
    file = folder / rng.choice([NOTE, TENSORS])
    content = bytearray(file.read_bytes())
    how = rng.choice(["flip", "flip", "flip", "cut", "lose", "swap", "zeros", "append", "burst"])
    where = rng.randrange(len(content))
    if how == "flip":
        content[where] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del content[where:]
    elif how == "zeros":
        content[where : where + 512] = bytes(len(content[where : where + 512]))
    elif how == "append":
        content += rng.randbytes(rng.randrange(1, 100))
    elif how == "burst":
        content[where : where + 16] = rng.randbytes(16)
    elif how == "swap":
        content = bytearray((rng.choice(BASES) / "est" / file.name).read_bytes())
    file.write_bytes(content)
    if how == "lose":
        file.unlink()
    return f"{how} {file.name} at {where}"


def forge(rng: random.Random, folder: Path) -> str:
    """Change what a folder says, and sign it with a right digest."""
    how = rng.choice(["value"] * 5 + ["key", "size", "tensor", "tensor", "tensor", "text", "file"])
    note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    header = {name: note.pop(name) for name in ("format", "format_version", DIGEST)}
    arrays = load_arrays((folder / TENSORS).read_bytes())
    if how == "file":
        return forge_file(rng, folder)
    if how == "tensor":
        arrays, done = forge_tensor(rng, arrays)
    elif how == "size":
        name = rng.choice([k for k, v in note["shape"].items() if isinstance(v, int)])
        note["shape"][name] = rng.choice([0, -1, 10**6, 10**9, 2**62, note["shape"][name] + 1])
        done = f"shape {name} {note['shape'][name]}"
    else:
        done = forge_value(rng, note, how)
    tensors = save_arrays(arrays)
    content = written_note(note, tensors)
    if how == "text":
        content, done = forge_text(rng, content, tensors, header)
    (folder / TENSORS).write_bytes(tensors)
    (folder / NOTE).write_bytes(content)
    return done


def forge_value(rng: random.Random, note: dict, how: str) -> str:
    """Replace, remove or add one value somewhere in the tree of plain values."""
    place, path = note, []
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = rng.choice(keys)
        path.append(key)
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.15:
            break
        place = inner
    if how == "key" and rng.random() < 0.5:
        del place[key]
        return f"lost {path}"
    if how == "key" and isinstance(place, dict):
        place[rng.choice(["more", "", "levels", "mean"])] = rng.choice(ODD)
        return f"one more beside {path}"
    number = isinstance(place[key], int | float) and not isinstance(place[key], bool)
    if number and rng.random() < 0.3:
        place[key] = place[key] * rng.choice([-1, 2, 1e9, 1e-9])
    else:
        place[key] = rng.choice(ODD)
    return f"{path} = {str(place[key])[:30]}"


def forge_tensor(rng: random.Random, arrays: dict) -> tuple[dict, str]:
    """Change one tensor: type, shape, values, order, name."""
    name = rng.choice(sorted(arrays))
    array = np.array(arrays[name])
    how = rng.choice(
        ["type", "shape", "number", "reverse", "scale", "lose", "rename", "add", "swap"]
    )
    if how == "type":
        array = array.astype(rng.choice(TYPES))
    elif how == "shape":
        shapes = [(-1,), (1, *array.shape), (*array.shape, 1), array.shape[::-1]]
        array = rng.choice(
            [array.reshape(rng.choice(shapes)), array.ravel()[:0], array.ravel()[:1]]
        )
    elif how == "number" and array.size:
        odd = [
            -1,
            0,
            1e9,
            *([math.nan, math.inf, -math.inf, 1e38] if array.dtype.kind == "f" else []),
        ]
        array.ravel()[rng.randrange(array.size)] = rng.choice(odd)
    elif how == "reverse":
        array = np.ascontiguousarray(array[..., ::-1]) if array.ndim else -array
    elif how == "scale":
        array = (array * rng.choice([-1, 0, 2, 1e30])).astype(array.dtype)
    elif how == "swap":
        array = np.array(arrays[rng.choice(sorted(arrays))])
    changed = {key: value for key, value in arrays.items() if key != name}
    if how != "lose":
        changed[f"{name}.more" if how == "rename" else name] = np.array(array, order="C")
    if how == "add":
        changed["network.more"] = array
    return changed, f"{how} {name}"


def forge_text(
    rng: random.Random, content: bytes, tensors: bytes, header: dict
) -> tuple[bytes, str]:
    """Write JSON that is odd as text, or one of another version."""
    how = rng.choice(["twice", "deep", "nan", "huge", "surrogate", "version", "long"])
    inserted = {
        "twice": b'"causes": [1],',
        "deep": b'"deep": ' + b"[" * 5_000 + b"]" * 5_000 + b",",
        "nan": b'"median_event_time": NaN,',
        "huge": b'"huge": ' + b"9" * 4_000 + b",",
        "surrogate": b'"\\ud800": "\\ud800",',
        "version": b"",
        "long": b'"long": [' + b"[]," * 100_000 + b"0],",
    }[how]
    changed = content.replace(b"{", b"{" + inserted, 1)
    if how == "version":
        number = rng.choice([b"0", b"1", b"3", b"-1", b"true", b"1.0", b'"2"', b"null"])
        changed = content.replace(b'"format_version": 2', b'"format_version": ' + number, 1)
    old = json.loads(content)[DIGEST]
    return changed.replace(old.encode(), digest_of(changed, tensors, old).encode(), 1), how


def forge_file(rng: random.Random, folder: Path) -> str:
    """Put something else than a file there."""
    file = folder / rng.choice([NOTE, TENSORS])
    how = rng.choice(["pipe", "link", "device", "folder", "sparse", "loop"])
    if how != "sparse":
        file.unlink()
    if how == "pipe":
        os.mkfifo(file)
    elif how == "link":
        file.symlink_to(BASES[0] / "est" / file.name)
    elif how == "device":
        file.symlink_to("/dev/zero")
    elif how == "loop":
        file.symlink_to(file)
    elif how == "folder":
        file.mkdir()
    else:
        os.truncate(file, 2**40)
    return f"{how} {file.name}"


class Watch:
    """Files that are opened, and what else is done to the system, outside of one folder."""

    def __init__(self) -> None:
        self.seen, self._folder = list[str](), None
        sys.addaudithook(self._hear)

    def folder(self, folder: Path) -> "Watch":
        """Allow one folder; use as ``with watch.folder(...)``."""
        self.seen, self._allowed = [], str(folder)
        return self

    def __enter__(self) -> None:
        self._folder = self._allowed

    def __exit__(self, *error: object) -> None:
        self._folder = None

    def _hear(self, event: str, arguments: tuple) -> None:
        if self._folder is None or not event.startswith(WATCHED):
            return
        if not str(arguments[0] if arguments else "").startswith(self._folder):
            self.seen.append(f"{event} {arguments}"[:200])


def _too_long(*_: object) -> None:
    raise TimeoutError(f"read for more than {LONGEST} s")


def _memory() -> float:
    """Return the largest memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _make():
    spec = importlib.util.spec_from_file_location("make_saved_formats", SAVED / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = _make()

if __name__ == "__main__":
    main()
