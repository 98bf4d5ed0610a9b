#include "lib/redis/reply_writer.h"

namespace holdfast::redis {

void append_reply(std::string& out, const Reply& reply) {
  using Type = Reply::Type;
  switch (reply.type) {
    case Type::nil: out += "$-1\r\n"; return;
    case Type::integer: out += ':' + std::to_string(reply.integer) + "\r\n"; return;
    case Type::status: out += '+' + reply.text + "\r\n"; return;
    case Type::error: out += '-' + reply.text + "\r\n"; return;
    case Type::bulk: out += '$' + std::to_string(reply.text.size()) + "\r\n" + reply.text + "\r\n"; return;
    case Type::array:
      out += '*' + std::to_string(reply.items.size()) + "\r\n";
      for (const Reply& item : reply.items) append_reply(out, item);
      return;
  }
}

}  // namespace holdfast::redis
