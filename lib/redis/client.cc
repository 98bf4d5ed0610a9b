#include "lib/redis/client.h"

#include <array>
#include <charconv>
#include <utility>

#include "lib/redis/client_impl.h"
#include "lib/redis/failure.h"
#include "lib/runtime/task_pool.h"

namespace holdfast::redis {

Client::Client(Runtime& runtime, Network& network, ClientOptions options)
    : impl_(std::make_shared<Impl>(runtime, network, std::move(options))),
      callbacks_(std::make_unique<TaskPool>(runtime, "callback")) {}

Client::~Client() {
  try {
    impl_->shutdown();
  } catch (const TaskCancelled&) {  // the process is being killed: its tasks end by themselves
  }
}

Error Client::refusal(std::string_view command, const Answer& answer) const {
  return impl_->refusal(answer.node, command, answer.reply);
}

std::size_t Client::node_of(std::string_view key) const { return impl_->node_of(key); }

bool Client::run_callback(std::function<void()> callback) { return callbacks_->run(std::move(callback)); }

ClientStatistics Client::statistics() const noexcept {
  const Servers::Counts& counts = impl_->counts();
  return {.commands = counts.commands,
          .unanswered = counts.unanswered,
          .connections = counts.connections,
          .reconnections = counts.reconnections,
          .failed_connections = counts.failed_connections};
}

Runtime& Client::runtime() noexcept { return impl_->runtime(); }
const ClientOptions& Client::options() const noexcept { return impl_->options(); }

Answer Client::call(Arguments command, const CallOptions& options) {
  const std::shared_ptr<Impl> impl = impl_;
  const CommandView view{{command, {}, {}}};
  Answer answer;
  const MonotonicTime now = impl->runtime().now();
  const Impl::Sent sent =
      impl->execute({&view, 1}, {&answer.reply, 1}, now, impl->deadline_of(options, now), options);
  answer.node = impl->name_of(sent.node);
  answer.sent_at = sent.sent_at;
  if (answer.reply.is_error()) throw impl->refusal(answer.node, view.name(), answer.reply);
  return answer;
}

Answer Client::call(std::initializer_list<std::string_view> command, const CallOptions& options) {
  return call(Arguments(command.begin(), command.size()), options);
}

std::vector<Answer> Client::call_all(std::span<const std::vector<std::string_view>> commands,
                                     const CallOptions& options) {
  const std::shared_ptr<Impl> impl = impl_;
  std::vector<Answer> answers(commands.size());
  if (commands.empty()) return answers;
  std::vector<CommandView> views;
  views.reserve(commands.size());
  for (const auto& command : commands) views.push_back({{command, {}, {}}});
  std::vector<Reply> replies(commands.size());
  const MonotonicTime now = impl->runtime().now();
  const Impl::Sent sent = impl->execute(views, replies, now, impl->deadline_of(options, now), options);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i] = {std::move(replies[i]), impl->name_of(sent.node), sent.sent_at};
  }
  return answers;
}

Answer Client::eval(const Script& script, Arguments keys, Arguments args, const CallOptions& options) {
  const std::shared_ptr<Impl> impl = impl_;
  std::array<char, 20> digits;
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), keys.size()).ptr;
  const std::string_view count(digits.data(), static_cast<std::size_t>(end - digits.data()));
  MonotonicTime now = impl->runtime().now();
  const MonotonicTime deadline = impl->deadline_of(options, now);

  std::array<std::string_view, 3> head = {"EVALSHA", script.sha1, count};
  Answer answer;
  for (;;) {
    const CommandView view{{head, keys, args}};
    const Impl::Sent sent = impl->execute({&view, 1}, {&answer.reply, 1}, now, deadline, options);
    answer.node = impl->name_of(sent.node);
    answer.sent_at = sent.sent_at;
    if (!answer.reply.is_error()) return answer;
    if (head[0] == "EVAL" || meaning_of(answer.reply.text) != Meaning::unknown) {
      throw impl->refusal(answer.node, view.name(), answer.reply);
    }
    head[0] = "EVAL";
    head[1] = script.text;
    now = impl->runtime().now();
  }
}

std::shared_ptr<void> Client::shared(const std::function<std::shared_ptr<void>()>& make) {
  return impl_->shared(make);
}

std::unique_ptr<Subscription> Client::subscribe(std::string channel,
                                                std::function<void(std::string_view payload)> on_message,
                                                std::function<void()> on_subscribed) {
  impl_->check_process("SUBSCRIBE");
  return impl_->subscribe(std::move(channel), std::move(on_message), std::move(on_subscribed));
}

std::unique_ptr<Subscription> Client::subscribe_sharded(
    std::string channel, std::function<void(std::string_view payload)> on_message,
    std::function<void(std::string_view node)> on_subscribed) {
  impl_->check_process("SSUBSCRIBE");
  return impl_->subscribe_sharded(std::move(channel), std::move(on_message), std::move(on_subscribed));
}

}  // namespace holdfast::redis
