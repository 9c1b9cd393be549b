# Everything comes from Debian 12 packages; scripts/install-deps.sh names them.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(simdjson REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(PQ REQUIRED IMPORTED_TARGET libpq)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
find_package(ZLIB REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
find_package(CLI11 REQUIRED)
if(WEIR_TESTS)
  find_package(GTest QUIET)
  find_package(rapidcheck QUIET)
  if(NOT GTest_FOUND OR NOT rapidcheck_FOUND)
    message(FATAL_ERROR "The tests need more packages: run scripts/install-deps.sh test, or configure with -DWEIR_TESTS=OFF")
  endif()
  include(GoogleTest)
  find_program(PYTHON3 python3 REQUIRED PATHS /usr/bin NO_DEFAULT_PATH)
endif()
find_program(CCACHE ccache)
if(CCACHE)
  # Paths below the source folder count as relative, so that another clone of the same sources finds what is cached. The
  # sloppiness is what ccache asks for with precompiled headers; for the checksum see compile_headers.sh. The language of
  # messages is part of what ccache compares, so it is the same for everyone.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env --unset=LC_ALL --unset=LC_CTYPE --unset=LC_MESSAGES LANG=C.UTF-8
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${CCACHE})
endif()
