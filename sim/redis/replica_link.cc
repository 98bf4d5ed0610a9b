#include "sim/redis/replica_link.h"

#include <array>
#include <chrono>

#include "sim/redis/shown_parker.h"

namespace holdfast::sim::embedded {

using std::chrono::seconds;

ReplicaLink::ReplicaLink(Runtime& runtime, Network& network, std::shared_ptr<Engine> engine,
                         std::uint16_t port, std::string host)
    : runtime_(runtime), network_(network), engine_(std::move(engine)), port_(port), host_(std::move(host)) {}

void ReplicaLink::stop() {
  stopped_ = true;
  poke();
}

void ReplicaLink::poke() {
  if (stream_ != nullptr && (stopped_ || generation_ != engine_->replication().link_generation()))
    stream_->close();
  if (parker_ != nullptr) parker_->unpark();
}

void ReplicaLink::serve() {
  const ShownParker shown(parker_, runtime_.parker());
  while (!stopped_) {
    Replication& replication = engine_->replication();
    if (!replication.is_replica() || engine_->loads()) {
      parker_->park_until(kNever);
      continue;
    }
    generation_ = replication.link_generation();
    follow_once();
    stream_.reset();
    in_.clear();
    in_pos_ = 0;
    if (stopped_) break;
    if (generation_ == replication.link_generation()) {
      replication.set_link_state(LinkState::connect);
      const MonotonicTime again = runtime_.now() + seconds(1);
      while (!stopped_ && generation_ == replication.link_generation() && runtime_.now() < again) {
        parker_->park_until(again);
      }
    }
  }
}

void ReplicaLink::follow_once() {
  Replication& replication = engine_->replication();
  replication.set_link_state(LinkState::connecting);
  const Endpoint primary = replication.primary();
  Connected connected = network_.connect(primary, runtime_.now() + seconds(engine_->config().repl_timeout_s));
  if (connected.status != IoStatus::ok || stopped_ || generation_ != replication.link_generation()) return;
  stream_ = std::move(connected.stream);
  if (!synchronise()) return;
  std::int64_t heard_ms = engine_->wall_ms();  // Redis counts its time-outs on the wall clock
  MonotonicTime next_ack = runtime_.now() + seconds(1);
  const auto followed = [&] { return !stopped_ && generation_ == replication.link_generation(); };
  while (followed()) {
    wait_for_script();
    while (followed() && runtime_.now() < engine_->still_until())
      runtime_.sleep_until(engine_->next_look_at_disk());
    if (!followed()) break;
    replication.apply(in_, in_pos_);
    in_.erase(0, in_pos_);
    in_pos_ = 0;
    if (runtime_.now() >= next_ack) {
      replication.send_ack();
      next_ack += seconds(1);
    }
    if (!acknowledge() || !followed()) break;
    const IoStatus status = read_some(next_ack);
    if (status == IoStatus::ok) {
      heard_ms = engine_->wall_ms();
    } else if (status != IoStatus::timed_out ||
               engine_->wall_ms() - heard_ms > engine_->config().repl_timeout_s * 1000) {
      break;
    }
  }
}

// A replica that is busy with a script of its own lets the stream gather (Redis: processInputBuffer()).
void ReplicaLink::wait_for_script() {
  while (!stopped_ && engine_->script_paused()) {
    runtime_.sleep_for(std::chrono::milliseconds(engine_->script_rest_ms()));
  }
}

IoStatus ReplicaLink::read_some(MonotonicTime deadline) {
  std::array<char, 4096> chunk;
  const IoResult got = stream_->read(chunk, deadline);
  if (got.ok()) in_.append(chunk.data(), got.bytes);
  return got.status;
}

bool ReplicaLink::fill() {
  return read_some(runtime_.now() + seconds(engine_->config().repl_timeout_s)) == IoStatus::ok;
}

bool ReplicaLink::line(std::string& text) {
  while (true) {
    const std::size_t end = in_.find("\r\n", in_pos_);
    if (end != std::string::npos) {
      text = in_.substr(in_pos_, end - in_pos_);
      in_pos_ = end + 2;
      return true;
    }
    if (!fill()) return false;
  }
}

bool ReplicaLink::ask(std::string_view request, std::string& answer) {
  return stream_->write(request, runtime_.now() + seconds(engine_->config().repl_timeout_s)).ok() &&
         line(answer);
}

bool ReplicaLink::synchronise() {
  Replication& replication = engine_->replication();
  std::string answer;
  const auto request = [&](std::initializer_list<std::string_view> words) {
    std::string bytes;
    append_request(bytes, {words.begin(), words.size()});
    return ask(bytes, answer);
  };
  if (!request({"PING"})) return false;
  const std::string port = std::to_string(port_);
  if (!request({"REPLCONF", "listening-port", port})) return false;
  if (!host_.empty() && !request({"REPLCONF", "ip-address", host_})) return false;
  if (!request({"REPLCONF", "capa", "eof", "capa", "psync2"})) return false;
  if (!ask(replication.sync_request(), answer)) return false;
  if (generation_ != replication.link_generation()) return false;
  replication.target_answered(answer.starts_with("+CONTINUE") || answer.starts_with("+FULLRESYNC "));
  engine_->finish_batch();
  if (generation_ != replication.link_generation()) return false;
  if (answer.starts_with("+CONTINUE")) {
    replication.partial_sync(answer.size() > 10 ? answer.substr(10) : "");
    return true;
  }
  if (!answer.starts_with("+FULLRESYNC ") || answer.size() < 54) return false;
  const std::string id = answer.substr(12, 40);
  std::int64_t offset = 0;
  if (!parse_integer(std::string_view(answer).substr(53), offset)) return false;
  replication.set_link_state(LinkState::sync);
  do {
    if (!line(answer)) return false;  // empty lines keep the connection alive while a real primary prepares
  } while (answer.empty());
  std::int64_t size = 0;
  if (answer[0] != '$' || !parse_integer(std::string_view(answer).substr(1), size) || size < 0) return false;
  while (in_.size() - in_pos_ < static_cast<std::size_t>(size)) {
    if (!fill()) return false;
  }
  if (generation_ != replication.link_generation()) return false;
  const std::string snapshot = in_.substr(in_pos_, static_cast<std::size_t>(size));
  in_pos_ += static_cast<std::size_t>(size);
  wait_for_script();
  if (stopped_ || generation_ != replication.link_generation()) return false;
  replication.full_sync(id, offset, snapshot);
  engine_->finish_batch();
  return true;
}

bool ReplicaLink::acknowledge() {
  const std::string bytes = engine_->replication().take_link_output();
  return bytes.empty() ||
         stream_->write(bytes, runtime_.now() + seconds(engine_->config().repl_timeout_s)).ok();
}

}  // namespace holdfast::sim::embedded
