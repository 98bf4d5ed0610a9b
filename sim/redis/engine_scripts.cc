// Engine, third part: commands that run scripts, and a server that is busy with one (Redis: script.c,
// scriptInterrupt(); networking.c, processEventsWhileBlocked()).
//
// A script that takes time is paused in the middle of its command; its effects are still pending. The owner
// lets time pass and calls continue_script(). Until busy-reply-threshold requests of others wait; from then
// on they are answered with BUSY, but for those with kAllowBusy. tick() does nothing, as serverCron() is not
// called then. Nothing else changes the keyspace meanwhile, so that the script stays atomic.
#include <utility>

#include "lib/runtime/check.h"
#include "sim/redis/engine.h"
#include "sim/redis/script_engine.h"

namespace holdfast::sim::embedded {

bool Engine::run_scripted(Session& session, const CommandSpec& spec, Args argv) {
  job_.session = &session;
  job_.spec = &spec;
  job_.argv = argv;
  job_.started_ms = mono_ms();
  const std::size_t before = session.out.bytes.size();
  if (scripts_->stack().run(
          [this] { call(*job_.session, *job_.spec, std::exchange(job_.argv, {}), job_.session->out); })) {
    job_ = {};
    return true;
  }
  job_.kept = sessions_.find(session.id)->second;
  job_.reply = session.out.bytes.substr(before);
  session.out.bytes.resize(before);
  block(session, Blocked::by_script, 0);
  on_script_paused();
  return false;
}

void Engine::pass_script_time(std::int64_t ms) {
  const bool was_paused = job_.kept != nullptr;  // then it goes on, whether or not its client is still there
  if (on_script_paused && (was_paused || session_by_id(job_.session->id) == job_.session)) {
    job_.rest_ms = ms;
    return scripts_->stack().pause();
  }
  // Nobody can wait for it and nobody can kill it: a file that is replayed, a replication stream.
  job_.unpaused_ms += ms;
  if (job_.unpaused_ms >= std::max<std::int64_t>(config_.busy_reply_threshold_ms, 1)) scripts_->kill();
}

void Engine::continue_script() {
  if (!script_paused()) return;
  const std::shared_ptr<Session> session = job_.kept;
  // Others may have pushed something to this session: it stands before the reply.
  std::string pushed;
  pushed.swap(session->out.bytes);
  session->out.bytes.swap(job_.reply);
  const bool done = scripts_->stack().resume();
  job_.reply.swap(session->out.bytes);
  session->out.bytes.swap(pushed);
  if (!done) {
    const std::int64_t threshold = config_.busy_reply_threshold_ms;
    if (!busy_ && threshold > 0 && mono_ms() - job_.started_ms >= threshold) {
      busy_ = true;
      admit_held_back();
    }
    return finish_batch();
  }
  const std::size_t before = session->out.bytes.size();
  session->out.bytes += job_.reply;
  job_ = {};
  busy_ = false;
  end_call(*session);
  end_reply(*session, before);
  unblock(*session);
  admit_held_back();
  finish_batch();
}

// Lets those go on whose requests waited for the script.
void Engine::admit_held_back() {
  std::vector<Session*> held;
  for (const auto& [order, id] : blocked_) {
    Session* const session = session_by_id(id);
    if (session != nullptr && session->blocked == Blocked::by_script && session != job_.session) {
      held.push_back(session);
    }
  }
  for (Session* const session : held) unblock(*session);
}

void Engine::abandon_script() {
  abandoning_ = true;  // what it did reaches neither replicas nor the disk
  scripts_->abandon();
  abandoning_ = false;
  job_ = {};
  busy_ = false;
}

}  // namespace holdfast::sim::embedded
