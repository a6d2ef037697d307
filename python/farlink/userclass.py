"""Classes that a user writes in Python: reading of their files, and checks of their code."""

import ast
import difflib
import dis
import inspect
import random as _random
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from farlink.errors import ScenarioError

__all__ = [
    "arguments",
    "check_names",
    "load",
    "own_names",
    "parameters",
    "read",
    "refuse_unfit",
    "source_of",
]

_UNFIT = ("random", "time", "secrets", "uuid", "datetime", "threading")
"""Modules that a hook must not use, because a second run would differ or the run would wait."""

Base = TypeVar("Base")

_CLASSES: dict[tuple[str, str, str], type] = {}


def read(path: Path) -> str:
    """Return the text of a file; the error of a file that cannot be read names it."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ScenarioError(f"{path}: {reason.lower()}") from error


def load(text: str, file: str, name: str, base: type[Base]) -> type[Base]:
    """Return the class `name` of a file's text, which derives from `base`.

    Raises
    ------
    ScenarioError
        If the file cannot be run, or has no such class.
    """
    key = (file, text, name)
    cls = _CLASSES.get(key)
    if cls is None:
        cls = getattr(_run(text, file), name, None)
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise ScenarioError(f"{file}: no class {name} derived from farlink.{base.__name__}")
    _CLASSES[key] = cls
    return cls


def _run(text: str, file: str) -> types.ModuleType:
    module = types.ModuleType(f"farlink_user_{Path(file).stem}")
    module.__file__ = file
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, file, "exec"), vars(module))  # noqa: S102 (the user named the file)
    except SyntaxError as error:
        raise ScenarioError(f"{file}:{error.lineno}: {error.msg}") from error
    except Exception as error:
        lines = [f.tb_lineno for f in _frames(error) if f.tb_frame.f_code.co_filename == file]
        at = f"{file}:{lines[-1]}" if lines else file
        raise ScenarioError(f"{at}: {type(error).__name__}: {error}") from error
    return module


def _frames(error: BaseException) -> Iterator[types.TracebackType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def source_of(cls: type, place: str) -> tuple[str, str]:
    """Return the name and the text of a class's file; `place` begins the message of an error."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    try:
        text = Path(file).read_text(encoding="utf-8") if file else inspect.getsource(cls)
    except (OSError, TypeError) as error:
        raise ScenarioError(f"{place}: the source of the class cannot be read") from error
    return Path(file).name if file else "<notebook>", text


def arguments(written: str | None, place: str) -> dict[str, object]:
    """Return arguments written as ``(alpha=1, beta=0.7)``; `place` begins an error's message."""
    if written is None:
        return {}
    try:
        call = ast.parse(f"f{written}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise SyntaxError  # noqa: TRY301 (answered below as other wrong arguments are)
        return {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise ScenarioError(f"{place}: write arguments as (alpha=1, beta=0.7)") from error


def check_names(cls: type, values: Mapping[str, object], file: str, base: type) -> None:
    """Refuse arguments that a class's own `__init__` does not have."""
    known = [name for name, _ in parameters(cls, base)]
    for name in values:
        if name not in known:
            has = f"there are {', '.join(known)}" if known else "there are none"
            raise ScenarioError(f"{file}: {name} is no argument of {cls.__name__}.__init__; {has}")


def parameters(cls: type, base: type) -> list[tuple[str, inspect.Parameter]]:
    """Return the arguments of a class's own `__init__`, without self."""
    if "__init__" not in own_names(cls, base):
        return []
    return list(inspect.signature(cls.__init__).parameters.items())[1:]  # type: ignore[misc]


def own_names(cls: type, base: type) -> set[str]:
    """Return the names that a class and its bases below `base` define."""
    return {name for own in cls.__mro__[: cls.__mro__.index(base)] for name in vars(own)}


def refuse_unfit(cls: type, file: str, base: type) -> None:
    """Refuse hooks that `base` lacks, that read the clock or wait, or draw numbers of their own."""
    _refuse_unknown_hooks(cls, file, base)
    seen: set[types.CodeType] = set()
    todo: list[types.FunctionType] = []
    for own in cls.__mro__[: cls.__mro__.index(base)]:
        todo += [value for value in vars(own).values() if isinstance(value, types.FunctionType)]
    while todo:
        function = todo.pop()
        if function.__code__ in seen:
            continue
        seen.add(function.__code__)
        for line, used in _used(function.__code__, function.__globals__):
            if isinstance(used, types.FunctionType) and used.__module__ == function.__module__:
                todo.append(used)
            elif (unfit := _unfit(used)) is not None:
                raise ScenarioError(
                    f"{file}:{line}: {cls.__name__} uses {unfit}, which a second run would not "
                    "repeat; use self.random() and the times that farlink gives"
                )


def _refuse_unknown_hooks(cls: type, file: str, base: type) -> None:
    """Refuse a method on_... that farlink never calls, because its name is probably a mistake."""
    hooks = sorted(name for name in dir(base) if name.startswith("on_"))
    for own in cls.__mro__[: cls.__mro__.index(base)]:
        for name, value in vars(own).items():
            if name.startswith("on_") and name not in hooks and callable(value):
                near = difflib.get_close_matches(name, hooks, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(hooks)}"
                hint = hint if hooks else "the class has none"
                line = getattr(getattr(value, "__code__", None), "co_firstlineno", None)
                at = f"{file}:{line}" if line else file
                raise ScenarioError(
                    f"{at}: {cls.__name__}.{name} is no hook of farlink.{base.__name__}; {hint}"
                )


def _used(code: types.CodeType, names: Mapping[str, object]) -> Iterator[tuple[int, object]]:
    """Yield each global object and imported module that code refers to, with its line."""
    line = code.co_firstlineno
    held: object = None
    for step in dis.get_instructions(code):
        line = (step.positions.lineno if step.positions else None) or line
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            held = names.get(str(step.argval))
            yield line, held
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            if isinstance(held, types.ModuleType):
                held = getattr(held, str(step.argval), None)
                yield line, held
        elif step.opname == "IMPORT_NAME" and str(step.argval).split(".")[0] in _UNFIT:
            yield line, sys.modules.get(str(step.argval)) or types.ModuleType(str(step.argval))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _used(constant, names)


def _unfit(used: object) -> str | None:
    module: object
    if isinstance(used, types.ModuleType):
        module = used.__name__
    elif isinstance(used, Callable):  # type: ignore[arg-type]
        owner = getattr(used, "__self__", None)
        module = (
            "random" if isinstance(owner, _random.Random) else getattr(used, "__module__", None)
        )
    else:
        module = None
    module = str(module or "")
    bad = module in _UNFIT or module.startswith("numpy.random") or used is _random.Random
    return module if bad else None
