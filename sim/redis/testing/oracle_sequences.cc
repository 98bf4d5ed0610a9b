#include "sim/redis/testing/oracle_sequences.h"

#include <initializer_list>
#include <map>
#include <string_view>

namespace holdfast::sim::oracle {
namespace {

// Templates: "{x}" is replaced by a draw from kPools below. Some stand more than once: they are drawn more
// often.
const std::vector<std::string> kCommands = {
    // strings
    "SET {k} {v}", "SET {k} {v} PX {ms}", "SET {k} {v} NX PX {ms}", "SET {k} {v} NX PX {ms}",
    "SET {k} {v} XX", "SET {k} {v} KEEPTTL", "SET {k} {v} GET", "SET {k} {v} EX 1",
    "SET {k} {v} PXAT @now{at}", "GET {k}", "GET {k}", "SETNX {k} {v}", "GETSET {k} {v}", "GETDEL {k}",
    "GETEX {k} PX {ms}", "GETEX {k} PERSIST", "INCR {k}", "DECR {k}", "INCRBY {k} {n}", "DECRBY {k} {n}",
    "APPEND {k} {v}", "STRLEN {k}", "MGET {k} {k}", "MSET {k} {v} {k} {v}",
    // keys
    "DEL {k}", "DEL {k} {k}", "UNLINK {k}", "EXISTS {k} {k}", "TYPE {k}", "PTTL {k}", "PTTL {k}", "TTL {k}",
    "PEXPIRE {k} {ms}", "PEXPIRE {k} {ms}", "PEXPIRE {k} {ms} {flag}", "EXPIRE {k} 1", "PERSIST {k}",
    "PEXPIREAT {k} @now{at}", "PEXPIRETIME {k}", "RENAME {k} {k}", "KEYS {k}", "FLUSHALL", "TIME",
    // hashes
    "HSET {k} {f} {v}", "HSET {k} {f} {v} {f} {v}", "HSETNX {k} {f} {v}", "HGET {k} {f}", "HEXISTS {k} {f}",
    "HINCRBY {k} {f} {n}", "HINCRBY {k} {f} 1", "HINCRBY {k} {f} -1", "HDEL {k} {f}", "HLEN {k}",
    "pairs HGETALL {k}", "HMGET {k} {f} {f}",
    // lists
    "RPUSH {k} {v}", "RPUSH {k} {v} {v}", "LPUSH {k} {v}", "LPOP {k}", "RPOP {k}", "LRANGE {k} 0 -1",
    "LLEN {k}", "LINDEX {k} {i}", "LREM {k} {i} {v}", "LSET {k} {i} {v}", "LTRIM {k} {i} {i}",
    // sorted sets
    "ZADD {k} {score} {f}", "ZADD {k} {zflag} {score} {f}", "ZADD {k} {score} {f} {score} {f}",
    "ZSCORE {k} {f}", "ZREM {k} {f}", "ZCARD {k}", "ZRANGE {k} 0 -1 WITHSCORES",
    "ZRANGEBYSCORE {k} {score} {score}", "ZINCRBY {k} {score} {f}", "ZREMRANGEBYSCORE {k} {score} {score}",
    "ZRANK {k} {f}", "ZCOUNT {k} {score} {score}",
    // transactions
    "MULTI", "EXEC", "EXEC", "DISCARD", "WATCH {k}", "UNWATCH", "FOO", "GET",
    // pub/sub and the rest
    "PUBLISH {ch} {v}", "PING", "ECHO {v}", "SELECT {db}", "SCRIPT FLUSH", "WAIT 0 0",
    // the protocol, and replies that have a kind of their own in it
    "any HELLO 3", "any HELLO 3", "any HELLO 2", "SADD {k} {f}", "SREM {k} {f}", "sorted SMEMBERS {k}",
    "sorted SINTER {k} {k}", "SMOVE {k} {k} {f}", "SISMEMBER {k} {f}", "ZMSCORE {k} {f} {f}", "ZPOPMIN {k}",
    "ZPOPMAX {k} 2", "ZREVRANGE {k} 0 -1 WITHSCORES", "HRANDFIELD {k} 0 WITHVALUES", "LPOP {k} 2",
    "INCRBYFLOAT {k} {n}", "HINCRBYFLOAT {k} {f} {n}", "OBJECT ENCODING none", "LPOS {k} {v}",
    "DEBUG PROTOCOL {kind}", "EXPIRE {k} {n} {flag} {flag}", "SWAPDB 0 {db}"};

const std::vector<std::string> kScripts = {
    R"~("return redis.call('get', KEYS[1])" 1 {k})~",
    R"~("return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])" 1 {k} {v} {ms})~",
    R"~("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0" 1 {k} {v})~",
    R"~("if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return nil end return redis.call('pttl', KEYS[1])" 1 {k} {ms} {f})~",
    R"~("if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end local c = redis.call('hincrby', KEYS[1], ARGV[2], -1) if c > 0 then redis.call('pexpire', KEYS[1], ARGV[1]) return 0 end redis.call('del', KEYS[1]) redis.call('publish', KEYS[2], '0') return 1" 2 {k} {ch} {ms} {f})~",
    R"~("if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) return 1 end return 0" 1 {k} {ms} {f})~",
    R"~("local r = redis.pcall('incr', KEYS[1]) if type(r) == 'table' then return r.err end return r + 0.5" 1 {k})~",
    R"~("redis.call('rpush', KEYS[1], ARGV[1]) return redis.call('lrange', KEYS[1], 0, -1)" 1 {k} {v})~",
    R"~("local t = redis.call('zrange', KEYS[1], 0, 0, 'WITHSCORES') if t[1] then return t[1] .. '=' .. t[2] end return false" 1 {k})~",
    R"~("redis.call('zadd', KEYS[1], ARGV[1], ARGV[2]) return tonumber(redis.call('zscore', KEYS[1], ARGV[2]))" 1 {k} {score} {f})~",
    R"~("redis.call('set', KEYS[1], ARGV[1]) redis.call('set', KEYS[2], ARGV[1]) return redis.call('incrby', KEYS[1], ARGV[2])" 2 {k} {k} {v} {n})~",
    R"~("return {redis.call('type', KEYS[1]), redis.call('pttl', KEYS[1]), redis.call('exists', KEYS[1])}" 1 {k})~",
    R"~("local t = redis.call('time') return {t[1], t[2]}" 0)~",
    R"~("return redis.call('set', KEYS[1], tonumber(ARGV[1]))" 1 {k} {n})~",
    R"~("return tostring(tonumber(ARGV[1]))" 0 {score})~",
    R"~("return cjson.encode({ARGV[1], tonumber(ARGV[2])})" 0 {v} {n})~",
    R"~("redis.setresp(3) return redis.call('hgetall', KEYS[1])" 1 {k})~",
    R"~("redis.setresp(3) return redis.call('zrange', KEYS[1], 0, -1, 'withscores')" 1 {k})~",
    R"~("redis.setresp(3) local r = redis.call('get', KEYS[1]) return {r == nil, r == false, r}" 1 {k})~",
    R"~("redis.setresp({protocol}) return redis.call('zscore', KEYS[1], ARGV[1])" 1 {k} {f})~",
    R"~("return {double = tonumber(ARGV[1])}" 0 {score})~",
    R"~("return {{map = {[ARGV[1]] = true}}, {set = {[ARGV[2]] = true}}, false}" 0 {v} {f})~",
    R"~("return {verbatim_string = {format = 'txt', string = ARGV[1]}, big_number = KEYS[1]}" 0 {v})~",
    R"~("error(ARGV[1])" 0 {v})~",
    R"~("return redis.error_reply(ARGV[1])" 0 {v})~",
};

