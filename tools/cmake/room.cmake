# holdfast_room(TARGET FOLDERS dir... [WITHOUT dir...] [TESTED_ALONE]): a static library of every *.cc below the folders that
#   is no test, main or example. TESTED_ALONE: its tests need nothing but the room.
# holdfast_knows_folders(FILE): FILE alone is told the absolute paths of source and build folder. They stand in one file,
#   so that ccache finds all the others again in another checkout.
# holdfast_test_support_of_lib(), _of_harness(): what tests share.
# holdfast_tests(): one test program a room, of the *_test.cc files noted by holdfast_room.
# holdfast_planted_tests(): the checker with planted defects.
# holdfast_examples(DIR): one program build/examples/NAME for each DIR/NAME.cc.
# holdfast_benchmarks(DIR): one program build/bench_NAME for each DIR/bench_NAME.cc.

function(holdfast_knows_folders file)
  set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS HOLDFAST_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                                                  HOLDFAST_BINARY_DIR="${PROJECT_BINARY_DIR}")
endfunction()

function(holdfast_room target)
  cmake_parse_arguments(ROOM "TESTED_ALONE" "" "FOLDERS;WITHOUT" ${ARGN})
  set(sources "")
  foreach(folder ${ROOM_FOLDERS})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${folder}/*.cc)
    list(APPEND sources ${found})
  endforeach()
  foreach(folder ${ROOM_WITHOUT})
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "planted_test\\.cc$")  # a program of its own: holdfast_planted_tests()
  foreach(test ${tests})  # public histories are judged where their folder is named
    if(test MATCHES "public_histories_test\\.cc$")
      if(HOLDFAST_HISTORIES)
        set_property(SOURCE ${test} APPEND PROPERTY COMPILE_DEFINITIONS HOLDFAST_HISTORIES="${HOLDFAST_HISTORIES}")
      else()
        list(REMOVE_ITEM tests ${test})
      endif()
    endif()
  endforeach()
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/main\\.cc$|/examples/|/testing/[^/]*$")
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  if(PROJECT_IS_TOP_LEVEL)
    target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:holdfast_flags>)
  else()  # the warnings of this house are not those of a project that takes it in
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:holdfast_flags>)
  endif()
  set_property(GLOBAL APPEND PROPERTY holdfast_rooms ${target})
  set_property(GLOBAL PROPERTY holdfast_tests_of_${target} "${tests}")
  set_property(GLOBAL PROPERTY holdfast_alone_${target} ${ROOM_TESTED_ALONE})
endfunction()

# Helpers that tests share live in folders named "testing". lib/testing needs the library alone: holdfast_testing. The others
# need the harness: holdfast_harness_testing. holdfast_worlds adds its worlds to the places in which a test of lib runs.
function(holdfast_test_support_of_lib)
  file(GLOB lib_testing CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} lib/testing/*.cc)
  list(FILTER lib_testing EXCLUDE REGEX "_test\\.cc$")
  holdfast_knows_folders(lib/testing/folders.cc)
  add_library(holdfast_testing STATIC ${lib_testing})
  target_link_libraries(holdfast_testing PUBLIC holdfast holdfast_servers holdfast_flags holdfast::hiredis OpenSSL::SSL GTest::gtest
                        GTest::gmock rapidcheck)
endfunction()

function(holdfast_test_support_of_harness)
  file(GLOB_RECURSE harness_testing CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} sim/*/testing/*.cc checker/testing/*.cc)
  add_library(holdfast_harness_testing STATIC ${harness_testing})
  target_link_libraries(holdfast_harness_testing PUBLIC holdfast_testing holdfast_sim PkgConfig::HIREDIS Boost::context
                        PkgConfig::LUA51 OpenSSL::Crypto fmt::fmt nlohmann_json::nlohmann_json)
  add_library(holdfast_worlds OBJECT sim/testing/worlds.cc)
  target_link_libraries(holdfast_worlds PUBLIC holdfast_harness_testing)
endfunction()

# A test file x_world_test.cc of lib needs the harness; the others are also built without it.
function(holdfast_tests)
  get_property(rooms GLOBAL PROPERTY holdfast_rooms)
  foreach(room ${rooms})
    get_property(tests GLOBAL PROPERTY holdfast_tests_of_${room})
    set(support holdfast_testing)
    if(HOLDFAST_BUILD_HARNESS)
      set(support holdfast_worlds holdfast_harness_testing holdfast_tools)
    else()
      list(FILTER tests EXCLUDE REGEX "_world_test\\.cc$")
    endif()
    if(room STREQUAL holdfast_async)
      list(APPEND support holdfast_async)
    endif()
    get_property(alone GLOBAL PROPERTY holdfast_alone_${room})
    if(alone)
      set(support ${room} GTest::gtest)
    endif()
    if(NOT tests)
      continue()
    endif()
    set(program test_${room})
    add_executable(${program} ${tests})
    target_link_libraries(${program} PRIVATE ${support} GTest::gtest_main)
    # Suites whose name begins with "Long" are hunts: label "long", run only when asked for.
    holdfast_discover(${program} FILTER "-Long*")
    holdfast_discover(${program} FILTER "Long*" LABELS long TIMEOUT 3600)
  endforeach()
endfunction()

# test_holdfast_loop: suites of lib that say what every port and every lock promises, on the loop of holdfast_async. The cases
# that wait for seconds of real time run with the label long: the same fibers pass them in each run on the loop of a world.
function(holdfast_loop_conformance_tests)
  set(slow *RedlockTest.* *MultiLockTest.* *ReadWriteLockTest.* *SemaphoreTest.* *LockRequirements.TheGuardsOfTheStandardOutliveTheServer*
           *LockRequirements.UniqueLock*)
  list(JOIN slow ":" slow)
  add_executable(test_holdfast_loop lib/async/testing/loop_place.cc ${ARGN})
  target_link_libraries(test_holdfast_loop PRIVATE holdfast_async holdfast_testing GTest::gtest_main)
  holdfast_discover(test_holdfast_loop FILTER "-Long*:${slow}")
  add_test(NAME loop_conformance_slow COMMAND test_holdfast_loop --gtest_filter=${slow})
  set_tests_properties(loop_conformance_slow PROPERTIES LABELS long TIMEOUT 1200)
endfunction()

# test_holdfast_planted: the checker's sources with its planted defects (checker/planted.h), and the oracle that finds them.
function(holdfast_planted_tests)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} checker/history/*.cc checker/holds/*.cc
       checker/linearizability/*.cc checker/checks/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  file(GLOB oracle CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} checker/testing/oracle*.cc)
  add_executable(test_holdfast_planted ${sources} ${oracle} checker/testing/plain_search.cc checker/checks/planted_test.cc)
  target_include_directories(test_holdfast_planted PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(test_holdfast_planted PRIVATE HOLDFAST_PLANTED_BUILD)
  set_property(SOURCE checker/checks/planted_test.cc APPEND PROPERTY COMPILE_DEFINITIONS
               HOLDFAST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(test_holdfast_planted PRIVATE holdfast_flags fmt::fmt nlohmann_json::nlohmann_json GTest::gtest)
  holdfast_discover(test_holdfast_planted)
endfunction()

# One program build/examples/NAME for each FOLDER/NAME.cc, on the headers as they are installed. async_NAME.cc needs holdfast_async.
function(holdfast_examples folder)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  if(NOT HOLDFAST_BUILD_ASYNC)
    list(FILTER files EXCLUDE REGEX "/async_[^/]*$")
  endif()
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    add_executable(example_${name} ${file})
    set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    target_link_libraries(example_${name} PRIVATE holdfast::holdfast holdfast_flags)
    if(name MATCHES "^async_")
      target_link_libraries(example_${name} PRIVATE holdfast_async Boost::headers)
    endif()
  endforeach()
endfunction()

function(holdfast_benchmarks folder)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/bench_*.cc)
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    add_executable(${name} ${file})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    target_link_libraries(${name} PRIVATE holdfast_harness_testing holdfast_tools holdfast_flags fmt::fmt benchmark::benchmark)
  endforeach()
endfunction()
