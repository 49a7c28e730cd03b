"""PyTorch's matrix product and attention backward on the CPU, on numpy arrays."""
import re

import numpy as np
import torch

from peers.plan import Failure


def blas_of(configuration):
    """"MKL 2024.2" of the text of torch.__config__.show()."""
    mkl = re.search(r"Math Kernel Library Version (\S+?)-", configuration)
    other = re.search(r"BLAS_INFO=(\w+)", configuration)
    return f"MKL {mkl[1]}" if mkl else other[1] if other else "unknown BLAS"


def version():
    return f"{torch.__version__} ({blas_of(torch.__config__.show())})"


set_threads = torch.set_num_threads


def product(a, b, c):
    """The call of C = A B."""
    a, b, c = map(torch.from_numpy, (a, b, c))
    return lambda: torch.matmul(a, b, out=c)


def attention_backward(shape, tensors, scale):
    """The call that returns (dQ, dK, dV) of (Q, K, V, dO) in their type, after its forward. Failure 3 where
    PyTorch has no such mask; RuntimeError, TypeError or AttributeError where it lacks the operator."""
    causal = shape.mask != "no_mask"
    if causal and shape.diagonal != 0:
        raise Failure(3, "where the lengths differ, it has top_left only")
    q, k, v, d_o = map(torch.from_numpy, tensors)
    aten = torch.ops.aten
    o, lse = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, scale=scale)
    backward = aten._scaled_dot_product_flash_attention_for_cpu_backward

    def call():
        return [np.asarray(part) for part in backward(d_o, q, k, v, o, lse, 0.0, causal, scale=scale)]

    return call
