# fmha_bwd_amd_sources(TARGET SOURCES...): compiles HIP sources for FMHA_BWD_AMD_ARCHITECTURES and adds the objects to
# TARGET. Custom commands, because CMake's HIP language needs ROCm's own CMake files, which distributions lack.
# A source's COMPILE_OPTIONS are honored.
include(KernelResources)

function(fmha_bwd_amd_sources target)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" configuration)
  separate_arguments(optimization UNIX_COMMAND "${CMAKE_CXX_FLAGS_${configuration}}")
  # g++'s warnings: for it, -Wconversion leaves signedness out. rocRAND says by #warning that it knows no assembly for a
  # newer architecture.
  set(command ${FMHA_BWD_AMD_COMPILER} ${FMHA_BWD_AMD_FLAGS} ${optimization} -I${PROJECT_SOURCE_DIR}
      -DFMHA_BWD_PLATFORM=amd -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wno-\#warnings -Werror)
  list(TRANSFORM FMHA_BWD_AMD_ARCHITECTURES PREPEND --offload-arch= OUTPUT_VARIABLE offload)
  foreach(source IN LISTS ARGN)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/objects/${name}.o)
    cmake_path(GET object PARENT_PATH folder)
    file(MAKE_DIRECTORY ${folder})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(NOT options)
      set(options "")
    endif()
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${command} ${options} ${offload} -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d VERBATIM
      COMMENT "Building AMD object ${name}.o")
    target_sources(${target} PRIVATE ${object})
    foreach(architecture IN LISTS FMHA_BWD_AMD_ARCHITECTURES)
      fmha_bwd_kernel_resources(amd ${architecture} ${source} ${object} ${command} ${options}
                                --offload-arch=${architecture} --cuda-device-only -S
                                -Rpass-analysis=kernel-resource-usage)
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()
