#include "sim/external/program.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "sim/external/bad_program.h"

namespace holdfast::sim {
namespace {

constexpr std::size_t kTail = 4096;
constexpr std::size_t kMostLine = 65536;
constexpr std::uint64_t kMostErrors = 1 << 20;  // bytes of standard error that are kept

}  // namespace

std::string path_of_program(const std::string& name, const std::string& folder) {
  if (name.find('/') == std::string::npos) return find_program(name);
  const std::string path = (std::filesystem::path(folder) / name).string();
  return ::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path) ? path : "";
}

Program::Program(Ears& ears, ProgramOptions options) : ears_(ears), options_(std::move(options)) {
  ChildOptions child;
  child.program = path_of_program(options_.command.front(), options_.folder);
  if (child.program.empty())
    throw BadProgram("client " + options_.name + ": there is no program `" + options_.command.front() +
                     "` on this machine");
  child.arguments.assign(options_.command.begin() + 1, options_.command.end());
  child.folder = options_.folder;
  child.environment = options_.environment;
  child.inherited = options_.inherited;
  child.pause_group = true;
  Pipe out = make_pipe();
  out_ = ears_.open(out.read);
  Pipe err = make_pipe();
  err_ = ears_.open(err.read);
  child.output_fd = out.write;
  child.error_fd = err.write;
  try {
    child_ = std::make_unique<ChildProcess>(child);
  } catch (...) {
    close_fd(out.write);
    close_fd(err.write);
    throw;
  }
  close_fd(out.write);
  close_fd(err.write);
  // A later incarnation goes on in the same files.
  out_log_.file.open(options_.kept + "/" + options_.name + ".stdout.log", std::ios::binary | std::ios::app);
  err_log_.file.open(options_.kept + "/" + options_.name + ".stderr.log", std::ios::binary | std::ios::app);
  out_log_.most = options_.most_output;
  err_log_.most = kMostErrors;
}

Program::~Program() {
  kill();
  write(out_log_, out_log_.rest.size());
  write(err_log_, err_log_.rest.size());
  ears_.close(out_);
  ears_.close(err_);
}

void Program::kill() {
  if (!end_) end_ = child_->ended();
  if (!end_) end_ = ChildEnd{.by_signal = true, .number = 9};
  child_->kill();
}

std::string Program::keep(Ear& ear, Log& log) {
  std::string text = ear.take();
  log.rest += text;
  const std::size_t last = log.rest.rfind('\n');
  if (last != std::string::npos) write(log, last + 1);
  // Its end may be the beginning of a secret.
  if (log.rest.size() > kMostLine) write(log, log.rest.size() - kTail);
  return text;
}

// The first `bytes` of what is to be kept.
void Program::write(Log& log, std::size_t bytes) {
  if (bytes == 0) return;
  const std::string text = options_.secrets.masked(log.rest.substr(0, bytes));
  log.rest.erase(0, bytes);
  const std::uint64_t room = log.most - std::min(log.most, log.kept);
  log.file.write(text.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(room, text.size())));
  log.file.flush();
  log.kept += text.size();
}

std::vector<Program::Line> Program::take_lines() {
  err_tail_ += keep(*err_, err_log_);
  if (err_tail_.size() > kTail) err_tail_.erase(0, err_tail_.size() - kTail);
  const std::string text = keep(*out_, out_log_);
  if (out_->bytes() > options_.most_output)
    throw BadProgram("client " + options_.name + " printed more than " +
                     std::to_string(options_.most_output) + " bytes (`output`)");
  std::vector<Line> lines;
  std::int64_t not_before = rest_.empty() ? out_->not_before_ns() : rest_not_before_ns_;
  rest_ += text;
  std::size_t begin = 0;
  for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++lines_;
    std::string line = rest_.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) lines.push_back({std::move(line), lines_, not_before});
    not_before = out_->not_before_ns();
  }
  rest_.erase(0, begin);
  rest_not_before_ns_ = not_before;
  if (rest_.size() > kMostLine)
    throw BadProgram("client " + options_.name + ": line " + std::to_string(lines_ + 1) +
                     " of its output is longer than " + std::to_string(kMostLine) + " bytes");
  return lines;
}

// What its children still hold open is of no interest once it is gone.
std::optional<ChildEnd> Program::over() const { return end_ ? end_ : child_->ended(); }

std::string Program::last_words() const {
  std::string text = err_tail_;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const std::size_t last = text.rfind('\n');
  if (last != std::string::npos) text.erase(0, last + 1);
  text = options_.secrets.masked(std::move(text));
  return text.size() <= 300 ? text : text.substr(0, 297) + "...";
}

}  // namespace holdfast::sim
