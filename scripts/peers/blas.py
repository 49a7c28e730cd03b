"""Matrix products of BLAS libraries through ctypes: their names, their threads, and which is right."""
import ctypes
import re
from pathlib import Path

import numpy as np

from peers.plan import Failure

ROW_MAJOR, NO_TRANSPOSE = 101, 111
TYPES = {32: ("s", ctypes.c_float, np.float32), 64: ("d", ctypes.c_double, np.float64)}
FILES = re.compile(r"openblas|blis|libmkl_rt|libblas|libcblas")


def found(loaded, name):
    """A function, by OpenBLAS's prefixes and suffixes too; None where the library has none of them."""
    for prefix in ("", "scipy_"):
        for suffix in ("", "64_"):
            try:
                return getattr(loaded, prefix + name + suffix)
            except AttributeError:
                pass
    return None


def text_of(function, *arguments):
    function.restype = ctypes.c_char_p
    return function(*arguments).decode()


def name_of(loaded, path):
    """The library, its version, and the kernels that it chose for this CPU; else the name of the file."""
    if config := found(loaded, "openblas_get_config"):
        version, core = re.match(r"OpenBLAS (\S+)", text_of(config)), found(loaded, "openblas_get_corename")
        return " ".join(["OpenBLAS", *([version[1]] if version else []), *([text_of(core)] if core else [])])
    if version := found(loaded, "bli_info_get_version_str"):
        loaded.bli_init()  # else the question for the kernels ends the process where BLIS_ARCH_TYPE is set
        return f"BLIS {text_of(version)} {text_of(loaded.bli_arch_string, loaded.bli_arch_query_id())}"
    if found(loaded, "dnnl_sgemm"):
        return "oneDNN"
    return Path(path).name


def thread_setter(loaded):
    """f(count); None where the library has no such function."""
    for name in ("openblas_set_num_threads", "bli_thread_set_num_threads", "MKL_Set_Num_Threads",
                 "omp_set_num_threads"):
        if function := found(loaded, name):
            function.restype = None
            return lambda count: function(ctypes.c_int64(count))
    return None


class Blas:
    """A library with cblas_sgemm and cblas_dgemm, or with oneDNN's dnnl_sgemm (fp32 alone)."""

    def __init__(self, path):
        """Failure 2 where `path` is not such a library."""
        try:
            self.loaded = ctypes.CDLL(str(path))
        except OSError as error:
            raise Failure(2, f"--blas: {error}") from None
        if not found(self.loaded, "cblas_sgemm") and not found(self.loaded, "dnnl_sgemm"):
            raise Failure(2, f"--blas: {path}: it has neither cblas_sgemm nor dnnl_sgemm")
        self.name = name_of(self.loaded, path)
        self.set_threads = thread_setter(self.loaded)

    def product(self, real, a, b, c):
        """The call of C = A B on square matrices, row-major. Failure 3 where it has no such type."""
        letter, scalar, _ = TYPES[real]
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (a, b, c)]
        # 64 bits go for an int of 32 bits too: the calling conventions pass each in a register or slot.
        n = ctypes.c_int64(len(a))
        if gemm := found(self.loaded, f"cblas_{letter}gemm"):
            arguments = (ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, scalar(1), pointers[0], n,
                         pointers[1], n, scalar(0), pointers[2], n)
        elif real == 32:
            gemm, plain = self.loaded.dnnl_sgemm, ctypes.c_char(b"N")
            arguments = (plain, plain, n, n, n, scalar(1), pointers[0], n, pointers[1], n, scalar(0),
                         pointers[2], n)
        else:
            raise Failure(3, f"it has no product in fp{real}")
        return lambda: gemm(*arguments)


def of_numpy():
    """numpy's own library, or None where it is not known. Before any other BLAS is loaded."""
    np.matmul(np.ones((2, 2)), np.ones((2, 2)))
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    except OSError:
        return None
    for path in dict.fromkeys(line.split(maxsplit=5)[5] for line in maps.splitlines() if line.count("/")):
        if FILES.search(Path(path).name):
            try:
                return Blas(path)
            except Failure:
                pass
    return None


def operands(real, size, seed=42):
    """A, B and C of [size, size], uniform in [-1, 1); C is NaN."""
    generator = np.random.default_rng(seed)
    a, b = (generator.uniform(-1, 1, (size, size)).astype(TYPES[real][2]) for _ in range(2))
    return a, b, np.full_like(a, np.nan)


def product_error(a, b, c, rows=8):
    """The relative L2 error of some rows of C, and of the sums of all its columns, against fp64."""
    chosen = np.linspace(0, len(a) - 1, rows).astype(int)
    left = np.vstack([a[chosen], a.sum(axis=0, dtype=np.float64)]).astype(np.float64)
    actual = np.vstack([c[chosen], c.sum(axis=0, dtype=np.float64)])
    expected = left @ b.astype(np.float64)
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))
