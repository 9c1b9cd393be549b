# Headers that most files include are compiled once per build folder. Only headers of the system belong here: with a
# header of ours, every change to it would compile every file. A file still includes all that it uses.

option(WEIR_PRECOMPILED "Compile the headers of the system once (GCC only)" ON)
set(WEIR_STD_HEADERS <algorithm> <array> <atomic> <cassert> <charconv> <chrono> <cstring> <deque> <filesystem> <functional>
  <map> <memory> <mutex> <optional> <span> <sstream> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
set(WEIR_ASIO_HEADERS <boost/asio/basic_stream_socket.hpp> <boost/asio/generic/stream_protocol.hpp> <boost/asio/io_context.hpp>
  <boost/asio/posix/stream_descriptor.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp>)

# weir_headers(name HEADERS header… USES target…): compiles the headers with the flags of the targets.
function(weir_headers name)
  cmake_parse_arguments(SET "" "" "HEADERS;USES" ${ARGN})
  if(NOT WEIR_PRECOMPILED OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  # CMake compiles headers only for a target with a source.
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cc)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "")
  endif()
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE ${SET_USES})
  target_precompile_headers(${name} PRIVATE ${SET_HEADERS})
  if(CCACHE)
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER
      "${PROJECT_SOURCE_DIR}/cmake/compile_headers.sh;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

# weir_use_headers(target name): a target compiled with the same flags uses them.
function(weir_use_headers target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
