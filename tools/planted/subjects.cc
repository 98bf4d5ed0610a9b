#include "tools/planted/subjects.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/hunt/ground.h"
#include "sim/scenario/document.h"

namespace holdfast::tools {
namespace {

// Of each lock, what the files of the folder expect to be violated.
std::map<std::string, std::set<std::string>> broken_promises(const std::string& folder) {
  std::map<std::string, std::set<std::string>> broken;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    const sim::Value document = sim::read_toml_file(file);
    const std::string& lock = document.find("lock")->find("kind")->text;
    for (const sim::Value& one : document.find("expect")->items) {
      const sim::Value* const is = one.find("is");
      const sim::Value* const kind = one.find("kind");
      if (is == nullptr || is->text != "violated") continue;
      broken[lock].insert(one.find("check")->text + (kind == nullptr ? "" : "/" + kind->text));
    }
  }
  return broken;
}

}  // namespace

std::vector<Subject> planted_subjects() {
  std::vector<Subject> subjects;
  for (const sim::PlantedVersion& version : sim::planted_versions())
    subjects.push_back(
        {.kind = sim::find_lock_kind("planted-" + std::string(version.name)), .version = &version});
  return subjects;
}

std::vector<Subject> published_subjects(const std::string& museum) {
  std::map<std::string, std::set<std::string>> broken = broken_promises(museum);
  std::vector<Subject> subjects;
  for (const sim::LockKind& kind : sim::all_lock_kinds()) {
    if (!kind.historic) continue;
    Subject subject{.kind = &kind};
    const std::vector<std::string> asked = sim::promises_of(kind, sim::Ground::Bounds::anything);
    for (const std::string& promise : broken[std::string(kind.name)]) {
      const std::string check = promise.substr(0, promise.find('/'));
      if (std::find(asked.begin(), asked.end(), check) != asked.end()) subject.wanted.insert(promise);
    }
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

std::vector<Subject> only(std::vector<Subject> subjects, const std::string& text) {
  std::erase_if(subjects,
                [&](const Subject& one) { return one.kind->name.find(text) == std::string_view::npos; });
  return subjects;
}

}  // namespace holdfast::tools
