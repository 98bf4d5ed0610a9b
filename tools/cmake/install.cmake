# What an application may include, and what `cmake --install` puts into a prefix.
#
#   include/holdfast/reentrant_lock.h      the public headers of lib/lock
#   include/holdfast/{redis,net,runtime,tls}/  those of the ports and of the client
#   lib/libholdfast.a                      and with BUILD_SHARED_LIBS=ON lib/libholdfast.so
#   lib/cmake/holdfast/                    find_package(holdfast): holdfast::holdfast is the shared library where there is one;
#                                          holdfast::static is always the other one
#   lib/pkgconfig/holdfast.pc              finds its prefix by its own place
#   share/doc/holdfast/LICENSE
#
# and, with HOLDFAST_BUILD_ASYNC, the component async:
#
#   include/holdfast/async/                its headers; asio.h includes Boost.Asio
#   lib/libholdfast_async.a                find_package(holdfast COMPONENTS async), which needs Boost.Context and holdfast::static
#
# In components: `runtime` is what a program needs that is linked with the shared library, `development` the rest. `tools` is
# the command with its manual, completions and scenarios, which HOLDFAST_INSTALL_COMMAND installs, too.
#
# Only what is named here is public. In the tree <holdfast/X.h> is a line that includes the header in its room; installed,
# it is that header with the includes of other public ones renamed. A public header includes no private one: this function
# refuses it when the tree is configured.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What the library stands on: the name in pkg-config, then that of Debian's package. The targets are in CMakeLists.txt
# (HOLDFAST_LINKS), how they are found by who links libholdfast.a in holdfastConfig.cmake.in.
set(HOLDFAST_NEEDS
    hiredis libhiredis-dev
    openssl libssl-dev)

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
    lib/redis/command_network.h
    lib/redis/error.h
    lib/redis/hiredis_connections.h
    lib/redis/reply.h
    lib/redis/script.h
    lib/redis/threaded_client.h
    lib/redis/url.h
    lib/runtime/runtime.h
    lib/runtime/thread_runtime.h
    lib/runtime/time.h
    lib/tls/tls_network.h
    lib/tls/tls_options.h)
set(HOLDFAST_ASYNC_HEADERS
    lib/async/asio.h
    lib/async/awaiter.h
    lib/async/call.h
    lib/async/executor.h
    lib/async/hold.h
    lib/async/host.h
    lib/async/lock.h
    lib/async/loop.h
    lib/async/loop_client.h
    lib/async/operation.h)

# lib/lock/fair/fair_lock.h -> holdfast/fair_lock.h, lib/redis/url.h -> holdfast/redis/url.h
function(holdfast_public_name header result)
  string(REGEX REPLACE "^lib/lock/.*/" "holdfast/" name ${header})
  string(REGEX REPLACE "^lib/" "holdfast/" name ${name})
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# Generates headers of `target`: build/include for who builds in the tree, build/install_include for a prefix.
function(holdfast_headers target)
  foreach(header ${ARGN})
    holdfast_public_name(${header} name)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/${name} @ONLY
         CONTENT "// Generated: ${header}, as applications include it.\n#pragma once\n\n#include \"${header}\"\n")

    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(READ ${PROJECT_SOURCE_DIR}/${header} text)
    string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
    foreach(include ${includes})
      string(REGEX REPLACE "#include \"(.*)\"" "\\1" included ${include})
      if(NOT included IN_LIST HOLDFAST_PUBLIC_HEADERS AND NOT included IN_LIST ARGN)
        message(FATAL_ERROR "${header} is public and includes ${included}, which is not (tools/cmake/install.cmake)")
      endif()
      holdfast_public_name(${included} included_name)
      string(REPLACE "${include}" "#include \"${included_name}\"" text "${text}")
    endforeach()
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/install_include/${name} CONTENT "${text}")
  endforeach()
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# The shared library of the objects of `target`: exports what lib/holdfast.map names, which is what the public headers
# declare (tools/package/exports.py writes it). The harness and the tests look into the library and link the archive.
function(holdfast_shared_library target)
  set(map ${PROJECT_SOURCE_DIR}/lib/holdfast.map)
  file(STRINGS ${map} node REGEX "^HOLDFAST_")
  if(NOT node STREQUAL "HOLDFAST_${HOLDFAST_ABI} {")
    message(FATAL_ERROR "lib/holdfast.map is of another HOLDFAST_ABI than ${HOLDFAST_ABI}: tools/package/exports.py --write")
  endif()
  add_library(${target}_shared SHARED $<TARGET_OBJECTS:${target}>)
  # The file has the version in its name, the soname the number of the ABI alone.
  set_target_properties(${target}_shared PROPERTIES OUTPUT_NAME holdfast EXPORT_NAME holdfast LINKER_LANGUAGE CXX
                        SOVERSION ${HOLDFAST_ABI} VERSION ${HOLDFAST_ABI}.${PROJECT_VERSION} LINK_DEPENDS ${map})
  target_include_directories(${target}_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target}_shared INTERFACE cxx_std_20)
  target_link_options(${target}_shared PRIVATE LINKER:--version-script=${map})
  if(NOT HOLDFAST_SANITIZE)  # whose runtime is the program's
    target_link_options(${target}_shared PRIVATE LINKER:--no-undefined)
  endif()
  foreach(link ${HOLDFAST_LINKS})
    target_link_libraries(${target}_shared PRIVATE $<BUILD_INTERFACE:${link}>)
  endforeach()
  target_link_libraries(${target}_shared PRIVATE $<BUILD_INTERFACE:holdfast_flags> PUBLIC Threads::Threads)
