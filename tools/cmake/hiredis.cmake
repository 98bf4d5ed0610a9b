# The imported target holdfast::hiredis, for the build and, installed beside holdfastConfig.cmake, for who links a static
# libholdfast.a. Says in HOLDFAST_HIREDIS_FOUND whether it is there. HOLDFAST_HIREDIS_ROOT names another prefix.
find_path(HOLDFAST_HIREDIS_INCLUDE_DIR hiredis/read.h HINTS ${HOLDFAST_HIREDIS_ROOT}/include)
find_library(HOLDFAST_HIREDIS_LIBRARY hiredis HINTS ${HOLDFAST_HIREDIS_ROOT}/lib)
mark_as_advanced(HOLDFAST_HIREDIS_INCLUDE_DIR HOLDFAST_HIREDIS_LIBRARY)
set(HOLDFAST_HIREDIS_FOUND FALSE)
if(HOLDFAST_HIREDIS_INCLUDE_DIR AND HOLDFAST_HIREDIS_LIBRARY)
  set(HOLDFAST_HIREDIS_FOUND TRUE)
  if(NOT TARGET holdfast::hiredis)
    add_library(holdfast::hiredis UNKNOWN IMPORTED)
    set_target_properties(holdfast::hiredis PROPERTIES
                          IMPORTED_LOCATION "${HOLDFAST_HIREDIS_LIBRARY}"
                          INTERFACE_INCLUDE_DIRECTORIES "${HOLDFAST_HIREDIS_INCLUDE_DIR}")
  endif()
endif()
