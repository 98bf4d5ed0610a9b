// What the API answers when it cannot do as asked: {"error": text, "status": number}, as Toxiproxy words it.
#pragma once

#include <stdexcept>
#include <string>

namespace holdfast::tools {

class ApiError : public std::runtime_error {
 public:
  ApiError(int status, const std::string& text) : std::runtime_error(text), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

inline ApiError bad_body(const std::string& why) { return {400, "bad request body: " + why}; }

}  // namespace holdfast::tools
