"""libfmha_bwd_nvidia.so through ctypes: the structs and functions of kernels/library.h. No torch."""
import ctypes

from peers.plan import DTYPES, LAYOUTS, MASKS, Failure

EXTENTS = ("batch", "nhead_q", "nhead_k", "seqlen_q", "seqlen_k", "hdim_q", "hdim_v")
POINTERS = ("q", "k", "v", "d_o", "o", "lse", "d", "dq", "dk", "dv", "dq_acc", "scratch", "slopes", "sink",
            "dsink", "table")
WINDOW_TOP_LEFT = 3
UNBOUNDED = 1 << 40
LIST = ctypes.POINTER(ctypes.c_int64)


class Problem(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in EXTENTS] + [
        ("dtype", ctypes.c_int), ("mask", ctypes.c_int), ("layout", ctypes.c_int), ("scale", ctypes.c_float),
        ("window_left", ctypes.c_int64), ("window_right", ctypes.c_int64), ("prefix", ctypes.c_int64),
        ("document_ends", LIST), ("documents", ctypes.c_int64), ("seqlens_q", LIST), ("seqlens_k", LIST),
        ("softcap", ctypes.c_float), ("alibi", ctypes.c_int), ("sink", ctypes.c_int),
        ("dropout", ctypes.c_float), ("dropout_seed", ctypes.c_uint64), ("dropout_offset", ctypes.c_uint64),
        ("deterministic", ctypes.c_int)]


class Tensors(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in POINTERS]


class Workspace(ctypes.Structure):
    _fields_ = [("dq_acc_bytes", ctypes.c_size_t), ("scratch_bytes", ctypes.c_size_t),
                ("family", ctypes.c_char * 32), ("table_bytes", ctypes.c_size_t)]


def problem_of(shape):
    problem = Problem(shape.batch, shape.nhead_q, shape.nhead_k, shape.seqlen_q, shape.seqlen_k, shape.hdim,
                      shape.hdim_v, DTYPES.index(shape.dtype), MASKS.index(shape.mask),
                      LAYOUTS.index(shape.layout), shape.scale)
    for member, value in shape.members.items():
        if isinstance(value, (tuple, list)):
            value = (ctypes.c_int64 * len(value))(*value)  # the struct keeps it alive
        setattr(problem, member, value)
    return problem


class Library:
    """Every function raises Failure with the library's code and message."""

    def __init__(self, path):
        """Failure 2 where `path` is not the library."""
        self.message = ctypes.create_string_buffer(512)
        try:
            loaded = ctypes.CDLL(str(path))
            self._sizes, self._table, self._forward, self._backward = (
                loaded.fmha_bwd_sizes, loaded.fmha_bwd_table, loaded.fmha_bwd_forward,
                loaded.fmha_bwd_backward)
        except (OSError, AttributeError) as error:
            raise Failure(2, f"--library: {error}") from None
        text = [ctypes.c_char_p, ctypes.c_size_t]
        self._sizes.argtypes = [ctypes.POINTER(Problem), ctypes.c_char_p, ctypes.POINTER(Workspace)] + text
        self._table.argtypes = [ctypes.POINTER(Problem), ctypes.c_void_p, ctypes.c_size_t] + text
        for function in (self._forward, self._backward):
            function.argtypes = [ctypes.POINTER(Problem), ctypes.c_char_p, ctypes.POINTER(Tensors),
                                 ctypes.c_void_p] + text

    def _check(self, code):
        if code != 0:
            raise Failure(code, self.message.value.decode())

    def workspace(self, problem, family):
        """What `family` ("auto": the fastest) needs, and its name as bytes."""
        workspace = Workspace()
        self._check(self._sizes(problem, family.encode(), workspace, self.message, len(self.message)))
        return workspace

    def table(self, problem, size):
        """The `size` bytes of the problem's table, for the device."""
        table = ctypes.create_string_buffer(size)
        self._check(self._table(problem, table, size, self.message, len(self.message)))
        return bytearray(table.raw)

    def forward(self, problem, family, tensors, stream):
        """Enqueues O and LSE on the CUDA stream handle `stream`; `family` is bytes."""
        self._check(self._forward(problem, family, tensors, stream, self.message, len(self.message)))

    def backward(self, problem, family, tensors, stream):
        """A function without arguments that enqueues one backward, its arguments converted once."""
        arguments = (ctypes.pointer(problem), ctypes.c_char_p(family), ctypes.pointer(tensors),
                     ctypes.c_void_p(stream), self.message, len(self.message))
        function = self._backward

        def call():
            code = function(*arguments)
            if code != 0:
                self._check(code)

        return call
