# What `fmha_bwd arch` knows of a GPU platform's kernels: scripts/code_objects.py reads it from the machine code of each
# library that is linked, as soon as that is built, into <build>/code_objects/<library>.inc; code_objects.inc there
# includes all of them.
include_guard(GLOBAL)
find_package(Python3 3.10 QUIET COMPONENTS Interpreter)
set(FMHA_BWD_CODE_OBJECTS ${PROJECT_BINARY_DIR}/code_objects)

# fmha_bwd_code_object_tool(VARIABLE COMPILER NAME SOURCE [NO_DEFAULT_PATH]): the cache variable VARIABLE is the tool of
# that name that stands beside COMPILER, or else on PATH. SOURCE says who has it.
function(fmha_bwd_code_object_tool variable compiler name source)
  file(REAL_PATH ${compiler} compiler)
  cmake_path(GET compiler PARENT_PATH folder)
  find_program(${variable} ${name} HINTS ${folder} ${ARGN} DOC "${name} (${source} has it)")
endfunction()

# fmha_bwd_code_objects(TARGET PLATFORM "TOOLS" LIBRARIES...): a table of the kernels in each of LIBRARIES, for
# resources.cpp of TARGET, which is of the same folder. TOOLS are variables of fmha_bwd_code_object_tool in the order
# that the script takes. Without Python or one of the tools the tables are empty and say why.
function(fmha_bwd_code_objects target platform tools)
  set(missing "")
  set(options "")
  if(NOT Python3_FOUND)
    set(missing "no python3 of 3.10 or later when this program was built")
  endif()
  foreach(tool IN LISTS tools)
    list(APPEND options --tool ${${tool}})
    if(NOT ${tool})
      get_property(name CACHE ${tool} PROPERTY HELPSTRING)
      set(missing "no ${name} when this program was built")
    endif()
  endforeach()
  if(missing)
    message(STATUS "Platform ${platform}: fmha_bwd arch will not know its kernels: ${missing}")
  endif()

  set(scripts ${PROJECT_SOURCE_DIR}/scripts)
  foreach(library IN LISTS ARGN)
    set(table ${FMHA_BWD_CODE_OBJECTS}/${library}.inc)
    if(missing)
      file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
           "R\"json({\"platform\": \"@platform@\", \"missing\": \"@missing@\", \"kernels\": []})json\",\n")
    else()
      add_custom_command(
        OUTPUT ${table}
        COMMAND Python3::Interpreter ${scripts}/code_objects.py ${platform} ${options} --raw-string --output ${table}
                $<TARGET_FILE:${library}>
        DEPENDS ${library} ${scripts}/code_objects.py ${scripts}/kernel_resources.py ${scripts}/main_loop.py VERBATIM
        COMMENT "Reading the code objects of ${library}")
    endif()
    set_property(SOURCE resources.cpp APPEND PROPERTY OBJECT_DEPENDS ${table})
    set_property(TARGET ${target} APPEND_STRING PROPERTY FMHA_BWD_CODE_OBJECTS "#include \"${library}.inc\"\n")
  endforeach()
endfunction()

# fmha_bwd_include_code_objects(TARGET): writes code_objects.inc; after all of the above.
function(fmha_bwd_include_code_objects target)
  get_property(includes TARGET ${target} PROPERTY FMHA_BWD_CODE_OBJECTS)
  file(CONFIGURE OUTPUT ${FMHA_BWD_CODE_OBJECTS}/code_objects.inc CONTENT "${includes}" @ONLY)
  target_include_directories(${target} PRIVATE ${FMHA_BWD_CODE_OBJECTS})
endfunction()
