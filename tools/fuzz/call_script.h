// One script, again and again, with the input in ARGV: the server answers. Functions of a library may raise
// errors; the script catches them (pcall), or the reply is the error.
#pragma once

#include <chrono>
#include <cstdlib>
#include <string>

#include "sim/redis/testing/local_server.h"
#include "tools/fuzz/target.h"

namespace holdfast::fuzz {

// ARGV[1]: the first line of the input; ARGV[2]: the rest.
inline int call_script(std::string_view script, const std::uint8_t* data, std::size_t size) {
  static auto* const server = new sim::embedded::LocalServer;  // outlives every input
  std::string_view rest = text_of(data, size);
  const std::string_view first = take_line(rest);
  std::string answer = server->call({"EVAL", script, "0", first, rest});
  if (answer.empty()) {  // it takes time (sim/redis/script_engine.h); none of these scripts takes a minute
    server->pass(std::chrono::minutes(1));
    answer = server->take();
  }
  if (answer.empty()) std::abort();
  return 0;
}

}  // namespace holdfast::fuzz
