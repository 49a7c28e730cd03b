"""libfmha_bwd_reference.so through ctypes: the struct and functions of reference/library.h. Needs numpy."""
import ctypes

import numpy as np

from peers.library import EXTENTS
from peers.plan import MASKS, Failure

REALS = {32: np.float32, 64: np.float64}


class Problem(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in EXTENTS] + [
        ("mask", ctypes.c_int), ("real", ctypes.c_int), ("scale", ctypes.c_float), ("threads", ctypes.c_int)]


def problem_of(case):
    shape = case.shape
    return Problem(shape.batch, shape.nhead_q, shape.nhead_k, shape.seqlen_q, shape.seqlen_k, shape.hdim,
                   shape.hdim, MASKS.index(shape.mask), case.real, shape.scale, case.threads)


class ReferenceLibrary:
    """Every function raises Failure with the library's code and message."""

    def __init__(self, path):
        """Failure 2 where `path` is not the library."""
        self.message = ctypes.create_string_buffer(512)
        try:
            loaded = ctypes.CDLL(str(path))
            self._forward, self._backward, simd = (
                loaded.fmha_bwd_reference_forward, loaded.fmha_bwd_reference_backward,
                loaded.fmha_bwd_reference_simd)
        except (OSError, AttributeError) as error:
            raise Failure(2, f"--library: {error}") from None
        simd.restype = ctypes.c_char_p
        self.simd = simd().decode()
        for function, pointers in ((self._forward, 5), (self._backward, 10)):
            function.argtypes = [ctypes.POINTER(Problem), *[ctypes.c_void_p] * pointers, ctypes.c_char_p,
                                 ctypes.c_size_t]

    def _call(self, function, problem, arrays):
        """A function without arguments, which keeps the arrays alive."""
        pointers = [array.ctypes.data for array in arrays]

        def call():
            code = function(problem, *pointers, self.message, len(self.message))
            if code != 0:
                raise Failure(code, self.message.value.decode())
            return arrays

        return call

    def passes(self, case, tensors):
        """(forward, backward, (O, dQ, dK, dV) that they write) of (Q, K, V, dO) in fp32."""
        problem = problem_of(case)
        q, k, v, d_o = tensors
        o, dq, dk, dv = (np.full(like.shape, np.nan, REALS[case.real]) for like in (d_o, q, k, v))
        lse, d = (np.full(q.shape[:3], np.nan, REALS[case.real]) for _ in range(2))
        forward = self._call(self._forward, problem, (q, k, v, o, lse))
        backward = self._call(self._backward, problem, (q, k, v, d_o, o, lse, d, dq, dk, dv))
        return forward, backward, (o, dq, dk, dv)
