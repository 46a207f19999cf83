"""A function that is compiled when it is called: with Numba once, from then on without.

A call takes the first of these roads that is open:

1. machine code in this process, if the arguments are of the kinds that it was made for;
2. machine code in a file: it is linked, and is 1 for later calls;
3. Numba's dispatcher, which compiles, writes the file and answers later calls of this process.

The first two import no Numba. Whatever is unknown to them (arguments of other kinds, other
versions, a symbol or file that is missing or damaged) is left to the third.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any, cast

from firstcut.kernels.code_files import CodeFiles
from firstcut.kernels.signatures import Kind, kind_of

_linking = RLock()
"""Held while machine code is linked: threads may call one kernel first at the same time."""


class Kernel:
    """A compiled function; every kernel is the only instance of a class derived from this one.

    The class is its own because ``__call__`` is looked up there: it is replaced by what is compiled
    and no Python function stands between a caller and machine code.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(cast(Any, self), function)
        self.py_func = function
        self._options = options
        self._files = CodeFiles(function)
        self._linked: dict[Kind, Any] = {}
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        # What else there is to know is Numba's to tell. Copying and documentation tools ask for
        # special names, and are not to load it.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._dispatcher(), name)

    def __reduce__(self) -> str:
        """Be pickled and copied by name, as functions are."""
        return self.py_func.__qualname__

    @property
    def _numba_type_(self) -> Any:
        """The type by which Numba compiles a call of this kernel into another kernel."""
        return self._dispatcher()._numba_type_

    def _dispatcher(self) -> Any:
        """Return Numba's compiled function, or the function itself if that is not to compile."""
        if self._made is None:
            from numba import njit

            from firstcut.kernels.code_cache import CodeCache

            made: Any = njit(**self._options)(self.py_func)
            if made is not self.py_func:
                made._cache = CodeCache(self._files)
            # Without a lock, as Numba holds its own when it asks for those that a kernel calls.
            self._made = self._made or made
        return self._made

    def _find(self, *arguments: Any, **named: Any) -> Any:
        """Answer a call for which nothing is linked; all calls come here until something is."""
        with _linking:
            answer = self._linked_for(arguments, named)
        if answer is None:
            answer = self._dispatcher()
            self._answer_by(answer)
        return answer(*arguments, **named)

    def _answer_by(self, callee: Any) -> None:
        type(self).__call__ = staticmethod(callee)  # type: ignore[method-assign]

    def _linked_for(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return machine code that was made for these arguments, or None."""
        kinds = kind_of(arguments)
        if kinds is None or named or self._made is not None:
            return None
        if kinds not in self._linked:
            # Whatever goes wrong here: Numba can always compile, and says what is damaged.
            try:
                from firstcut.kernels.machine_code import choice_of, link

                code = self._files.machine_code(kinds)
                if code is None:
                    return None
                linked = {**self._linked, kinds: link(code, self.py_func)}
                choice = choice_of(linked, self._find)
            except Exception:
                return None
            self._linked = linked
            self._answer_by(choice)
        # Not through ``__call__``: where that knows less than ``kind_of`` it would come back here.
        return self._linked[kinds].call


def compiled_on_call(function: Callable[..., Any], options: dict[str, Any]) -> Kernel:
    """Return a kernel that compiles ``function`` with these options of Numba's ``njit``."""
    made: Kernel = type(function.__name__, (Kernel,), {"__call__": None})(function, options)
    made._answer_by(made._find)
    return made
