# The files of the report's page as a C++ source. A script:
#   cmake -DOUTPUT=FILE.cpp -DFOLDER=src/report/page -DSCRIPTS=a.js,b.js -P EmbedPage.cmake
# The scripts are joined in the order given.
cmake_minimum_required(VERSION 3.25)

set(source "// Made from src/report/page/ by cmake/EmbedPage.cmake.\n#include \"src/report/bench/page_sources.h\"\n")
string(APPEND source "\nnamespace fmha_bwd {\n")

# append(NAME FILE...): the constant NAME, the files' texts.
function(append name)
  string(APPEND source "\nconst std::string_view ${name} =")
  foreach(file IN LISTS ARGN)
    file(READ ${FOLDER}/${file} text)
    string(APPEND source "\n    R\"embedded(${text})embedded\"")
  endforeach()
  string(APPEND source ";\n")
  set(source "${source}" PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" scripts "${SCRIPTS}")
append(kPageTemplate page.html)
append(kPageStyle page.css)
append(kPageScript ${scripts})
file(WRITE ${OUTPUT} "${source}\n}  // namespace fmha_bwd\n")
