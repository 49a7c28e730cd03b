# What every target of the project is compiled with.
add_library(fmha_bwd_options INTERFACE)
target_compile_features(fmha_bwd_options INTERFACE cxx_std_20)
target_include_directories(fmha_bwd_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(fmha_bwd_options INTERFACE
  # random.h needs it: the inputs have the same bits everywhere only without contraction.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Werror>
  # GCC 12 warns of overlaps in "text" + std::string that cannot happen (its bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
  # It is not part of GCC's -Wconversion.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-sign-conversion>)

if(FMHA_BWD_FUZZ)
  if(FMHA_BWD_SANITIZER OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "FMHA_BWD_FUZZ needs clang, and no FMHA_BWD_SANITIZER beside it")
  endif()
  set(FMHA_BWD_SANITIZER_FLAGS -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all)
elseif(FMHA_BWD_SANITIZER STREQUAL "address")
  set(FMHA_BWD_SANITIZER_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(FMHA_BWD_SANITIZER STREQUAL "thread")
  set(FMHA_BWD_SANITIZER_FLAGS -fsanitize=thread)
elseif(FMHA_BWD_SANITIZER)
  message(FATAL_ERROR "FMHA_BWD_SANITIZER: '${FMHA_BWD_SANITIZER}' is not empty, address or thread")
endif()
if(FMHA_BWD_SANITIZER_FLAGS)
  # Not on fmha_bwd_options: the emulator's kernel sources bring instrumentation of their own.
  add_library(fmha_bwd_sanitizer INTERFACE)
  target_compile_options(fmha_bwd_sanitizer INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${FMHA_BWD_SANITIZER_FLAGS}>)
  target_link_options(fmha_bwd_sanitizer INTERFACE ${FMHA_BWD_SANITIZER_FLAGS})
else()
  add_library(fmha_bwd_sanitizer INTERFACE)
endif()
if(FMHA_BWD_TEST_SLOWDOWN)
  target_compile_definitions(fmha_bwd_options INTERFACE FMHA_BWD_TEST_SLOWDOWN=${FMHA_BWD_TEST_SLOWDOWN})
endif()
