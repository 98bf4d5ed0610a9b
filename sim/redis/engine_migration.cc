// Engine, fourth part: MIGRATE. As redis-server does, the server stands still while keys travel: others wait
// until the target has answered, and what has arrived there is deleted here. The owner does the travelling.
#include <utility>

#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

bool Engine::begin_transfer(Session& session, Transfer transfer) {
  const auto client = sessions_.find(session.id);
  if (!on_transfer || client == sessions_.end()) return false;
  moving_ = {client->second, std::move(transfer)};
  block(session, Blocked::by_transfer, 0);
  on_transfer(moving_.transfer);
  return true;
}

void Engine::end_transfer(const std::vector<bool>& arrived, std::string_view reply) {
  const Moving done = std::exchange(moving_, {});
  if (done.client == nullptr) return;
  std::vector<std::string> gone;
  for (std::size_t i = 0; i < done.transfer.keys.size() && !done.transfer.keep; ++i) {
    if (i < arrived.size() && arrived[i]) gone.push_back(done.transfer.keys[i]);
  }
  delete_keys(done.transfer.db, gone);
  Session& client = *done.client;
  ++stats_of(*CommandTable::instance().find("migrate")).calls;
  client.out.raw(reply);
  if (reply.starts_with('-')) count_error(reply.substr(1, reply.find('\r') - 1));
  end_call(client);
  if (!client.closed) unblock(client);
  admit_held_back();
  finish_batch();
}

void Engine::delete_keys(int db, std::span<const std::string> keys) {
  if (keys.empty()) return;
  const CommandSpec& del = *CommandTable::instance().find("del");
  std::vector<std::string_view> words = {"DEL"};
  words.insert(words.end(), keys.begin(), keys.end());
  Session own;
  own.fake = true;
  own.db = db;
  call(own, del, words, own.out);
  --stats_of(del).calls;
}

}  // namespace holdfast::sim::embedded
