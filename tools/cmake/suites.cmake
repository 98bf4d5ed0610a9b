# Each suite of a test program as a test of ctest, ROOM.SUITE: one process for a suite, not one for each of five thousand tests, which would
# start a server for each as well. -DHOLDFAST_TEST_EACH=ON: one for each test (the thread sanitizer's preset, which takes some of a suite).
#
# holdfast_discover(PROGRAM [FILTER F] [LABELS L] [TIMEOUT SECONDS]): the suites that have a test which F (as --gtest_filter) lets pass.
# They are listed when the program has been built, by list_suites.cmake. tools/house/suites_test.py asks whether each test is run, and once.

option(HOLDFAST_TEST_EACH "a test of ctest for each test, not for each suite" OFF)

function(holdfast_discover program)
  cmake_parse_arguments(ARG "" "FILTER;LABELS;TIMEOUT" "" ${ARGN})
  if(NOT ARG_FILTER)
    set(ARG_FILTER "*")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 1200)
  endif()
  if(HOLDFAST_TEST_EACH)
    include(GoogleTest)
    set(labels)
    if(ARG_LABELS)
      set(labels LABELS ${ARG_LABELS})
    endif()
    gtest_discover_tests(${program} TEST_FILTER "${ARG_FILTER}" TEST_LIST ${program}_${ARG_LABELS} DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT ${ARG_TIMEOUT} ${labels})
    return()
  endif()
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites${ARG_LABELS}.cmake)
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites${ARG_LABELS}_if_built.cmake)
  file(WRITE ${include} "if(EXISTS [[${list}]])\n  include([[${list}]])\nelse()\n  add_test(${program}_NOT_BUILT ${program}_NOT_BUILT)\nendif()\n")
  add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS ${list} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> -DLIST=${list} -DFILTER=${ARG_FILTER} -DLABELS=${ARG_LABELS}
            -DTIMEOUT=${ARG_TIMEOUT} -DFOLDER=${CMAKE_CURRENT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/tools/cmake/list_suites.cmake)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()
