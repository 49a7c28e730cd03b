# fmha_bwd_probe(PLATFORM FAILURE COMMAND...): compiles cmake/probe.hip with COMMAND; a success is remembered.
# FAILURE becomes empty, or the first error and where the others stand.
function(fmha_bwd_probe platform failure)
  set(${failure} "" PARENT_SCOPE)
  if(FMHA_BWD_PROBED_${platform} STREQUAL "${ARGN}")
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/probe)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${ARGN} -c ${PROJECT_SOURCE_DIR}/cmake/probe.hip -o ${folder}/${platform}.o
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(FMHA_BWD_PROBED_${platform} "${ARGN}" CACHE INTERNAL "The command that compiled cmake/probe.hip")
    return()
  endif()
  file(WRITE ${folder}/${platform}.log "${ARGN}\n${output}")
  string(REGEX MATCH "[^\n]*error[^\n]*" first "${output}")
  set(${failure} "cmake/probe.hip does not compile: ${first} (all of it: ${folder}/${platform}.log)" PARENT_SCOPE)
endfunction()
