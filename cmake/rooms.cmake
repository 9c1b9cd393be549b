# A room is a folder of src/ with one purpose and one target, weir_<name>. Its sources are the .cc files below it that
# are not tests; its tests are the *_test.cc files beside them, built into one program, <name>_tests.
#
# The arrows between rooms are the SEES lists in src/CMakeLists.txt, stated nowhere else. A room is compiled with an
# include folder of its own that holds links to the rooms it sees, so an include of any other room does not compile.
# tests/tidy.py reads the same lists and also refuses an include that only compiles because of another room's list.

add_library(weir_flags INTERFACE)
target_include_directories(weir_flags INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_compile_options(weir_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-sign-conversion)
# GCC 12 sees overlapping and overlong copies inside std::string's operator+ that are not there (GCC bug 105329). With
# precompiled headers it reports the latter although they are in headers of the system.
target_compile_options(weir_flags INTERFACE
  $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict$<SEMICOLON>-Wno-stringop-overflow$<SEMICOLON>-Wno-stringop-overread$<SEMICOLON>-Wno-array-bounds>)
# Position-independent, so that the library can become part of a shared one. In such code a public function can be
# replaced at load time and is therefore not inlined, unless the compiler is told that no one does that. Tests and
# programs have the same flags, so that they can use the same precompiled headers.
target_compile_options(weir_flags INTERFACE -fPIC -fno-semantic-interposition -pthread)
# ccache must see which precompiled headers a file used.
target_compile_options(weir_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
# Assertions stay on in every build: a broken invariant must stop the process, not corrupt a decision.
target_compile_options(weir_flags INTERFACE -UNDEBUG)
if(WEIR_SANITIZE)
  # A finding ends the program: one that is only printed fails no test.
  target_compile_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()

# Tests are compiled with -O1: what they test is compiled as in the program, and optimizing the tests themselves takes
# longer than it saves. The same for the command line, where most of the code is CLI11's.
add_library(weir_less_optimized INTERFACE)
target_compile_options(weir_less_optimized INTERFACE $<$<CONFIG:Release>:-O1>)

weir_headers(weir_std_headers HEADERS ${WEIR_STD_HEADERS} USES weir_flags)
weir_headers(weir_asio_headers HEADERS ${WEIR_STD_HEADERS} ${WEIR_ASIO_HEADERS} USES weir_flags Boost::headers)
weir_headers(weir_cli_headers HEADERS ${WEIR_STD_HEADERS} <CLI/CLI.hpp> USES weir_flags weir_less_optimized CLI11::CLI11)
if(WEIR_TESTS)
  weir_headers(weir_test_headers HEADERS ${WEIR_STD_HEADERS} <gtest/gtest.h> <gmock/gmock.h>
    USES weir_flags weir_less_optimized GTest::gmock)
endif()

# weir_together(target root source…): adds the sources to the target, up to twelve of them as one, which takes a third of the
# time: most of what the compiler reads is headers. Names in anonymous namespaces must therefore differ within a target.
# Not CMake's own unity builds: those name files by absolute paths, so that another clone finds nothing in the compiler
# cache. `root` is an include folder of the target that the sources are below.
function(weir_together target root)
  if(NOT WEIR_TOGETHER)
    target_sources(${target} PRIVATE ${ARGN})
    return()
  endif()
  # GCC takes what is not in the file named on the command line for a header, in which this would be a mistake.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set(number 0)
  set(sources ${ARGN})
  while(sources)
    list(SUBLIST sources 0 12 some)
    list(REMOVE_ITEM sources ${some})
    set(text "")
    foreach(source ${some})
      file(RELATIVE_PATH name ${root} ${source})
      string(APPEND text "#include \"${name}\"\n")
    endforeach()
    set(file ${CMAKE_BINARY_DIR}/together/${target}_${number}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    target_sources(${target} PRIVATE ${file})
    math(EXPR number "${number} + 1")
  endwhile()
endfunction()

# What tests and benchmarks are compiled with: they see every room.
add_library(weir_all_rooms INTERFACE)
target_link_libraries(weir_all_rooms INTERFACE weir_flags)
target_include_directories(weir_all_rooms INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)

# weir_room(name DIR folder [SEES room…] [USES target…] [HEADERS precompiled] [APART]): a room sees itself, include/weir,
# the rooms named, and what those see. APART: each file is compiled by itself. `SEES everything` is for the rooms that
# put the program together.
function(weir_room name)
  cmake_parse_arguments(ROOM "APART" "DIR;HEADERS" "SEES;USES" ${ARGN})
  if(NOT ROOM_HEADERS)
    set(ROOM_HEADERS weir_std_headers)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${ROOM_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(weir_${name} OBJECT)
  if(ROOM_APART)
    target_sources(weir_${name} PRIVATE ${sources})
  else()
    weir_together(weir_${name} ${PROJECT_SOURCE_DIR}/src ${sources})
  endif()
  target_link_libraries(weir_${name} PUBLIC weir_flags ${ROOM_USES})
  weir_use_headers(weir_${name} ${ROOM_HEADERS})
  set_property(GLOBAL PROPERTY WEIR_ROOM_DIR_${name} ${ROOM_DIR})
  if("${ROOM_SEES}" STREQUAL "everything")
    target_include_directories(weir_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    return()
  endif()
  set(seen ${name} ${ROOM_SEES})
  foreach(room ${ROOM_SEES})
    get_property(further GLOBAL PROPERTY WEIR_ROOM_SEES_${room})
    list(APPEND seen ${further})
  endforeach()
  list(REMOVE_DUPLICATES seen)
  set_property(GLOBAL PROPERTY WEIR_ROOM_SEES_${name} ${seen})
  set(links ${CMAKE_BINARY_DIR}/rooms/${name})
  file(REMOVE_RECURSE ${links})
  foreach(room ${seen})
    get_property(folder GLOBAL PROPERTY WEIR_ROOM_DIR_${room})
    if(NOT folder)
      message(FATAL_ERROR "room ${name} sees ${room}, which is not declared above it")
    endif()
    get_filename_component(parent ${links}/${folder} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${folder} ${links}/${folder} SYMBOLIC)
  endforeach()
  target_include_directories(weir_${name} PRIVATE ${links})
endfunction()

# weir_test_program(name source…): a program from test files, up to eight of them compiled as one (join_tests.py). Files
# with definitions of their own, or with more than one anonymous namespace, are compiled by themselves.
function(weir_test_program name)
  add_executable(${name})
  set(rest "")
  foreach(source ${ARGN})
    get_filename_component(path ${source} ABSOLUTE)
    get_source_file_property(definitions ${path} COMPILE_DEFINITIONS)
    file(STRINGS ${path} anonymous REGEX "^(namespace {|}  // namespace)$")
    list(LENGTH anonymous lines)
    if(definitions OR NOT WEIR_TOGETHER OR NOT source MATCHES "_test\\.cc$" OR NOT lines EQUAL 2)
      target_sources(${name} PRIVATE ${path})
    else()
      list(APPEND rest ${path})
    endif()
  endforeach()
  set(number 0)
  while(rest)
    list(SUBLIST rest 0 8 some)
    list(REMOVE_ITEM rest ${some})
    set(file ${CMAKE_BINARY_DIR}/together/${name}_${number}.cc)
    add_custom_command(OUTPUT ${file}
      COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/cmake/join_tests.py ${file} ${PROJECT_SOURCE_DIR} ${some}
      DEPENDS ${some} ${PROJECT_SOURCE_DIR}/cmake/join_tests.py COMMENT "Joining tests of ${name}")
    target_sources(${name} PRIVATE ${file})
    math(EXPR number "${number} + 1")
  endwhile()
endfunction()

# weir_test(name SOURCES … USES target…): one gtest program; every object library it needs is named in USES.
function(weir_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;USES;LABELS" ${ARGN})
  if(NOT WEIR_TESTS)
    return()
  endif()
  weir_test_program(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_USES} weir_all_rooms weir_less_optimized GTest::gmock GTest::gtest_main)
  weir_use_headers(${name} weir_test_headers)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300 LABELS "${TEST_LABELS}")
endfunction()

# weir_room_tests(name DIR folder USES target…): the *_test.cc files of a room.
function(weir_room_tests name)
  cmake_parse_arguments(ROOM "" "DIR" "USES" ${ARGN})
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${ROOM_DIR}/*_test.cc)
  if(tests)
    weir_test(${name}_tests SOURCES ${tests} USES ${ROOM_USES})
  endif()
endfunction()
