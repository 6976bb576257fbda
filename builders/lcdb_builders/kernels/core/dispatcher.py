"""Kernels that kernels call are compiled into their callers, and nothing else.

Numba makes of every function machine code of its own and a wrapper by which Python calls it. Most
kernels are called by kernels alone, which take them in at the level of LLVM and compile them again.
So what is met while another kernel is compiled stops at LLVM's code: a *part*. It saves a third of
the time to compile. Where Python calls a part after all, it is compiled once more, as a whole.

Parts are optimised before others take them in, but for the largest (`LARGE`): those consist of
parts that are optimised already, and their callers would optimise all of it again. That halves
LLVM's time. Leaving the small ones to their callers as well would save little more, and make
forests a fifth slower. No result changes by any of it, though LLVM may take other functions into
their callers.

A function is also compiled once for ``f(x, 0)`` and ``f(x, n)``: a literal is an argument of its
type.

Numba documents none of what this stands on. It works, with the same bits, from Numba 0.60 to 0.68.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding
from numba.core import sigutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler
from numba.core.registry import CPUDispatcher

__all__ = ["KernelDispatcher", "PartEntry", "is_nested", "part_of", "read_part", "write_part"]

# Bytes of LLVM's bitcode, with all that is linked into it.
LARGE = 155_000
# How many kernels are being compiled, each for the one before; guarded by Numba's lock.
_depth = 0


def is_nested() -> bool:
    """Return whether what is compiled now is wanted by another kernel."""
    return _depth > 1


class PartEntry:
    """Stands for the address of a part, which has none."""


class _PartLibrary(JITCodeLibrary):
    """Code that others link, which never becomes machine code by itself."""

    def _optimize_final_module(self) -> None:
        if len(self._final_module.as_bitcode()) <= LARGE:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _Compiler(_FunctionCompiler):
    """Compiles a part or a whole, as it is wanted."""

    def _customize_flags(self, flags: Any) -> Any:
        if is_nested():
            flags.no_compile = True
            flags.no_cpython_wrapper = True
        return flags

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        compiled = super()._compile_core(args, return_type)
        if compiled.entry_point is None:
            return part_of(compiled)
        # What a part refers to in its caller has had no address before.
        for environment in compiled._find_referenced_environments():
            compiled.library.codegen.set_env(environment.env_name, environment)
        return compiled


@contextmanager
def _deeper() -> Iterator[None]:
    """Note that a kernel is being compiled.

    Nothing is garbage of what compilers make before they are done, and there is so much of it that
    to look through it again and again takes a sixth of their time.
    """
    global _depth
    collects = gc.isenabled()
    _depth += 1
    gc.disable()
    try:
        yield
    finally:
        _depth -= 1
        if collects:
            gc.enable()


class KernelDispatcher(CPUDispatcher):
    """A kernel, as Python and other kernels call it."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions={**options, "nopython": True})
        self._compiler: Any = _Compiler(
            function, self.targetdescr, self.targetoptions, self.locals, Compiler
        )

    @classmethod
    def _rebuild(cls, uuid: Any, py_func: Any, targetoptions: Any, **_: Any) -> Any:
        if uuid in cls._memo:
            return cls._memo[uuid]
        dispatcher = cls(py_func, targetoptions)
        dispatcher._set_uuid(uuid)
        return dispatcher

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what a call from compiled code is typed by."""
        _, folded = self._compiler.fold_argument_types(args, kws)
        return super().get_call_template([types.unliteral(kind) for kind in folded], {})

    def compile(self, sig: Any) -> Any:
        """Compile for types of arguments, or load what was compiled before."""
        with global_compiler_lock:
            args, _ = sigutils.normalize_signature(sig)
            known = self.overloads.get(tuple(args))
            if not _depth and known is not None and isinstance(known.entry_point, PartEntry):
                del self.overloads[tuple(args)]
            with _deeper():
                return super().compile(sig)

    def add_overload(self, cres: Any) -> None:
        """Note what was compiled; Python can call a whole alone."""
        if isinstance(cres.entry_point, PartEntry):
            self.overloads[tuple(cres.signature.args)] = cres
        else:
            super().add_overload(cres)


def part_of(compiled: Any) -> Any:
    """Return what was compiled without machine code so that others can call it."""
    compiled.library.__class__ = _PartLibrary
    part = compiled._replace(entry_point=PartEntry())
    part.target_context.insert_user_function(part.entry_point, part.fndesc, [part.library])
    return part


def write_part(part: Any) -> tuple[Any, ...]:
    """Return a part as what can be pickled; `read_part` undoes it."""
    name, _, code = part.library.serialize_using_bitcode()
    part.fndesc.typemap = part.fndesc.calltypes = None
    environments = tuple(part._find_referenced_environments())
    return (
        name,
        code,
        part.fndesc,
        part.environment,
        part.signature,
        part.reload_init,
        environments,
    )


def read_part(target_context: Any, content: tuple[Any, ...]) -> Any:
    """Return the part that was written."""
    name, code, fndesc, environment, signature, reload_init, environments = content
    for prepare in reload_init:
        prepare()
    library = target_context.codegen().create_library(name)
    library.__class__ = _PartLibrary
    library._final_module = llvmlite.binding.parse_bitcode(code)
    library._finalize_final_module()
    return CompileResult(
        typing_context=target_context.typing_context,
        target_context=target_context,
        entry_point=PartEntry(),
        typing_error=None,
        type_annotation="",
        signature=signature,
        objectmode=False,
        lifted=(),
        fndesc=fndesc,
        library=library,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=environments,
    )
