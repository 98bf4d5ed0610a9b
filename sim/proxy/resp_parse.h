// Whole RESP2 messages taken apart. The framer (resp_framer.h) says where they begin and end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/reply.h"

namespace holdfast::sim {

// The arguments of the first request in `bytes`, as views into it. Returns its length; 0: not a whole
// request. An inline command is split at blanks (quotes are not undone).
std::size_t parse_request(std::string_view bytes, std::vector<std::string_view>& arguments);

// The first reply in `bytes`. Returns its length; 0: not a whole reply.
std::size_t parse_reply(std::string_view bytes, redis::Reply& reply);

std::string upper_case(std::string_view text);

// As a client sends it: an array of bulks. Appends to `out`.
void append_request(std::string& out, const std::vector<std::string_view>& arguments);

}  // namespace holdfast::sim
