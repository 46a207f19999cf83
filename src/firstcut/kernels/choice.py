"""Which machine code fits the arguments of a call: a comparison of a few nanoseconds for each.

A wrapper that Numba made trusts its arguments to have the types it was made for, so these are seen
to first. A *choice* is a built-in function that compares the arguments with a table of patterns,
calls the wrapper of the first that fits, and a function of last resort if none does. It is the one
program here that is written in LLVM's language: in Python it would cost more than the call.

The addresses in a table are of types, which live as long as the process, and of what the caller
keeps alive.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from firstcut.kernels.signatures import SCALARS, Kind

TYPE, DIMENSIONS, ELEMENT, FLAGS = 8, 24, 56, 64
"""Where an object keeps its type and an array its further properties: bytes from its address."""

ELEMENT_TYPE = 24
"""Where a dtype keeps its kind, character, byte order and number, eight bytes in all."""

ELEMENT_MASK = 0xFFFFFFFF_00FFFFFF
"""The bits of these that tell element types apart: the fourth byte was used for other flags."""

CONTIGUOUS, FORTRAN, ALIGNED, WRITEABLE = 1, 2, 0x100, 0x400
"""Flags of arrays as NumPy numbers them."""

LAYOUTS = {"C": (CONTIGUOUS, CONTIGUOUS), "F": (CONTIGUOUS | FORTRAN, FORTRAN), "A": (3, 0)}
"""For every memory layout the flags that tell it, and what they are."""

ARRAY, SCALAR, INTEGER, TUPLE = 1, 2, 3, 4
"""What a pattern begins with; a type, and for scalars a second one, comes next."""

CHOICE = f"""
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyObject_Call(ptr, ptr, ptr)

; choice(address of a table, arguments, named): call what fits, or what the table begins with.
; The table goes on with entries: their length, a wrapper and a pattern; a length of 0 ends it.
define ptr @choice(ptr %self, ptr %arguments, ptr %named) {{
begin:
  %table = call ptr @PyLong_AsVoidPtr(ptr %self)
  %first = getelementptr i64, ptr %table, i64 1
  %by_position = icmp eq ptr %named, null
  br i1 %by_position, label %try, label %nothing
try:
  %entry = phi ptr [ %first, %begin ], [ %next, %other ]
  %length = load i64, ptr %entry
  %over = icmp eq i64 %length, 0
  br i1 %over, label %nothing, label %compare
compare:
  %pattern = getelementptr i64, ptr %entry, i64 2
  %rest = call ptr @fits(ptr %arguments, ptr %pattern)
  %differs = icmp eq ptr %rest, null
  br i1 %differs, label %other, label %found
other:
  %next = getelementptr i64, ptr %entry, i64 %length
  br label %try
found:
  %place = getelementptr i64, ptr %entry, i64 1
  %wrapper = load ptr, ptr %place
  %answer = tail call ptr %wrapper(ptr %self, ptr %arguments, ptr null)
  ret ptr %answer
nothing:
  %last_resort = load ptr, ptr %table
  %its_answer = tail call ptr @PyObject_Call(ptr %last_resort, ptr %arguments, ptr %named)
  ret ptr %its_answer
}}

