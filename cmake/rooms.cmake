# A room is a folder of src/ with one purpose and one target, weir_<name>. Its sources are the .cc files in it that
# are not tests; its tests are the *_test.cc files beside them, built into one program, <name>_tests.

add_library(weir_flags INTERFACE)
target_include_directories(weir_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(weir_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-sign-conversion)
# GCC 12 sees overlapping copies inside std::string's operator+ that are not there (GCC bug 105329).
target_compile_options(weir_flags INTERFACE $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)
# Assertions stay on in every build: a broken invariant must stop the process, not corrupt a decision.
target_compile_options(weir_flags INTERFACE -UNDEBUG)
if(WEIR_SANITIZE)
  # A finding ends the program: one that is only printed fails no test.
  target_compile_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()

# weir_room(name DIR folder [USES target…])
function(weir_room name)
  cmake_parse_arguments(ROOM "" "DIR" "USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${ROOM_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(weir_${name} OBJECT ${sources})
  target_link_libraries(weir_${name} PUBLIC weir_flags ${ROOM_USES})
endfunction()

# weir_test(name SOURCES … USES target…): one gtest program; every object library it needs is named in USES.
function(weir_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;USES;LABELS" ${ARGN})
  if(NOT WEIR_TESTS)
    return()
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${TEST_USES} weir_flags GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300 LABELS "${TEST_LABELS}")
endfunction()

# weir_room_tests(name DIR folder USES target…): the *_test.cc files of a room.
function(weir_room_tests name)
  cmake_parse_arguments(ROOM "" "DIR" "USES" ${ARGN})
  file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${ROOM_DIR}/*_test.cc)
  if(tests)
    weir_test(${name}_tests SOURCES ${tests} USES ${ROOM_USES})
  endif()
endfunction()