endfunction()

function(holdfast_install_headers)
  foreach(header ${ARGN})
    holdfast_public_name(${header} name)
    get_filename_component(folder ${name} DIRECTORY)
    install(FILES ${PROJECT_BINARY_DIR}/install_include/${name} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder}
            COMPONENT development)
  endforeach()
endfunction()

function(holdfast_install target)
  holdfast_install_headers(${HOLDFAST_PUBLIC_HEADERS})
  set(config ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
  set_target_properties(${target} PROPERTIES EXPORT_NAME static)
  install(TARGETS ${target} EXPORT holdfastStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(EXPORT holdfastStaticTargets NAMESPACE holdfast:: DESTINATION ${config} COMPONENT development)
  if(TARGET ${target}_shared)
    install(TARGETS ${target}_shared EXPORT holdfastTargets
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
    install(EXPORT holdfastTargets NAMESPACE holdfast:: DESTINATION ${config} COMPONENT development)
  endif()

  if(PROJECT_VERSION_MAJOR EQUAL 0)  # before 1.0 a minor version may break an interface
    set(compatibility SameMinorVersion)
  else()
    set(compatibility SameMajorVersion)
  endif()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/holdfastConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/holdfastConfig.cmake INSTALL_DESTINATION ${config})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake COMPATIBILITY ${compatibility})
  install(FILES ${PROJECT_BINARY_DIR}/holdfastConfig.cmake ${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake
                ${PROJECT_SOURCE_DIR}/tools/cmake/hiredis.cmake DESTINATION ${config} COMPONENT development)

  # Whoever links the archive links what it needs, too; whoever links the shared library need not know.
  set(needs ${HOLDFAST_NEEDS})
  set(names "")
  while(needs)
    list(POP_FRONT needs name package)
    list(APPEND names ${name})
  endwhile()
  list(JOIN names " " names)
  set(HOLDFAST_REQUIRES "")
  set(HOLDFAST_REQUIRES_PRIVATE "")
  if(TARGET ${target}_shared)
    set(HOLDFAST_REQUIRES_PRIVATE " ${names}")
  else()
    set(HOLDFAST_REQUIRES " ${names}")
  endif()
  foreach(folder LIBDIR INCLUDEDIR)
    if(IS_ABSOLUTE ${CMAKE_INSTALL_${folder}})  # then the prefix cannot be moved
      set(HOLDFAST_${folder} ${CMAKE_INSTALL_${folder}})
    else()
      set(HOLDFAST_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
    endif()
  endforeach()
  set(HOLDFAST_PREFIX ${CMAKE_INSTALL_PREFIX})
  if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" up ${up})
    set(HOLDFAST_PREFIX "\${pcfiledir}/${up}")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/holdfast.pc.in ${PROJECT_BINARY_DIR}/holdfast.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)
endfunction()

# holdfast_from_bin(FILE DEFINITION FOLDER): FILE alone is told how FOLDER of a prefix is reached from the folder of its programs.
function(holdfast_from_bin file definition folder)
  file(RELATIVE_PATH path ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_PREFIX}/${folder})
  set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS ${definition}="${path}")
endfunction()

# The command, what it preloads and runs, its pages, and the scenarios.
function(holdfast_install_command)
  set(pages ${PROJECT_BINARY_DIR}/pages)
  add_custom_command(OUTPUT ${pages}/holdfast.1.gz ${pages}/holdfast.bash ${pages}/holdfast.zsh
                     COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}
                     COMMAND holdfast_command man > ${pages}/holdfast.1
                     COMMAND gzip -9nf ${pages}/holdfast.1
                     COMMAND holdfast_command completion bash > ${pages}/holdfast.bash
                     COMMAND holdfast_command completion zsh > ${pages}/holdfast.zsh
                     DEPENDS holdfast_command VERBATIM)
  add_custom_target(holdfast_pages ALL DEPENDS ${pages}/holdfast.1.gz)
  install(TARGETS holdfast_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  install(TARGETS holdfast_clock_shim holdfast_program_shim
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/holdfast COMPONENT tools)
  install(FILES ${pages}/holdfast.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(FILES ${pages}/holdfast.bash RENAME holdfast COMPONENT tools
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${pages}/holdfast.zsh RENAME _holdfast DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT tools)
  set(data ${CMAKE_INSTALL_DATADIR}/holdfast)
  install(DIRECTORY scenarios DESTINATION ${data} COMPONENT tools FILES_MATCHING PATTERN *.toml PATTERN *.md)
  install(DIRECTORY tools/bench/plot tools/bench/peers DESTINATION ${data}/tools/bench COMPONENT tools
          PATTERN *_test.py EXCLUDE PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY tools/dashboard DESTINATION ${data} COMPONENT tools FILES_MATCHING PATTERN *.json PATTERN *.yml PATTERN *.md)
endfunction()

function(holdfast_install_async target)
  holdfast_install_headers(${HOLDFAST_ASYNC_HEADERS})
  set_target_properties(${target} PROPERTIES EXPORT_NAME async)
  install(TARGETS ${target} EXPORT holdfastAsyncTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(EXPORT holdfastAsyncTargets NAMESPACE holdfast:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast
          COMPONENT development)
endfunction()
