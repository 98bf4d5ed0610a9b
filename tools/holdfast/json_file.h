// JSON that an earlier `holdfast` wrote, read again. What is wrong with it ends in one line, exit 64.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace holdfast::tools {

using Json = nlohmann::ordered_json;

// A file, and one that lies in a folder. Throws BadUsage when it cannot be read or is no JSON.
Json read_json(const std::string& path);
// The files that are meant: a file itself; of a folder every *.json in it, by name. Throws BadUsage for a
// folder without any.
std::vector<std::string> json_files(const std::string& path);

// Reads a document that has been given a form: whatever is missing in it or is of another type becomes a
// BadUsage with `path` and `expected`.
void reading(const std::string& path, const std::string& expected, const std::function<void()>& read);

// 64 bits; throws what reading() catches.
std::uint64_t number_of(const Json& value);
std::uint64_t word_of(const Json& value);  // from 16 hex digits
std::string hex_of(std::uint64_t word);
// Some words a line, so that a list of a million stays readable for tools that work by lines.
Json words_of(const std::vector<std::uint64_t>& words);
std::vector<std::uint64_t> words_from(const Json& value);

// As all documents are written: ASCII, for they may be printed; foreign bytes in a name cost nothing else.
std::string text_of(const Json& document);

}  // namespace holdfast::tools
