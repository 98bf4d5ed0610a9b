#include "sim/comparators/postgresql/session.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <utility>

namespace holdfast::sim::postgresql {
namespace {

// The last line end, and what libpq puts before, are of no use in a history.
std::string text_of(const char* message) {
  std::string text = message == nullptr ? "" : message;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

Answer answer_of(pg_result* result) {
  Answer answer;
  const int columns = PQnfields(result);
  for (int row = 0; row < PQntuples(result); ++row) {
    Row& values = answer.rows.emplace_back();
    for (int column = 0; column < columns; ++column) values.emplace_back(PQgetvalue(result, row, column));
  }
  const std::string_view affected = PQcmdTuples(result);
  std::from_chars(affected.data(), affected.data() + affected.size(), answer.affected);
  return answer;
}

}  // namespace

std::shared_ptr<Session> Session::connect(Runtime& runtime, const SessionOptions& options) {
  std::string problems;
  for (const redis::Node& node : options.nodes) {
    try {
      std::shared_ptr<Session> session(new Session(runtime, node.name));
      session->connect_to(node, options);
      return session;
    } catch (const Error& error) {
      problems += (problems.empty() ? "" : "; ") + node.name + ": " + error.what();
    }
  }
  throw Error(problems, "", false);
}

void Session::connect_to(const redis::Node& node, const SessionOptions& options) {
  const std::string port = std::to_string(node.endpoint.port);
  // Everything that the environment or a file of the machine would decide else is decided here.
  const std::vector<std::pair<const char*, const char*>> settings = {
      {"hostaddr", node.endpoint.host.c_str()},
      {"port", port.c_str()},
      {"user", "holdfast"},
      {"dbname", "postgres"},
      {"passfile", "/dev/null/none"},
      {"sslmode", "disable"},
      {"gssencmode", "disable"},
      {"options", ""},
      {"client_encoding", "UTF8"},
      {"application_name", options.application.c_str()},
      {"target_session_attrs", options.takes_writes ? "read-write" : "any"}};
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : settings) {
    keys.push_back(key);
    values.push_back(value);
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);
  connection_ = PQconnectStartParams(keys.data(), values.data(), 0);
  if (connection_ == nullptr) throw Error("out of memory", "", false);
  PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  const MonotonicTime deadline = deadline_after(runtime_.now(), options.connect_timeout);
  PostgresPollingStatusType status =
      PQstatus(connection_) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (status == PGRES_POLLING_READING || status == PGRES_POLLING_WRITING) {
    watch_socket();
    if (!wait(status == PGRES_POLLING_READING, deadline)) throw Error("no connection in time", "", false);
    status = PQconnectPoll(connection_);
  }
  if (status != PGRES_POLLING_OK) throw Error(text_of(PQerrorMessage(connection_)), "", false);
  watch_socket();
  PQsetnonblocking(connection_, 1);
  alive_ = true;
  reader_ = runtime_.spawn("reader", [this] { read(); });
}

Session::~Session() {
  break_off();
  reader_ = Task();  // joined
  forget_socket();
  if (connection_ != nullptr) PQfinish(connection_);
}

void Session::break_off() noexcept {
  alive_ = false;
  // Not by PQfinish(), which says good-bye first: a process that was killed does not.
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

void Session::watch_socket() {
  forget_socket();
  socket_ = ::fcntl(PQsocket(connection_), F_DUPFD_CLOEXEC, 0);
}

void Session::forget_socket() noexcept {
  if (socket_ < 0) return;
  runtime_.forget_fd(socket_);
  ::close(std::exchange(socket_, -1));
}

bool Session::wait(bool readable, MonotonicTime deadline) {
  while (!runtime_.wait_fd(socket_, readable ? FdInterest::readable : FdInterest::writable, deadline)) {
    if (runtime_.now() >= deadline) return false;
  }
  return true;
}

void Session::read() {
  while (alive_) {
    if (!wait(true, kNever)) continue;
    if (!alive_) break;
    const bool consumed = PQconsumeInput(connection_) == 1;
    take_results();
    if (!consumed || PQstatus(connection_) == CONNECTION_BAD) over(text_of(PQerrorMessage(connection_)));
  }
}

void Session::take_results() {
  while (PQisBusy(connection_) == 0) {
    pg_result* const result = PQgetResult(connection_);
    if (result == nullptr) {
      if (std::exchange(asked_, false)) {
        done_ = true;
        if (asking_ != nullptr) asking_->unpark();
      }
      return;
    }
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      answer_ = answer_of(result);
    } else {
      const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
      error_.emplace(text_of(PQresultErrorMessage(result)), state == nullptr ? "" : state, state == nullptr);
    }
    PQclear(result);
  }
}

void Session::over(const std::string& why) {
  if (!std::exchange(alive_, false)) return;
  why_ = why.empty() ? "the connection ended" : why;
  if (asking_ != nullptr) asking_->unpark();
  if (ended_) ended_(why_);
}

Answer Session::ask(const char* statement, const std::vector<std::string>& arguments, MonotonicTime deadline,
                    const std::stop_token& stop) {
  if (!alive_) throw Error(why_.empty() ? "the connection was broken off" : why_, "", false);
  std::vector<const char*> values;
  for (const std::string& argument : arguments) values.push_back(argument.c_str());
  answer_.reset();
  error_.reset();
  done_ = false;
  const MonotonicTime sent_at = runtime_.now();
  struct Asking {  // also when this task is cancelled
    Session& session;
    ~Asking() { session.asking_ = nullptr; }
  } const asking{*this};
  asking_ = &runtime_.parker();
  asked_ = true;
  if (PQsendQueryParams(connection_, statement, static_cast<int>(values.size()), nullptr, values.data(),
                        nullptr, nullptr, 0) != 1) {
    asked_ = false;
    throw Error(text_of(PQerrorMessage(connection_)), "", false);
  }
  while (alive_ && PQflush(connection_) == 1) {
    if (!wait(false, deadline)) break;
  }
  const std::stop_callback wake(stop, [this] {
    if (asking_ != nullptr) asking_->unpark();
  });
  while (alive_ && !done_) {
    if (stop.stop_requested() || runtime_.now() >= deadline) {
      break_off();
      throw Error("no answer in time", "", true);
    }
    asking_->park_until(deadline);
  }
  if (error_) throw Error(*error_);
  if (!done_) throw Error(why_, "", true);
  Answer answer = answer_.value_or(Answer{});
  answer.sent_at = sent_at;
  return answer;
}

}  // namespace holdfast::sim::postgresql
