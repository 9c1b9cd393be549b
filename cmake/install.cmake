# `make install`: program, library, headers and a CMake package, so that `find_package(weir)` works.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS weir_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS weir EXPORT weirTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# A component is an export of its own, so that a program needs the packages only of those that it asks for.
install(TARGETS weir_redis_library EXPORT weirRedisTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS weir_identity_library EXPORT weirIdentityTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
install(EXPORT weirIdentityTargets NAMESPACE weir:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
install(EXPORT weirRedisTargets NAMESPACE weir:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
configure_package_config_file(cmake/weirConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
