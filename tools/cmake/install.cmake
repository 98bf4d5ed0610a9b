# What an application may include, and what `cmake --install` puts into a prefix.
#
#   include/holdfast/reentrant_lock.h      the public headers of lib/lock
#   include/holdfast/{redis,net,runtime,tls}/  those of the ports and of the client
#   lib/libholdfast.a, lib/cmake/holdfast/ find_package(holdfast)
#   lib/pkgconfig/holdfast.pc              pkg-config --static, wherever the prefix lies
#   share/doc/holdfast/LICENSE
#
# Only what is named here is public. In the tree <holdfast/X.h> is a line that includes the header in its room; installed,
# it is that header with the includes of other public ones renamed. A public header includes no private one: this function
# refuses it when the tree is configured.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(HOLDFAST_PUBLIC_HEADERS
    lib/lock/api/any_duration.h
    lib/lock/api/async_lock.h
    lib/lock/api/errors.h
    lib/lock/api/guard.h
    lib/lock/api/guarded.h
    lib/lock/api/lock.h
    lib/lock/api/locks.h
    lib/lock/api/observer.h
    lib/lock/api/survivor.h
    lib/lock/api/owner.h
    lib/lock/api/registry.h
    lib/lock/fair/fair_lock.h
    lib/lock/latch/count_down_latch.h
    lib/lock/multi/multi_lock.h
    lib/lock/observers/lock_log.h
    lib/lock/observers/lock_metrics.h
    lib/lock/observers/observers.h
    lib/lock/read_write/read_write_lock.h
    lib/lock/redisson/redisson_lock.h
    lib/lock/redlock/redlock.h
    lib/lock/reentrant/reentrant_lock.h
    lib/lock/semaphore/permit_semaphore.h
    lib/lock/semaphore/semaphore.h
    lib/net/network.h
    lib/net/socket_network.h
    lib/redis/client.h
    lib/redis/command.h
    lib/redis/error.h
    lib/redis/reply.h
    lib/redis/script.h
    lib/redis/threaded_client.h
    lib/redis/url.h
    lib/runtime/runtime.h
    lib/runtime/thread_runtime.h
    lib/runtime/time.h
    lib/tls/tls_network.h
    lib/tls/tls_options.h)

# lib/lock/fair/fair_lock.h -> holdfast/fair_lock.h, lib/redis/url.h -> holdfast/redis/url.h
function(holdfast_public_name header result)
  string(REGEX REPLACE "^lib/lock/.*/" "holdfast/" name ${header})
  string(REGEX REPLACE "^lib/" "holdfast/" name ${name})
  set(${result} ${name} PARENT_SCOPE)
endfunction()

function(holdfast_install target)
  foreach(header ${HOLDFAST_PUBLIC_HEADERS})
    holdfast_public_name(${header} name)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/${name} @ONLY
         CONTENT "// Generated: ${header}, as applications include it.\n#pragma once\n\n#include \"${header}\"\n")

    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(READ ${PROJECT_SOURCE_DIR}/${header} text)
    string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
    foreach(include ${includes})
      string(REGEX REPLACE "#include \"(.*)\"" "\\1" included ${include})
      if(NOT included IN_LIST HOLDFAST_PUBLIC_HEADERS)
        message(FATAL_ERROR "${header} is public and includes ${included}, which is not (tools/cmake/install.cmake)")
      endif()
      holdfast_public_name(${included} included_name)
      string(REPLACE "${include}" "#include \"${included_name}\"" text "${text}")
    endforeach()
    set(installed ${PROJECT_BINARY_DIR}/install_include/${name})
    file(GENERATE OUTPUT ${installed} CONTENT "${text}")
    get_filename_component(folder ${name} DIRECTORY)
    install(FILES ${installed} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT holdfast)
  endforeach()
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

  install(TARGETS ${target} EXPORT holdfastTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT holdfast)
  set(config ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
  install(EXPORT holdfastTargets NAMESPACE holdfast:: DESTINATION ${config} COMPONENT holdfast)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/holdfastConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/holdfastConfig.cmake INSTALL_DESTINATION ${config})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/holdfastConfig.cmake ${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake
                ${PROJECT_SOURCE_DIR}/tools/cmake/hiredis.cmake DESTINATION ${config} COMPONENT holdfast)
  file(RELATIVE_PATH HOLDFAST_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/holdfast.pc.in ${PROJECT_BINARY_DIR}/holdfast.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT holdfast)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT holdfast)
endfunction()
