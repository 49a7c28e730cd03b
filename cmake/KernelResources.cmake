# What the compilers say of each kernel's registers, spills and shared memory, in
# <build>/resources/<platform>/<architecture>/<source>.txt. scripts/kernel_resources.py prints it as a table.
# The target compiles every kernel source once more for each architecture, so it is not part of all;
# kernel_resources_<family> does those of one family.
include_guard(GLOBAL)
add_custom_target(kernel_resources)

# fmha_bwd_kernel_resources(PLATFORM ARCHITECTURE SOURCE BUILT COMMAND...): COMMAND compiles device code and reports on
# stderr; it runs whenever BUILT, a file or target that SOURCE is compiled into, is newer.
function(fmha_bwd_kernel_resources platform architecture source built)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
  set(report ${PROJECT_BINARY_DIR}/resources/${platform}/${architecture}/${name}.txt)
  cmake_path(GET report PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${report}
    COMMAND ${ARGN} ${source} -o ${report}.code 2> ${report}
    DEPENDS ${built} VERBATIM
    COMMENT "Kernel resources of ${name} on ${architecture}")
  string(MAKE_C_IDENTIFIER kernel_resources_${architecture}_${name} target)
  add_custom_target(${target} DEPENDS ${report})
  add_dependencies(kernel_resources ${target})
  if(name MATCHES "^kernels/([^/]+)/")
    set(family_target kernel_resources_${CMAKE_MATCH_1})
    if(NOT TARGET ${family_target})
      add_custom_target(${family_target})
    endif()
    add_dependencies(${family_target} ${target})
  endif()
endfunction()
