# What `fmha_bwd arch` knows of a GPU platform's kernels: scripts/code_objects.py reads it from the machine code of the
# libraries that are linked, as soon as they are built, into <build>/code_objects/<platform>.inc.
include_guard(GLOBAL)
find_package(Python3 3.10 QUIET COMPONENTS Interpreter)

# fmha_bwd_code_objects(PLATFORM SOURCE "TOOLS" LIBRARIES...): the table of the kernels in LIBRARIES, for SOURCE to
# include. TOOLS are names of cache variables, in the order that the script takes. Without Python or one of the tools
# the table is empty and says why.
function(fmha_bwd_code_objects platform source tools)
  set(table ${PROJECT_BINARY_DIR}/code_objects/${platform}.inc)
  set(missing "")
  set(options "")
  if(NOT Python3_FOUND)
    set(missing "no python3 of 3.10 or later when this program was built")
  endif()
  foreach(tool IN LISTS tools)
    if(${tool})
      list(APPEND options --tool ${${tool}})
    else()
      get_property(name CACHE ${tool} PROPERTY HELPSTRING)
      set(missing "no ${name} when this program was built")
    endif()
  endforeach()
  if(missing)
    message(STATUS "Platform ${platform}: fmha_bwd arch will not know its kernels: ${missing}")
    file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
         "R\"json({\"platform\": \"@platform@\", \"missing\": \"@missing@\", \"kernels\": []})json\",\n")
  else()
    list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE libraries)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/code_objects)
    set(scripts ${PROJECT_SOURCE_DIR}/scripts)
    add_custom_command(
      OUTPUT ${table}
      COMMAND Python3::Interpreter ${scripts}/code_objects.py ${platform} ${options} --raw-string --output ${table}
              ${libraries}
      DEPENDS ${ARGN} ${scripts}/code_objects.py ${scripts}/kernel_resources.py ${scripts}/main_loop.py VERBATIM
      COMMENT "Reading the code objects of ${platform}")
  endif()
  set_property(SOURCE ${source} APPEND PROPERTY OBJECT_DEPENDS ${table})
endfunction()

# fmha_bwd_code_object_tool(VARIABLE COMPILER NAME PACKAGE [NO_DEFAULT_PATH]): the cache variable VARIABLE is the tool of
# that name that stands beside COMPILER, or else on PATH.
function(fmha_bwd_code_object_tool variable compiler name package)
  file(REAL_PATH ${compiler} compiler)
  cmake_path(GET compiler PARENT_PATH folder)
  find_program(${variable} ${name} HINTS ${folder} ${ARGN} DOC "${name} (${package})")
endfunction()
