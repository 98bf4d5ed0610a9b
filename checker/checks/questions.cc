#include "checker/checks/questions.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "checker/history/format_error.h"
#include "checker/history/history_jsonl.h"
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kSchema = 1;

// Where the objects begin that are items of a list that is a member of `text`, an object.
std::vector<std::size_t> begins_of_items(std::string_view text) {
  std::vector<std::size_t> begins;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (c == '{' && depth == 2) begins.push_back(i);
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return begins;
}

// Reads the members of one object, and refuses what nobody asked for. Errors have the place of the member.
class Members {
 public:
  Members(const Json& object, std::string_view text, const std::string& file, std::uint64_t line,
          std::uint64_t column, std::size_t begin = 0)
      : object_(object), text_(text), file_(file), line_(line), column_(column), begin_(begin) {}

  // Leaves `to` as it is where the member is not there.
  template <class T>
  void take(std::string_view name, T& to) {
    known_.emplace_back(name);
    const auto found = object_.find(name);
    if (found == object_.end() || found->is_null()) return;
    to = value_of<T>(name, *found);
  }
  template <class T>
  void take(std::string_view name, std::optional<T>& to) {
    T value{};
    known_.emplace_back(name);
    const auto found = object_.find(name);
    if (found == object_.end() || found->is_null()) return;
    value = value_of<T>(name, *found);
    to = std::move(value);
  }
  // Calls read(members, object) for each object of the list.
  template <class Read>
  void each(std::string_view name, const Read& read) {
    known_.emplace_back(name);
    const auto found = object_.find(name);
    if (found == object_.end()) return;
    if (!found->is_array()) wrong(name, "a list of objects");
    const bool objects =
        std::all_of(found->begin(), found->end(), [](const Json& item) { return item.is_object(); });
    if (!objects) wrong(name, "a list of objects");
    const std::vector<std::size_t> begins = begins_of_items(text_);
    for (std::size_t i = 0; i < found->size(); ++i) {
      Members members((*found)[i], text_, file_, line_, column_, i < begins.size() ? begins[i] : 0);
      read(members);
      members.done();
    }
  }
  // Every member was asked for.
  void done() const {
    for (const auto& [name, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      throw problem(name, "a member that is not known here, expected " + listed(known_));
    }
  }
  [[noreturn]] void wrong(std::string_view name, const std::string& expected) const {
    throw problem(name,
                  "found " + shown(object_.value(std::string(name), Json())) + ", expected " + expected);
  }
  static std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

 private:
  static std::string shown(const Json& value) {
    constexpr std::size_t kMost = 40;
    std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > kMost) text = text.substr(0, kMost) + "…";
    return "`" + text + "`";
  }
  FormatError problem(std::string_view name, const std::string& what) const {
    std::string quoted;
    append_json_text(name, quoted);
    const std::size_t found = text_.find(quoted, begin_);
    const std::size_t at = found == std::string_view::npos ? begin_ : found;
    return error_at(at, "`" + std::string(name) + "`: " + what);
  }
  FormatError error_at(std::size_t at, const std::string& what) const {
    const std::string_view before = text_.substr(0, at);
    const auto lines = static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t newline = before.rfind('\n');
    return {file_, line_ + lines, lines == 0 ? column_ + at : at - newline, what};
  }
  template <class T>
  T value_of(std::string_view name, const Json& value) const {
    if constexpr (std::is_same_v<T, bool>) {
      if (!value.is_boolean()) wrong(name, "true or false");
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      const bool fits = value.is_number_integer() &&
                        (!value.is_number_unsigned() || value.get<std::uint64_t>() < std::uint64_t{1} << 62);
      if (!fits) wrong(name, "a whole number below 2^62");
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.is_string()) wrong(name, "a text");
    } else {
      const bool texts = value.is_array() && std::all_of(value.begin(), value.end(),
                                                         [](const Json& item) { return item.is_string(); });
      if (!texts) wrong(name, "a list of texts");
    }
    return value.get<T>();
  }

  const Json& object_;
  std::string_view text_;
  const std::string& file_;
  std::uint64_t line_, column_;
  std::size_t begin_;  // of the object in the text
  std::vector<std::string> known_;
};

