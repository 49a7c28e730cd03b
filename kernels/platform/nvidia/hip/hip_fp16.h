// HIP on NVIDIA: __half is CUDA's.
#pragma once

#include <cuda_fp16.h>
