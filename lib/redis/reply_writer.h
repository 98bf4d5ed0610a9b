// Replies as they go over the wire, RESP2; reply_reader.h is the way back.
#pragma once

#include <string>

#include "lib/redis/reply.h"

namespace holdfast::redis {

// Appends the RESP form.
void append_reply(std::string& out, const Reply& reply);

}  // namespace holdfast::redis
