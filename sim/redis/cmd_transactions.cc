// MULTI, EXEC, DISCARD, WATCH, UNWATCH.
#include "sim/redis/command.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

void reset_transaction(Engine& engine, Session& session) {
  session.in_multi = session.abort_exec = false;
  session.queue.clear();
  session.queued_flags = 0;
  engine.unwatch_all(session);
}

namespace {

void multi(Call& c) {
  if (c.session.in_multi) return c.out.error("ERR MULTI calls can not be nested");
  c.session.in_multi = true;
  c.out.ok();
}

void exec(Call& c) {
  Session& session = c.session;
  c.propagate_nothing = true;
  if (!session.in_multi) return c.out.error("ERR EXEC without MULTI");
  const bool failed = session.watch_failed || c.engine.watched_key_expired(session);
  if (failed || session.abort_exec) {
    session.abort_exec ? c.out.error("EXECABORT Transaction discarded because of previous errors.")
                       : c.out.nil_array();
    return reset_transaction(c.engine, session);
  }
  c.engine.unwatch_all(session);
  CommandQueue queue;
  std::swap(queue, session.queue);
  c.out.array(queue.size());
  queue.for_each([&](const CommandSpec& spec, Args argv) { c.engine.call(session, spec, argv, c.out); });
  std::swap(queue, session.queue);  // keeps its memory
  reset_transaction(c.engine, session);
}

void discard(Call& c) {
  if (!c.session.in_multi) return c.out.error("ERR DISCARD without MULTI");
  reset_transaction(c.engine, c.session);
  c.out.ok();
}

void watch(Call& c) {
  if (c.session.in_multi) return c.out.error("ERR WATCH inside MULTI is not allowed");
  if (!c.session.watch_failed) {
    for (std::size_t i = 1; i < c.argc(); ++i) c.engine.watch(c.session, c.arg(i));
  }
  c.out.ok();
}

void unwatch(Call& c) {
  c.engine.unwatch_all(c.session);
  c.out.ok();
}

}  // namespace

void add_transaction_commands(Specs& specs) {
  constexpr std::uint32_t kT = kNoScript | kFast | kInMulti;
  specs.insert(specs.end(), {
                                {"multi", multi, 1, kT | kAllowBusy},
                                {"exec", exec, 1, kNoScript | kInMulti},
                                {"discard", discard, 1, kT | kAllowBusy},
                                {"watch", watch, -2, kT | kAllowBusy, {1, -1, 1}},
                                {"unwatch", unwatch, 1, kNoScript | kFast | kAllowBusy},
                            });
}

}  // namespace holdfast::sim::embedded