; fits(value, pattern): the end of the pattern if the value has it, null otherwise.
define internal ptr @fits(ptr %value, ptr %pattern) {{
begin:
  %overflow = alloca i32
  %kind = load i64, ptr %pattern
  %p1 = getelementptr i64, ptr %pattern, i64 1
  %p2 = getelementptr i64, ptr %pattern, i64 2
  %p3 = getelementptr i64, ptr %pattern, i64 3
  %first = load i64, ptr %p1
  %second = load i64, ptr %p2
  %at_type = getelementptr i8, ptr %value, i64 {TYPE}
  %type = load i64, ptr %at_type
  %is_first = icmp eq i64 %type, %first
  %is_second = icmp eq i64 %type, %second
  switch i64 %kind, label %no [ i64 {ARRAY}, label %array  i64 {SCALAR}, label %scalar
                                i64 {INTEGER}, label %integer  i64 {TUPLE}, label %tuple ]
no:
  ret ptr null

; type, element type, dimensions, mask of flags, flags
array:
  br i1 %is_first, label %an_array, label %no
an_array:
  %at_element = getelementptr i8, ptr %value, i64 {ELEMENT}
  %element = load ptr, ptr %at_element
  %at_number = getelementptr i8, ptr %element, i64 {ELEMENT_TYPE}
  %number = load i64, ptr %at_number
  %masked_number = and i64 %number, {ELEMENT_MASK}
  %same_element = icmp eq i64 %masked_number, %second
  %at_dimensions = getelementptr i8, ptr %value, i64 {DIMENSIONS}
  %dimensions = load i32, ptr %at_dimensions
  %wide_dimensions = zext i32 %dimensions to i64
  %wanted_dimensions = load i64, ptr %p3
  %same_dimensions = icmp eq i64 %wide_dimensions, %wanted_dimensions
  %p4 = getelementptr i64, ptr %pattern, i64 4
  %mask = load i64, ptr %p4
  %p5 = getelementptr i64, ptr %pattern, i64 5
  %wanted_flags = load i64, ptr %p5
  %at_flags = getelementptr i8, ptr %value, i64 {FLAGS}
  %flags = load i32, ptr %at_flags
  %wide_flags = zext i32 %flags to i64
  %masked_flags = and i64 %wide_flags, %mask
  %same_flags = icmp eq i64 %masked_flags, %wanted_flags
  %both = and i1 %same_element, %same_dimensions
  %all = and i1 %both, %same_flags
  %p6 = getelementptr i64, ptr %pattern, i64 6
  %after_array = select i1 %all, ptr %p6, ptr null
  ret ptr %after_array

; one of two types
scalar:
  %either = or i1 %is_first, %is_second
  %after_scalar = select i1 %either, ptr %p3, ptr null
  ret ptr %after_scalar

; Python's type, of which only 64 bits fit, or NumPy's
integer:
  br i1 %is_first, label %an_integer, label %scalar
an_integer:
  store i32 0, ptr %overflow
  %ignored = call i64 @PyLong_AsLongLongAndOverflow(ptr %value, ptr %overflow)
  %too_large = load i32, ptr %overflow
  %small = icmp eq i32 %too_large, 0
  %after_integer = select i1 %small, ptr %p3, ptr null
  ret ptr %after_integer

; type, number of parts, then the pattern of every part
tuple:
  br i1 %is_first, label %a_tuple, label %no
a_tuple:
  %size = call i64 @PyTuple_Size(ptr %value)
  %same_size = icmp eq i64 %size, %second
  br i1 %same_size, label %parts, label %no
parts:
  %i = phi i64 [ 0, %a_tuple ], [ %i_next, %part ]
  %at = phi ptr [ %p3, %a_tuple ], [ %after, %part ]
  %missed = icmp eq ptr %at, null
  %done = icmp eq i64 %i, %size
  %ends = or i1 %missed, %done
  br i1 %ends, label %after_tuple, label %part
part:
  %item = call ptr @PyTuple_GetItem(ptr %value, i64 %i)
  %after = call ptr @fits(ptr %item, ptr %at)
  %i_next = add i64 %i, 1
  br label %parts
after_tuple:
  ret ptr %at
}}
"""


def table_of(addresses: dict[Kind, int], last_resort: Callable[..., Any]) -> np.ndarray:
    """Return the table by which ``choice`` finds the wrapper made for the kinds of arguments."""
    table = [id(last_resort)]
    for kinds, address in addresses.items():
        pattern = _pattern(kinds)
        table += [2 + len(pattern), address, *pattern]
    return np.array([*table, 0], dtype=np.uint64)


def _pattern(kind: Kind) -> list[int]:
    name = kind[0]
    if name == "tuple":
        return sum(map(_pattern, kind[1:]), [TUPLE, id(tuple), len(kind) - 1])
    if name == "array":
        _, element, dimensions, layout, writeable = kind
        mask, flags = LAYOUTS[layout]
        flags |= ALIGNED | (WRITEABLE if writeable else 0)
        number = _word(id(np.dtype(element)) + ELEMENT_TYPE) & ELEMENT_MASK
        return [ARRAY, id(np.ndarray), number, dimensions, mask | ALIGNED | WRITEABLE, flags]
    types = [id(cls) for cls, its_name in SCALARS.items() if its_name == name]
    return [INTEGER if name == "int64" else SCALAR, types[0], types[-1]]


def objects_are_as_known() -> bool:
    """Tell whether this interpreter and NumPy lay out their objects as ``choice`` reads them."""
    array = np.zeros((2, 3), order="F")
    array.flags.writeable = False
    return bool(
        sys.implementation.name == "cpython"
        and getattr(sys, "_is_gil_enabled", lambda: True)()
        and sys.maxsize == 2**63 - 1
        and sys.byteorder == "little"
        and _word(id(array) + TYPE) == id(np.ndarray)
        and _word(id(array) + DIMENSIONS) & 0xFFFFFFFF == array.ndim
        and _word(id(array) + ELEMENT) == id(array.dtype)
        and _word(id(array) + FLAGS) & 0xFFFFFFFF == array.flags.num
        and _word(id(array.dtype) + ELEMENT_TYPE) & 0xFFFFFF == int.from_bytes(b"fd=", "little")
        and _word(id(array.dtype) + ELEMENT_TYPE) >> 32 == array.dtype.num
    )


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value
