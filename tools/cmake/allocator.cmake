# holdfast_allocator: for programs that run many worlds one after the other. A run allocates some ten thousand small blocks
# and gives them all back; tcmalloc takes less time for that than the C library's malloc(), and keeps what was freed for the
# next run. Link it to programs, never to a library: whoever links ours chooses for himself. Under a sanitizer, which has
# a malloc() of its own, it is empty.
add_library(holdfast_allocator INTERFACE)
if(NOT HOLDFAST_SANITIZE)
  pkg_check_modules(TCMALLOC REQUIRED IMPORTED_TARGET libtcmalloc_minimal)
  target_link_libraries(holdfast_allocator INTERFACE PkgConfig::TCMALLOC)
  target_compile_definitions(holdfast_allocator INTERFACE HOLDFAST_TCMALLOC)
endif()
