// HIP on AMD: the system's half, after what hip_runtime.h here adds.
#pragma once

#include <hip/hip_runtime.h>

#include_next <hip/hip_fp16.h>