const std::map<std::string, std::vector<std::string>, std::less<>> kPools = {
    {"k", {"a", "b", "c"}},
    {"v", {"1", "5", "x", "-3", "\"\"", "\"a b\"", "1.5", "9223372036854775807", "\"\\x00\\xff\""}},
    {"n", {"1", "-1", "7", "1000", "9223372036854775807", "-9223372036854775808", "abc", "1.5"}},
    {"f", {"f", "g", "u:1"}},
    {"i", {"0", "1", "-1", "2", "-2", "5"}},
    {"ms", {"1", "50", "100", "1000", "1500", "0", "-5"}},
    {"at", {"+100", "+0", "-50", "+1000"}},
    {"score", {"1", "2", "-1.5", "inf", "-inf", "0.1", "1700000000123", "abc"}},
    {"flag", {"NX", "XX", "GT", "LT"}},
    {"zflag", {"NX", "XX", "GT", "LT", "CH", "INCR", "NX CH"}},
    {"ch", {"ch1", "ch2"}},
    {"db", {"0", "0", "1"}},
    {"protocol", {"2", "3"}},
    {"kind", {"string", "double", "null", "array", "set", "map", "bignum", "verbatim", "true", "false"}},
};

const std::vector<std::string> kWaits = {"1ms", "49ms", "50ms", "100ms", "400ms", "999ms", "1s", "1500ms"};

std::string filled(const std::string& pattern) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size();) {
    const std::size_t end = pattern[i] == '{' ? pattern.find('}', i) : std::string::npos;
    const auto pool =
        end == std::string::npos ? kPools.end() : kPools.find(pattern.substr(i + 1, end - i - 1));
    if (pool == kPools.end()) {
      text += pattern[i++];
      continue;
    }
    text += *rc::gen::elementOf(pool->second);
    i = end + 1;
  }
  return text;
}

rc::Gen<std::string> any_step() {
  return rc::gen::exec([]() -> std::string {
    const int kind = *rc::gen::inRange(0, 100);
    if (kind < 14) return "advance " + *rc::gen::elementOf(kWaits);
    if (kind < 19) {  // connection 3 is the subscriber
      return "3: " +
             filled(*rc::gen::element<std::string>("SUBSCRIBE {ch}", "UNSUBSCRIBE {ch}", "drain", "drain",
                                                   "any HELLO {protocol}", "PSUBSCRIBE ch*"));
    }
    const std::string connection = *rc::gen::element<std::string>("", "", "2: ");
    if (kind < 37) return connection + "EVAL " + filled(*rc::gen::elementOf(kScripts));
    return connection + filled(*rc::gen::elementOf(kCommands));
  });
}

}  // namespace

rc::Gen<std::vector<std::string>> any_sequence() {
  return rc::gen::container<std::vector<std::string>>(any_step());
}

}  // namespace holdfast::sim::oracle
