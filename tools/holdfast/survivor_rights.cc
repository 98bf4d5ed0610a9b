// What the user of the clients may do.
#include "tools/holdfast/survivor_users.h"

namespace holdfast::tools {

const std::vector<Right>& client_rights() {
  // What each lock sends by itself, then what its scripts do. The test has the list from the sources.
  static const std::vector<Right> kRights = {
      {"client|list", {"CLIENT", "LIST", "TYPE", "replica"}},
      {"client|setname", {"CLIENT", "SETNAME", "a"}},
      {"eval", {"EVAL", "return 1", "1", "holdfast:a"}},
      {"evalsha", {"EVALSHA", "a", "1", "holdfast:a"}},
      {"info", {"INFO", "replication"}},
      {"ping", {"PING"}},
      {"role", {"ROLE"}},
      {"select", {"SELECT", "0"}},
      {"subscribe", {"SUBSCRIBE", "holdfast:a"}},
      {"unsubscribe", {"UNSUBSCRIBE", "holdfast:a"}},
      {"wait", {"WAIT", "0", "0"}},
      {"del", {"DEL", "holdfast:a"}},
      {"exists", {"EXISTS", "holdfast:a"}},
      {"get", {"GET", "holdfast:a"}},
      {"hdel", {"HDEL", "holdfast:a", "b"}},
      {"hexists", {"HEXISTS", "holdfast:a", "b"}},
      {"hget", {"HGET", "holdfast:a", "b"}},
      {"hincrby", {"HINCRBY", "holdfast:a", "b", "1"}},
      {"hkeys", {"HKEYS", "holdfast:a"}},
      {"hlen", {"HLEN", "holdfast:a"}},
      {"hmget", {"HMGET", "holdfast:a", "b"}},
      {"hset", {"HSET", "holdfast:a", "b", "c"}},
      {"persist", {"PERSIST", "holdfast:a"}},
      {"pexpire", {"PEXPIRE", "holdfast:a", "1"}},
      {"pexpireat", {"PEXPIREAT", "holdfast:a", "1"}},
      {"pttl", {"PTTL", "holdfast:a"}},
      {"publish", {"PUBLISH", "holdfast:a", "b"}},
      {"rename", {"RENAME", "holdfast:a", "holdfast:b"}},
      {"sadd", {"SADD", "holdfast:a", "b"}},
      {"set", {"SET", "holdfast:a", "b"}},
      {"sismember", {"SISMEMBER", "holdfast:a", "b"}},
      {"time", {"TIME"}},
      {"zadd", {"ZADD", "holdfast:a", "1", "b"}},
      {"zcard", {"ZCARD", "holdfast:a"}},
      {"zpopmin", {"ZPOPMIN", "holdfast:a"}},
      {"zrange", {"ZRANGE", "holdfast:a", "0", "1"}},
      {"zrangebyscore", {"ZRANGEBYSCORE", "holdfast:a", "0", "1"}},
      {"zrem", {"ZREM", "holdfast:a", "b"}},
      {"zremrangebyscore", {"ZREMRANGEBYSCORE", "holdfast:a", "0", "1"}},
      {"zscore", {"ZSCORE", "holdfast:a", "b"}},
  };
  return kRights;
}

}  // namespace holdfast::tools
