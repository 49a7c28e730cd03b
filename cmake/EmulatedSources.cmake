# fmha_bwd_emulated_sources(TARGET SOURCES...): compiles HIP sources for the emulator. TARGET has no others: what is set
# here holds for all of it.
function(fmha_bwd_emulated_sources target)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  target_sources(${target} PRIVATE ${ARGN})
  target_include_directories(${target} BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/kernels/platform/emulator)
  target_compile_definitions(${target} PRIVATE FMHA_BWD_PLATFORM=emulator)
  target_compile_options(${target} PRIVATE
    -O3
    # A float4 is accessed as a whole, as on a GPU, and not by its members.
    $<$<CXX_COMPILER_ID:GNU>:-fno-tree-sra>
    # Every access of a kernel is reported to instrumentation.cpp, which is not ThreadSanitizer.
    -fsanitize=thread
    # Its reports name lines of the sources.
    -g1 -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -fdebug-prefix-map=${PROJECT_BINARY_DIR}=.)
  target_link_libraries(${target} PRIVATE fmha_bwd_options fmha_bwd_emulator)
endfunction()
