# Builds the web console and writes it as C++:
#   cmake -DSOURCE=<console folder> -DWORK=<folder for packages> -DOUTPUT=<file.cc> -P console.cmake
# Packages are installed with `npm ci` when the lock file has changed since the last time, never otherwise. Where there
# is no Node 18 with npm, or npm cannot reach its registry, the program is built without a console, which says so when
# it starts and at /console; `make console` tries again. A mistake in the console's own sources fails the build.

function(build_without reason)
  message("The console is left out: ${reason}. `make console` tries again.")
  file(WRITE ${OUTPUT} "// Written by cmake/console.cmake: ${reason}.
#include \"console/console_files.h\"

namespace weir::console {

std::span<const ConsoleFile> console_files() { return {}; }

}  // namespace weir::console
")
endfunction()

find_program(NODE NAMES node nodejs)
find_program(NPM npm)
if(NOT NODE OR NOT NPM)
  build_without("node and npm are not installed")
  return()
endif()
execute_process(COMMAND ${NODE} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "^v" "" version "${version}")
if(version VERSION_LESS 18)
  build_without("Node 18 is needed, ${version} is installed")
  return()
endif()

file(SHA256 ${SOURCE}/package-lock.json lock)
set(stamp ${WORK}/installed)
set(installed "")
if(EXISTS ${stamp})
  file(READ ${stamp} installed)
endif()
if(NOT installed STREQUAL lock)
  file(MAKE_DIRECTORY ${WORK})
  file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json DESTINATION ${WORK})
  execute_process(COMMAND ${NPM} ci --omit=dev --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1
      --fetch-timeout=20000
    WORKING_DIRECTORY ${WORK} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said TIMEOUT 180)
  if(failed)
    file(WRITE ${WORK}/npm.log "${said}")
    build_without("npm could not install its packages, see ${WORK}/npm.log")
    return()
  endif()
  file(WRITE ${stamp} ${lock})
endif()
execute_process(COMMAND ${NODE} ${SOURCE}/build.mjs --modules ${WORK}/node_modules --embed ${OUTPUT} COMMAND_ERROR_IS_FATAL ANY)
