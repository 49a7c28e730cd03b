# nvcc, and hipRAND's device header, which is a thin one over cuRAND's.
include(Probe)

# fmha_bwd_find_nvidia(ABSENCE ARCHITECTURES...): sets FMHA_BWD_NVIDIA_ARCHITECTURES, _COMPILER_NAME and _FLAGS, and
# CMAKE_CUDA_COMPILER; or ABSENCE, why it cannot. Without architectures: sm_80 sm_90a.
function(fmha_bwd_find_nvidia absence)
  set(${absence} "" PARENT_SCOPE)
  set(architectures ${ARGN})
  if(NOT architectures)
    set(architectures sm_80 sm_90a)
  endif()

  find_program(FMHA_BWD_NVCC nvcc HINTS $ENV{CUDACXX} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin
               DOC "NVIDIA's compiler")
  if(NOT FMHA_BWD_NVCC)
    set(${absence} "no nvcc; install the CUDA toolkit 12.1 or later and put nvcc on PATH" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${FMHA_BWD_NVCC} --version OUTPUT_VARIABLE version)
  string(REGEX MATCH "release ([0-9.]+)" version "${version}")
  set(version "${CMAKE_MATCH_1}")
  if(version VERSION_LESS 12.1)
    set(${absence} "${FMHA_BWD_NVCC} is not of CUDA 12.1 or later, but '${version}'; install the CUDA toolkit" PARENT_SCOPE)
    return()
  endif()

  execute_process(COMMAND ${FMHA_BWD_NVCC} --list-gpu-code OUTPUT_VARIABLE known)
  string(REGEX MATCHALL "sm_[0-9]+" known "${known}")
  foreach(architecture IN LISTS architectures)
    string(REGEX REPLACE "[af]$" "" base "${architecture}")
    if(NOT base IN_LIST known)
      list(JOIN known " " known)
      message(FATAL_ERROR "FMHA_BWD_PLATFORMS: nvcc ${version} has no architecture '${architecture}'; it has ${known}, "
                          "from sm_90 on also with an a for that card's own instructions")
    endif()
  endforeach()

  find_path(FMHA_BWD_HIPRAND_INCLUDE_DIR hiprand/hiprand_kernel.h HINTS ENV ROCM_PATH PATHS /opt/rocm
            PATH_SUFFIXES include DOC "Where hiprand/hiprand_kernel.h is")
  if(NOT FMHA_BWD_HIPRAND_INCLUDE_DIR)
    set(${absence} "no hiprand/hiprand_kernel.h; install libhiprand-dev (scripts/setup.sh nvidia does)" PARENT_SCOPE)
    return()
  endif()

  # hipRAND asks for both names of the platform. Its folder is one of the compiler's own on Debian and Ubuntu, and must
  # not come before those then.
  set(flags --expt-relaxed-constexpr -D__HIP_PLATFORM_NVIDIA__ -D__HIP_PLATFORM_NVCC__)
  if(NOT FMHA_BWD_HIPRAND_INCLUDE_DIR STREQUAL "/usr/include")
    list(APPEND flags -isystem=${FMHA_BWD_HIPRAND_INCLUDE_DIR})
  endif()
  list(GET architectures 0 first)
  string(REPLACE sm_ compute_ virtual ${first})
  fmha_bwd_probe(nvidia failure ${FMHA_BWD_NVCC} -ccbin=${CMAKE_CXX_COMPILER} -x cu -std=c++20
                 -gencode=arch=${virtual},code=${first} ${flags} -I${PROJECT_SOURCE_DIR}/kernels/platform/nvidia)
  if(failure)
    set(${absence} "${failure}" PARENT_SCOPE)
    return()
  endif()

  set(FMHA_BWD_NVIDIA_ARCHITECTURES ${architectures} PARENT_SCOPE)
  set(FMHA_BWD_NVIDIA_COMPILER_NAME "nvcc ${version}" PARENT_SCOPE)
  set(FMHA_BWD_NVIDIA_FLAGS ${flags} PARENT_SCOPE)
  set(CMAKE_CUDA_COMPILER ${FMHA_BWD_NVCC} PARENT_SCOPE)
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER} PARENT_SCOPE)
endfunction()

# fmha_bwd_cmake_cuda_architectures(RESULT ARCHITECTURES...): machine code for each, and PTX of the newest that is not
# for one card alone, so that later cards run it too.
function(fmha_bwd_cmake_cuda_architectures result)
  list(TRANSFORM ARGN REPLACE "^sm_" "" OUTPUT_VARIABLE numbers)
  set(portable ${numbers})
  list(FILTER portable INCLUDE REGEX "^[0-9]+$")
  list(SORT portable COMPARE NATURAL ORDER DESCENDING)
  list(TRANSFORM numbers APPEND -real)
  if(portable)
    list(GET portable 0 newest)
    list(APPEND numbers ${newest}-virtual)
  endif()
  set(${result} ${numbers} PARENT_SCOPE)
endfunction()
