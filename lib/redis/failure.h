// How error replies are to be read, and how errors are worded.
#pragma once

#include <string>
#include <string_view>

#include "lib/net/network.h"
#include "lib/redis/error.h"
#include "lib/redis/reply.h"

namespace holdfast::redis {

// What an error reply means for who may ask again.
enum class Meaning {
  again,    // passing trouble of this server: the same request may succeed a little later
  primary,  // not, or no longer, the primary: find the primary anew
  loading,  // it is coming up: as `primary` with several nodes, else as `again`
  unknown,  // the script is not known: send its text
  final     // the request itself is refused, and will be again
};

// The one table of error replies. Whatever is not in it is final.
Meaning meaning_of(std::string_view error) noexcept;

// True when this error reply to `command` says that nothing was done. A script that fails half-way does not
// roll back, so for EVAL and its kin only refusals that come before the first write count.
bool says_not_executed(std::string_view command, const Reply& error);

// Text of a server as a message may show it: bytes beyond printable ASCII as \xNN, and no more than about
// `most` of them. A server is somebody else's: what it says may end up in a log or on a terminal.
std::string legible(std::string_view text, std::size_t most = 300);

// How `status` ended a connection on which the server had said nothing yet: with a hint, where one that
// speaks TLS ends it like this. `tls`: so does this side. `more`: as for describe().
std::string ended_without_a_word(IoStatus status, std::string_view more, bool tls);

// The error for an error reply. `was_primary`: that node has taken writes before, so that READONLY passes.
Error rejection(std::string_view node, std::string_view command, const Reply& error,
                bool was_primary = false);

// "NODE: COMMAND: what happened (may have been executed)", legible.
Error failure(Error::Kind kind, std::string_view node, std::string_view command, bool may_have_executed,
              std::string_view what);

}  // namespace holdfast::redis
