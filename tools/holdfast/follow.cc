#include "tools/holdfast/follow.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <istream>
#include <optional>
#include <streambuf>
#include <string_view>
#include <utility>

#include "checker/checks/check.h"
#include "checker/history/event_appender.h"
#include "checker/history/joiner.h"
#include "checker/holds/holds.h"
#include "tools/holdfast/check_plan.h"
#include "tools/holdfast/progress.h"
#include "tools/holdfast/search_watch.h"
#include "tools/proxy/recording.h"

namespace holdfast::tools {
namespace {

using namespace checker;
using Clock = std::chrono::steady_clock;

constexpr int kNapMs = 20;

// A file descriptor whose bytes are handed on line by line, as long as more may come.
class GrowingLines : public std::streambuf {
 public:
  // `look`: called when all that was handed on has been read; true: enough is known.
  GrowingLines(int fd, std::function<bool()> look) : fd_(fd), look_(std::move(look)) {
    struct stat what {};
    file_ = ::fstat(fd, &what) == 0 && S_ISREG(what.st_mode);
  }

  std::string why_it_ended() const { return why_; }
  bool interrupted() const { return interrupted_; }
  // The first line so far, where it is the header of a run; else "".
  const std::string& header() const { return header_; }

 protected:
  std::streamsize xsgetn(char* to, std::streamsize count) override {
    if (handed_ == whole_ && !wait_for_lines()) return 0;
    const auto given = std::min(static_cast<std::size_t>(count), whole_ - handed_);
    std::memcpy(to, bytes_.data() + handed_, given);
    handed_ += given;
    return static_cast<std::streamsize>(given);
  }

 private:
  // False: nothing more comes.
  bool wait_for_lines() {
    for (;;) {
      if (!why_.empty()) return false;
      if (look_()) return end("the first violation; what came later was not read");
      if (SearchWatch::interrupted() && !more_at_the_interrupt()) return end("Ctrl-C");
      if (ended_) return end("its writer ended");
      pollfd input{.fd = fd_, .events = POLLIN, .revents = 0};
      if (!file_ && ::poll(&input, 1, kNapMs) <= 0) continue;
      // Asked before the end of the file is found: whatever it wrote is there by then.
      const bool gone = file_ && begun_ && !is_being_recorded(fd_);
      const std::size_t before = bytes_.size();
      if (read_some()) {
        if (whole_ > 0) return true;
      } else if (!file_) {
        return end("its writer ended");
      } else if (gone) {
        return end("its writer was gone, which did not say that it ended");
      } else if (was_cut()) {
        return end("it was begun anew");
      } else if (bytes_.size() == before) {
        ::poll(nullptr, 0, kNapMs);
      }
    }
  }

  // Ctrl-C: what the file had by then is still read, and what comes later is not.
  bool more_at_the_interrupt() {
    if (!std::exchange(interrupted_, true) && file_) last_ = size();
    return file_ && ::lseek(fd_, 0, SEEK_CUR) < last_;
  }

  bool end(std::string why) {
    why_ = std::move(why);
    if (bytes_.size() > whole_) why_ += "; its last line is cut off";
    return false;
  }

  bool read_some() {
    bytes_.erase(0, handed_);
    handed_ = whole_ = 0;
    const std::size_t had = bytes_.size();
    bytes_.resize(had + kBlock);
    ssize_t got = 0;
    do {
      got = ::read(fd_, bytes_.data() + had, kBlock);
    } while (got < 0 && errno == EINTR && (file_ || !SearchWatch::interrupted()));
    bytes_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    const std::size_t last = bytes_.rfind('\n');
    whole_ = last == std::string::npos ? 0 : last + 1;
    if (whole_ > 0) note_marks(std::string_view(bytes_).substr(0, whole_));
    return got > 0;
  }

  void note_marks(std::string_view lines) {
    const auto is_mark = [&](std::string_view name) {
      return "\"f\":\"mark\",\"key\":\"" + std::string(name) + "\"";
    };
    if (std::exchange(first_, false)) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      if (line.find(kHeaderMember) != std::string_view::npos) header_ = line;
      begun_ = line.find(is_mark(kRecordingBegun)) != std::string_view::npos;
    }
    ended_ = ended_ || lines.find(is_mark(kRecordingEnded)) != std::string_view::npos;
  }

  off_t size() const {
    struct stat what {};
    return ::fstat(fd_, &what) == 0 ? what.st_size : 0;
  }
  bool was_cut() const { return size() < ::lseek(fd_, 0, SEEK_CUR); }

