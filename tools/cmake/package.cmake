# Debian packages by CPack, one for each component that is installed: libholdfast0 (runtime; the number is HOLDFAST_ABI),
# libholdfast-dev (development), holdfast-tools (tools). tools/package/debian builds, checks and tries them.
if(HOLDFAST_INSTALL AND BUILD_SHARED_LIBS AND EXISTS /etc/debian_version)
  set(packages ${PROJECT_BINARY_DIR}/debian)
  set(library libholdfast${HOLDFAST_ABI})
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME holdfast)
  set(CPACK_PACKAGE_VENDOR "the Holdfast authors")
  set(CPACK_PACKAGE_CONTACT "the Holdfast authors <holdfast@packages.invalid>")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_VERBATIM_VARIABLES ON)
  set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_GROUPING IGNORE)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
  set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package's first line is its own
  set(version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

  # What -dev depends on is what holdfast.pc and holdfastConfig.cmake look for.
  set(needs ${HOLDFAST_NEEDS})
  set(headers "")
  while(needs)
    list(POP_FRONT needs name package)
    list(APPEND headers ${package})
  endwhile()
  list(JOIN headers ", " headers)

  set(CPACK_COMPONENTS_ALL runtime development)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libholdfast-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} (= ${version}), ${headers}")
  if(HOLDFAST_BUILD_ASYNC)  # for holdfast::async alone
    set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libboost-context-dev")
  endif()
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Distributed locks for Redis in C++20: headers
Headers and archive of Holdfast, with what CMake and pkg-config need to find
them. Locks: reentrant, fair, fenced, read-write, semaphore, latch, several
keys at once, Redlock, and one that survives a failover.")
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${library})
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
  # Which package other ones depend on that are linked with the library, and that ldconfig runs.
  file(CONFIGURE OUTPUT ${packages}/shlibs CONTENT "libholdfast ${HOLDFAST_ABI} ${library} (>= ${PROJECT_VERSION})\n")
  file(CONFIGURE OUTPUT ${packages}/triggers CONTENT "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${packages}/shlibs ${packages}/triggers)
  set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Distributed locks for Redis in C++20: shared library
Locks for processes that share a Redis, a replicated one with Sentinels, or a
Redis Cluster: reentrant, fair, fenced, read-write, semaphore, latch, several
keys at once, Redlock, and one that survives a failover.")

  if(HOLDFAST_BUILD_HARNESS AND HOLDFAST_INSTALL_COMMAND)
    list(APPEND CPACK_COMPONENTS_ALL tools)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME holdfast-tools)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION database)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "redis-server, python3-matplotlib")
    set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "python3-redis, nodejs")
    set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Distributed locks for Redis: harness and checker
The command holdfast drives any distributed lock while messages are lost
and servers and clients pause, crash and fail over, in a simulated world or
on real servers, and a checker says from the recorded history whether two
clients ever held the same lock. It also lists the locks that are held on a
live server.")
  endif()

  # Debian's own papers, in the folder of each package: copyright, and changelogs, which must be compressed without a date.
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  set(entry "holdfast (${version}) unstable; urgency=medium\n\n  * Release ${PROJECT_VERSION}; see changelog.gz.\n\n")
  file(CONFIGURE OUTPUT ${packages}/changelog.Debian CONTENT "${entry} -- ${CPACK_PACKAGE_CONTACT}  ${date}\n" @ONLY)
  configure_file(CHANGELOG.md ${packages}/changelog COPYONLY)
  configure_file(tools/package/copyright ${packages}/copyright COPYONLY)
  foreach(name changelog.Debian changelog)
    execute_process(COMMAND gzip -9nf ${packages}/${name} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  foreach(component ${CPACK_COMPONENTS_ALL})
    string(TOUPPER ${component} COMPONENT)
    set(folder ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME})
    # Left out by `cmake --install` by hand: EXCLUDE_FROM_ALL.
    install(FILES ${packages}/changelog.Debian.gz ${packages}/changelog.gz ${packages}/copyright DESTINATION ${folder}
            COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
  include(CPack)
endif()