Question question_from(Members& members) {
  Question question;
  std::string expected;
  members.take("check", question.check);
  members.take("expect", expected);
  members.take("kind", question.kind);
  members.take("seeds", question.seeds);
  members.take("marks", question.marks);
  const Check* const check = find_check(question.check);
  if (check == nullptr) members.wrong("check", "the name of a check (`holdfast list checks`)");
  if (expected == "holds") question.expected = Outcome::holds;
  if (expected == "violated") question.expected = Outcome::violated;
  if (!expected.empty() && !question.expected) members.wrong("expect", "\"holds\" or \"violated\"");
  const auto kinds = check->kinds();
  if (!question.kind.empty() && std::find(kinds.begin(), kinds.end(), question.kind) == kinds.end()) {
    members.wrong("kind", "a kind of violation that " + question.check +
                              " finds: " + Members::listed({kinds.begin(), kinds.end()}));
  }
  return question;
}

// What each run may say of its context; the same names are written and read.
template <class Visit>
void each_number(CheckContext& context, const Visit& visit) {
  visit("permits", context.permits);
  visit("lease_ns", context.lease_ns);
  visit("progress_ns", context.progress_bound_ns);
  visit("end_ns", context.end_ns);
  visit("overtakes", context.promised_overtakes);
  visit("share_percent", context.least_share_percent);
  visit("told_slack_ns", context.told_slack_ns);
}

}  // namespace

bool shows(const Verdict& verdict, Outcome outcome, std::string_view kind) {
  if (verdict.outcome != outcome) return false;
  return outcome != Outcome::violated || kind.empty() ||
         std::any_of(verdict.witnesses.begin(), verdict.witnesses.end(),
                     [&](const Witness& witness) { return witness.kind == kind; });
}

Question::Answer Question::answered_by(const Verdict& verdict) const {
  if (verdict.outcome == Outcome::unknown) return Answer::unknown;
  if (!expected || !seeds.empty()) return Answer::met;
  return shows(verdict, *expected, kind) ? Answer::met : Answer::missed;
}

std::string Question::wanted() const {
  if (!expected) return "";
  std::string text(to_string(*expected));
  if (!kind.empty()) text += " (" + kind + ")";
  if (!seeds.empty()) text += " on " + seeds + " of the seeds";
  return text;
}

std::string to_header(const Questions& questions) {
  CheckContext context = questions.context;
  Json header;
  header[std::string(kHeaderMember)] = kSchema;
  header["title"] = questions.title;
  if (!context.model.empty()) header["model"] = context.model;
  header["reentrant"] = context.reentrant;
  each_number(context, [&](const char* name, std::int64_t value) { header[name] = value; });
  if (context.initial_stock) header["initial_stock"] = *context.initial_stock;
  if (context.final_stock) header["final_stock"] = *context.final_stock;
  header["ended_by_itself"] = context.run_ended_by_itself;
  header["clocks_within_bounds"] = context.clocks_within_bounds;
  header["questions"] = Json::array();
  for (const Question& question : questions.asked) {
    Json item = {{"check", question.check}};
    if (question.expected) item["expect"] = to_string(*question.expected);
    if (!question.kind.empty()) item["kind"] = question.kind;
    if (!question.seeds.empty()) item["seeds"] = question.seeds;
    if (!question.marks.empty()) item["marks"] = question.marks;
    header["questions"].push_back(std::move(item));
  }
  return header.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Questions parse_questions(std::string_view text, const std::string& file, std::uint64_t line,
                          std::uint64_t column) {
  Json document;
  try {
    document = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::string_view before = text.substr(0, error.byte > 0 ? error.byte - 1 : 0);
    const auto lines = static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t newline = before.rfind('\n');
    throw FormatError(file, line + lines, lines == 0 ? column + before.size() : before.size() - newline,
                      "this is no JSON, expected an object with the questions of a run");
  }
  if (!document.is_object()) {
    throw FormatError(file, line, column, "found no object of JSON, expected the questions of a run");
  }
  Questions questions;
  CheckContext& context = questions.context;
  Members members(document, text, file, line, column);
  std::int64_t schema = kSchema;
  members.take(kHeaderMember, schema);
  if (schema != kSchema)
    members.wrong(kHeaderMember, std::to_string(kSchema) + "; another version of holdfast wrote it");
  members.take("title", questions.title);
  members.take("model", context.model);
  if (!context.model.empty() && find_model(context.model) == nullptr)
    members.wrong("model", "the name of a model (`holdfast list models`)");
  members.take("reentrant", context.reentrant);
  each_number(context, [&](const char* name, std::int64_t& value) {
    members.take(name, value);
    if (value < 0) members.wrong(name, "a whole number from 0");
  });
  members.take("initial_stock", context.initial_stock);
  members.take("final_stock", context.final_stock);
  members.take("ended_by_itself", context.run_ended_by_itself);
  members.take("clocks_within_bounds", context.clocks_within_bounds);
  members.each("questions", [&](Members& each) { questions.asked.push_back(question_from(each)); });
  members.done();
  return questions;
}

}  // namespace holdfast::checker