  static constexpr std::size_t kBlock = std::size_t{1} << 18;
  const int fd_;
  const std::function<bool()> look_;
  bool file_ = false, first_ = true, begun_ = false, ended_ = false, interrupted_ = false;
  off_t last_ = 0;                      // of a file, once interrupted: what lies behind is not read
  std::string bytes_;                   // read, and not handed on yet, but for
  std::size_t handed_ = 0, whole_ = 0;  // what was handed on; and where the last line ends
  std::string why_, header_;
};

class OnlineJudge {
 public:
  OnlineJudge(const LoadedHistory& loaded, const CheckArguments& arguments)
      : loaded_(loaded), arguments_(arguments) {}

  // True: a violation, or a history that no judging makes better. `header`: "" there is none.
  bool enough(const std::string& header) {
    if (loaded_.packed.size() == judged_ || Clock::now() < next_) return false;
    const Clock::time_point begin = Clock::now();
    judged_ = loaded_.packed.size();
    bool enough = false;
    try {
      enough = violated(header);
    } catch (const HistoryError&) {
      enough = !arguments_.keep_going;  // told with its place by who reads the file
    } catch (const FormatError&) {
      enough = true;
    }
    const Clock::time_point end = Clock::now();
    next_ = end + 4 * (end - begin);
    return enough;
  }

 private:
  bool violated(const std::string& header) {
    History history = loaded_.packed.unpack();
    const auto earlier = [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; };
    if (!std::is_sorted(history.events().begin(), history.events().end(), earlier)) {
      std::vector<Event> events = history.events();
      std::stable_sort(events.begin(), events.end(), earlier);
      History sorted = history.names();
      for (const Event& event : events) sorted.append(event);
      history = std::move(sorted);
    }
    const PackedHistory packed = PackedHistory::pack(history);
    require_joined(packed, ReadHistory{}, true);
    std::optional<Questions> run;
    if (!header.empty()) run = parse_questions(header, arguments_.files.front());
    const CheckPlan plan = plan_checks(packed, Format::jsonl, arguments_, run ? &*run : nullptr);
    if (plan.permits_unknown) return false;
    const bool leased = plan.model.find("leased") != std::string::npos;
    if (leased && !doubted_unit(history, build_holds(history, plan.context.reentrant)).empty()) return false;
    return std::any_of(plan.checks.begin(), plan.checks.end(), [&](const PlannedCheck& planned) {
      return is_final(planned.question.check, leased) && violates(planned, plan, packed, history);
    });
  }

  // What violates it so far does so whatever comes. A hold that outlived its lease may turn out to have been
  // given up with it, and is told of late.
  static bool is_final(const std::string& check, bool leased) {
    return check == "linearizable" || check == "lease-exclusion" || check == "fencing-monotonic" ||
           check == "negative-stock" || (check == "mutual-exclusion" && !leased);
  }

  bool violates(const PlannedCheck& planned, const CheckPlan& plan, const PackedHistory& packed,
                const History& history) const {
    if (planned.question.check == "linearizable") {
      LinearizabilityOptions options = linearizability_options(plan, arguments_, Format::jsonl, packed);
      options.budget.stop = [](const SearchProgress&) {
        return SearchWatch::interrupted() ? "interrupted" : nullptr;
      };
      return check_linearizable(packed, options).outcome == Outcome::violated;
    }
    CheckContext context = plan.context;
    if (!history.events().empty()) context.end_ns = history.events().back().time_ns;
    return find_check(planned.question.check)->run(history, context).outcome == Outcome::violated;
  }

  const LoadedHistory& loaded_;
  const CheckArguments& arguments_;
  std::size_t judged_ = 0;
  Clock::time_point next_{};
};

// Closes what it opened.
class Input {
 public:
  explicit Input(const std::string& file)
      : fd_(file == "-" ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw FormatError(file, 1, 1, "this file cannot be opened");
  }
  ~Input() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace

LoadedHistory follow_history(const std::string& file, const CheckArguments& arguments) {
  const Input input(file);
  LoadedHistory loaded;
  SearchWatch catches_interrupts(std::nullopt, "following " + file);
  Progress progress(0, "events", false);
  OnlineJudge judge(loaded, arguments);
  GrowingLines* growing = nullptr;
  GrowingLines lines(input.fd(), [&] {
    progress.update(loaded.packed.size(), 0, "following " + file);
    return judge.enough(growing->header());
  });
  growing = &lines;
  std::istream in(&lines);
  loaded.read = read_jsonl(in, {.file = file, .keep_going = arguments.keep_going, .into = &loaded.packed});
  sort_by_time(loaded.read, &loaded.packed);
  loaded.followed_until = lines.why_it_ended();
  loaded.interrupted = lines.interrupted();
  // What was read is judged all the same; a second Ctrl-C ends that, too.
  if (loaded.interrupted) SearchWatch::forget_interrupt();
  return loaded;
}

}  // namespace holdfast::tools
