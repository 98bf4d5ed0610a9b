# What `cmake --install` puts into a prefix, and the short headers of both trees.
#
#   include/holdfast/reentrant_lock.h              short header: a lock, Guard, and what connects it to a Redis
#   include/holdfast/{runtime,net,redis,lock,historic}/*.h   the headers of lib/, as they are
#   lib/libholdfast.a, lib/cmake/holdfast/         find_package(holdfast)
#
# The short headers are one for each lib/lock/*_lock.h and for the others named here; a new lock needs no line.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(holdfast_install target)
  file(GLOB locks CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR}/lib/lock/*_lock.h)
  list(FILTER locks EXCLUDE REGEX "/wire_lock\\.h$")  # what others are built of
  foreach(name async_lock count_down_latch errors guard guarded lock locks observer permit_semaphore redlock registry semaphore)
    if(EXISTS ${PROJECT_SOURCE_DIR}/lib/lock/${name}.h)
      list(APPEND locks lock/${name}.h)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES locks)
  set(others redis/client.h redis/threaded_client.h redis/url.h runtime/thread_runtime.h net/socket_network.h)
  set(here ${PROJECT_BINARY_DIR}/include/holdfast)
  set(there ${PROJECT_BINARY_DIR}/install_include)
  foreach(header ${locks} ${others})
    get_filename_component(name ${header} NAME)
    foreach(tree here there)
      set(prefix "lib/")
      if("${tree}" STREQUAL "there")
        set(prefix "")
      endif()
      set(body "// Generated: short for ${header}.\n#pragma once\n\n#include \"${prefix}${header}\"\n")
      if(header IN_LIST locks)
        string(APPEND body "#include \"${prefix}lock/guard.h\"\n#include \"${prefix}redis/threaded_client.h\"\n")
      endif()
      file(CONFIGURE OUTPUT ${${tree}}/${name} CONTENT "@body@" @ONLY)
    endforeach()
    install(FILES ${there}/${name} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/holdfast COMPONENT holdfast)
  endforeach()
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

  foreach(room runtime net redis lock historic)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/holdfast COMPONENT holdfast
            FILES_MATCHING PATTERN "*.h" PATTERN testing EXCLUDE PATTERN scripts EXCLUDE)
  endforeach()
  install(TARGETS ${target} EXPORT holdfastTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT holdfast)
  set(config ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
  install(EXPORT holdfastTargets NAMESPACE holdfast:: DESTINATION ${config} COMPONENT holdfast)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/holdfastConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/holdfastConfig.cmake INSTALL_DESTINATION ${config})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/holdfastConfig.cmake ${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake
                ${PROJECT_SOURCE_DIR}/tools/cmake/hiredis.cmake DESTINATION ${config} COMPONENT holdfast)
endfunction()
