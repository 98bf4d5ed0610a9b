# holdfast_embed_scripts(TARGET NAME FOLDER [GUARD FILE GUARDED SCRIPT...] [SHARD FILE SHARDED SCRIPT...]): one redis::Script per *.lua below
# FOLDER, in a generated header
# generated/NAME.h: namespace holdfast::NAME { inline constexpr redis::Script reentrant_acquire{...}; }
# and kAll, pointers to all of them.
# GUARD: of each SCRIPT, too, survivor_SCRIPT: the text of FILE with the script in the place of its line --SCRIPT.
# SHARD: of each SCRIPT, too, sharded_SCRIPT: the text of FILE, and the script behind it.
# The file's bytes are the script's bytes, so the SHA-1 is the one that Redis computes.

function(holdfast_embed_scripts target name folder)
  cmake_parse_arguments(ARG "" "GUARD;SHARD" "GUARDED;SHARDED" ${ARGN})
  file(GLOB_RECURSE scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.lua)
  set(body "// Generated from the *.lua below ${folder}. Do not edit.\n#pragma once\n\n#include \"lib/redis/script.h\"\n\n")
  string(APPEND body "namespace holdfast::${name} {\n")
  set(all "")
  foreach(script ${scripts})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
    get_filename_component(id ${script} NAME_WE)
    file(READ ${script} text)
    file(SHA1 ${script} sha1)
    string(APPEND body "inline constexpr redis::Script ${id}{\"${id}\", R\"~lua~(${text})~lua~\",\n    \"${sha1}\"};\n")
    string(APPEND all "    &${id},\n")
    if(ARG_SHARD AND id IN_LIST ARG_SHARDED)
      file(READ ${PROJECT_SOURCE_DIR}/${ARG_SHARD} shard)
      string(SHA1 sha1 "${shard}${text}")
      string(APPEND body "inline constexpr redis::Script sharded_${id}{\"sharded_${id}\", R\"~lua~(${shard}${text})~lua~\",\n    \"${sha1}\"};\n")
      string(APPEND all "    &sharded_${id},\n")
    endif()
    if(ARG_GUARD AND id IN_LIST ARG_GUARDED)
      # The line --SCRIPT of the guard becomes the script.
      file(READ ${PROJECT_SOURCE_DIR}/${ARG_GUARD} guard)
      string(REPLACE "--SCRIPT\n" "${text}" text "${guard}")
      string(SHA1 sha1 "${text}")
      string(APPEND body "inline constexpr redis::Script survivor_${id}{\"survivor_${id}\", R\"~lua~(${text})~lua~\",\n    \"${sha1}\"};\n")
      string(APPEND all "    &survivor_${id},\n")
    endif()
  endforeach()
  string(APPEND body "inline constexpr const redis::Script* kAll[] = {\n${all}};\n")
  string(APPEND body "}  // namespace holdfast::${name}\n")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name}.h CONTENT "@body@" @ONLY)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR})
endfunction()

# holdfast_embed_text(TARGET NAME FILE CONSTANT NAMESPACE): the file's text as a std::string_view in generated/NAME.h.
function(holdfast_embed_text target name path constant namespace)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${path})
  file(READ ${PROJECT_SOURCE_DIR}/${path} text)
  set(body "// Generated from ${path}. Do not edit.\n#pragma once\n\n#include <string_view>\n\n")
  string(APPEND body "namespace ${namespace} {\ninline constexpr std::string_view ${constant} = R\"~page~(${text})~page~\";\n")
  string(APPEND body "}  // namespace ${namespace}\n")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name}.h CONTENT "@body@" @ONLY)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR})
endfunction()

# holdfast_embed_folder(TARGET NAME FOLDER EXTENSION): the files of FOLDER, by name, in generated/NAME.h: namespace
# holdfast::NAME { inline constexpr std::pair<std::string_view, std::string_view> kTexts[] = {{"a.toml", "..."}, ...}; }
function(holdfast_embed_folder target name folder extension)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.${extension})
  set(body "// Generated from ${folder}. Do not edit.\n#pragma once\n\n#include <string_view>\n#include <utility>\n\n")
  string(APPEND body "namespace holdfast::${name} {\n")
  string(APPEND body "inline constexpr std::pair<std::string_view, std::string_view> kTexts[] = {\n")
  foreach(path ${files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    get_filename_component(file ${path} NAME)
    file(READ ${path} text)
    string(APPEND body "    {\"${file}\", R\"~text~(${text})~text~\"},\n")
  endforeach()
  string(APPEND body "};\n}  // namespace holdfast::${name}\n")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name}.h CONTENT "@body@" @ONLY)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR})
endfunction()
