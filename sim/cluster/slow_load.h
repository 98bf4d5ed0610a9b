// SlowLoad: makes a real server take its time to load its data, so that it answers LOADING meanwhile.
//
// Its file gets 6000 keys more, each 1 KiB long and expired long ago, in database 15: redis-server drops them
// as it reads them (those of an append-only file: soon after). With key-load-delay each of them takes 10 ms,
// and each KiB lets it answer who asks. Without that delay the rest is loaded at once.
#pragma once

#include <string>
#include <vector>

namespace holdfast::sim {

class SlowLoad {
 public:
  // Changes the files in `folder`, the server's, which does not run. `append_only`: it loads that file.
  // Throws std::filesystem::filesystem_error, std::runtime_error for a file that it does not know.
  SlowLoad(const std::string& folder, bool append_only);
  // Everything as it was. The server may have the file open, so it can be loading.
  ~SlowLoad();
  SlowLoad(const SlowLoad&) = delete;
  SlowLoad& operator=(const SlowLoad&) = delete;

  static std::vector<std::string> settings();      // to start the server with
  static std::vector<std::string> let_it_go_on();  // the command after which it loads the rest at once

 private:
  std::string file_, before_;  // before_: where what stood there is kept; "": nothing did
};

}  // namespace holdfast::sim
