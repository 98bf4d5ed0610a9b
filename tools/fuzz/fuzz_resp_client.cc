// What a server sends to the client's reader, whole and byte by byte: both must find the same replies.
#include <cstdlib>
#include <vector>

#include "lib/redis/reply_reader.h"
#include "tools/fuzz/target.h"

namespace {

using holdfast::redis::Reply;
using holdfast::redis::ReplyReader;

std::size_t replies_of(std::string_view bytes, std::size_t piece, bool& broken) {
  ReplyReader reader;
  std::size_t count = 0;
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    Reply reply;
    ReplyReader::Next next = ReplyReader::Next::incomplete;
    while ((next = reader.next(reply)) == ReplyReader::Next::reply) ++count;
    if (next == ReplyReader::Next::broken) {
      broken = true;
      break;
    }
  }
  return count;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = holdfast::fuzz::text_of(data, size);
  bool broken_whole = false, broken_pieces = false;
  const std::size_t whole = replies_of(bytes, size, broken_whole);
  const std::size_t pieces = replies_of(bytes, 1, broken_pieces);
  if (whole != pieces || broken_whole != broken_pieces) std::abort();
  return 0;
}
