// Publish and subscribe, sharded channels included (one shard: this server).
#include "sim/redis/cluster/cluster.h"
#include "sim/redis/command.h"
#include "sim/redis/engine.h"
#include "sim/redis/glob.h"

namespace holdfast::sim::embedded {
namespace {

void confirm(Call& c, std::string_view kind, std::string_view name, std::size_t count, bool has_name = true) {
  c.out.push(3);
  c.out.bulk(kind);
  has_name ? c.out.bulk(name) : c.out.nil();
  c.out.integer(static_cast<std::int64_t>(count));
}

enum class Space { channels, patterns, shards };

PubSub::Listeners& listeners(Call& c, Space space) {
  PubSub& pubsub = c.engine.pubsub();
  return space == Space::channels   ? pubsub.channels
         : space == Space::patterns ? pubsub.patterns
                                    : pubsub.shard_channels;
}
OrderedDict<Nothing>& own(Call& c, Space space) {
  Session& s = c.session;
  return space == Space::channels ? s.channels : space == Space::patterns ? s.patterns : s.shard_channels;
}
std::size_t count_of(Call& c, Space space) {
  return space == Space::shards ? c.session.shard_channels.size() : c.session.subscriptions();
}

void enter(Call& c, Space space, std::string_view kind) {
  for (std::size_t i = 1; i < c.argc(); ++i) {
    c.engine.pubsub().subscribe(listeners(c, space), c.session, c.arg(i));
    confirm(c, kind, c.arg(i), count_of(c, space));
  }
}

void leave(Call& c, Space space, std::string_view kind) {
  std::vector<std::string> names;
  if (c.argc() == 1) {
    own(c, space).each([&](const std::string& name, const Nothing&) { names.push_back(name); });
    if (names.empty()) return confirm(c, kind, "", count_of(c, space), false);
  } else {
    names.assign(c.argv.begin() + 1, c.argv.end());
  }
  for (const std::string& name : names) {
    c.engine.pubsub().unsubscribe(listeners(c, space), c.session, name);
    confirm(c, kind, name, count_of(c, space));
  }
}

void subscribe(Call& c) { enter(c, Space::channels, "subscribe"); }
void psubscribe(Call& c) { enter(c, Space::patterns, "psubscribe"); }
void ssubscribe(Call& c) { enter(c, Space::shards, "ssubscribe"); }
void unsubscribe(Call& c) { leave(c, Space::channels, "unsubscribe"); }
void punsubscribe(Call& c) { leave(c, Space::patterns, "punsubscribe"); }
void sunsubscribe(Call& c) { leave(c, Space::shards, "sunsubscribe"); }

void publish_generic(Call& c, bool shard) {
  const std::int64_t receivers = c.engine.pubsub().publish(c.engine, c.arg(1), c.arg(2), shard);
  if (Cluster* const cluster = c.engine.cluster(); cluster != nullptr) {
    cluster->publish(c.arg(1), c.arg(2), shard);
  } else {
    c.engine.propagate_publish(c.session.db, c.argv);
  }
  c.out.integer(receivers);
}
void publish(Call& c) { publish_generic(c, false); }
void spublish(Call& c) { publish_generic(c, true); }

void names(Call& c, const PubSub::Listeners& where) {
  std::vector<std::string_view> matching;
  for (const auto& [name, sessions] : where) {
    if (c.argc() < 3 || glob_match(c.arg(2), name)) matching.push_back(name);
  }
  c.out.array(matching.size());
  for (const std::string_view name : matching) c.out.bulk(name);
}
void counts(Call& c, const PubSub::Listeners& where) {
  c.out.array(2 * (c.argc() - 2));
  for (std::size_t i = 2; i < c.argc(); ++i) {
    const auto it = where.find(c.arg(i));
    c.out.bulk(c.arg(i));
    c.out.integer(it == where.end() ? 0 : static_cast<std::int64_t>(it->second.size()));
  }
}
void pubsub_channels(Call& c) { names(c, c.engine.pubsub().channels); }
void pubsub_shardchannels(Call& c) { names(c, c.engine.pubsub().shard_channels); }
void pubsub_numsub(Call& c) { counts(c, c.engine.pubsub().channels); }
void pubsub_shardnumsub(Call& c) { counts(c, c.engine.pubsub().shard_channels); }
void pubsub_numpat(Call& c) { c.out.integer(static_cast<std::int64_t>(c.engine.pubsub().patterns.size())); }

}  // namespace

void add_pubsub_commands(Specs& specs) {
  constexpr std::uint32_t kS = kPubSub | kNoScript | kInPubSub;
  constexpr std::uint32_t kP = kPubSub | kFast | kMayReplicate;
  specs.insert(specs.end(), {
                                {"subscribe", subscribe, -2, kS},
                                {"psubscribe", psubscribe, -2, kS},
                                {"ssubscribe", ssubscribe, -2, kS, {1, -1, 1}},
                                {"unsubscribe", unsubscribe, -1, kS},
                                {"punsubscribe", punsubscribe, -1, kS},
                                {"sunsubscribe", sunsubscribe, -1, kS, {1, -1, 1}},
                                {"publish", publish, 3, kP},
                                {"spublish", spublish, 3, kP, {1, 1, 1}},
                                {"pubsub", nullptr, -2, kContainer},
                                {"pubsub|channels", pubsub_channels, -2, kPubSub},
                                {"pubsub|shardchannels", pubsub_shardchannels, -2, kPubSub},
                                {"pubsub|numsub", pubsub_numsub, -2, kPubSub},
                                {"pubsub|shardnumsub", pubsub_shardnumsub, -2, kPubSub},
                                {"pubsub|numpat", pubsub_numpat, 2, kPubSub},
                            });
}

}  // namespace holdfast::sim::embedded
