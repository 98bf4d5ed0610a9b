# The client libraries of other engines (sim/comparators), none of which is needed: what of an engine needs its library lies in a
# folder of its own, sim/comparators/ENGINE/, which is built where the library is found.
#
# HOLDFAST_WITHOUT: the folders that are not built. holdfast_link_comparators(TARGET): links the others.
# To add one: a line at the end of this file.
set(HOLDFAST_WITHOUT "")
set(HOLDFAST_COMPARATORS_FOUND "")

# MODULE of pkg-config, or HEADER and LIBRARY where pkg-config knows none; sources of sim/comparators/ are told HOLDFAST_WITH_NAME.
macro(holdfast_comparator engine name module)
  if(HOLDFAST_COMPARATORS AND ${ARGC} EQUAL 3)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
  elseif(HOLDFAST_COMPARATORS)
    find_path(${name}_HEADERS ${ARGV3})
    find_library(${name}_LIBRARY ${ARGV4})
    mark_as_advanced(${name}_HEADERS ${name}_LIBRARY)
    if(${name}_HEADERS AND ${name}_LIBRARY)
      set(${name}_FOUND TRUE)
      add_library(PkgConfig::${name} UNKNOWN IMPORTED)
      set_target_properties(PkgConfig::${name} PROPERTIES IMPORTED_LOCATION "${${name}_LIBRARY}"
                                                          INTERFACE_INCLUDE_DIRECTORIES "${${name}_HEADERS}")
    endif()
  endif()
  if(HOLDFAST_COMPARATORS AND ${name}_FOUND)
    list(APPEND HOLDFAST_COMPARATORS_FOUND ${name})
    file(GLOB known CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} sim/comparators/${engine}*.cc)
    set_property(SOURCE ${known} APPEND PROPERTY COMPILE_DEFINITIONS HOLDFAST_WITH_${name})
  else()
    list(APPEND HOLDFAST_WITHOUT sim/comparators/${engine})
    message(STATUS "Not built: sim/comparators/${engine} (no ${module}, or HOLDFAST_COMPARATORS=OFF; tools/setup/setup --comparisons)")
  endif()
endmacro()

function(holdfast_link_comparators target)
  foreach(name ${HOLDFAST_COMPARATORS_FOUND})
    target_link_libraries(${target} PRIVATE PkgConfig::${name})
  endforeach()
endfunction()

holdfast_comparator(postgresql LIBPQ libpq)
holdfast_comparator(zookeeper LIBZOOKEEPER libzookeeper-st zookeeper/zookeeper.h zookeeper_st)
