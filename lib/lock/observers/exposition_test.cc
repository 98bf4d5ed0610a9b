// What is written is what Prometheus reads; and the reader of these tests refuses what Prometheus refuses.
#include "lib/lock/observers/exposition.h"

#include <gtest/gtest.h>

#include "lib/testing/prometheus_text.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::BadPrometheusText;
using testing::parse_prometheus;

TEST(Exposition, WritesFamiliesAndSamples) {
  Exposition out;
  out.family("a_total", "counter", "What it is.");
  out.sample({}, 7);
  out.sample({{"x", "1"}, {"y", ""}}, 18446744073709551615u);
  EXPECT_EQ(out.text(),
            "# HELP a_total What it is.\n# TYPE a_total counter\na_total 7\n"
            "a_total{x=\"1\",y=\"\"} 18446744073709551615\n");
}

TEST(Exposition, WritesHistogramsWhoseBucketsAddUp) {
  Exposition out;
  const std::vector<Duration> bounds = {500us, 10ms, 60s};
  const std::vector<std::uint64_t> counts = {1, 0, 2, 4};
  out.family("t_seconds", "histogram", "Time.");
  out.histogram({{"k", "v"}}, bounds, counts, 1'002'000'000);
  EXPECT_EQ(out.text(),
            "# HELP t_seconds Time.\n# TYPE t_seconds histogram\n"
            "t_seconds_bucket{k=\"v\",le=\"0.0005\"} 1\n"
            "t_seconds_bucket{k=\"v\",le=\"0.01\"} 1\n"
            "t_seconds_bucket{k=\"v\",le=\"60\"} 3\n"
            "t_seconds_bucket{k=\"v\",le=\"+Inf\"} 7\n"
            "t_seconds_sum{k=\"v\"} 1.002\n"
            "t_seconds_count{k=\"v\"} 7\n");
}

TEST(Exposition, EscapesTheValuesOfLabels) {
  Exposition out;
  out.family("a_total", "counter", "A.");
  out.sample({{"x", "q\"b\\n\nz"}}, 1);
  EXPECT_NE(out.text().find("a_total{x=\"q\\\"b\\\\n\\nz\"} 1\n"), std::string::npos) << out.text();
  EXPECT_EQ(parse_prometheus(out.text())["a_total{x=\"q\"b\\n\nz\"}"], 1);
}

TEST(Exposition, KnowsWhichNamesALabelMayHave) {
  for (const char* const good : {"resource", "_x9", "A"}) EXPECT_TRUE(is_label_name(good)) << good;
  for (const char* const bad : {"", "9a", "a-b", "a:b", "__a", "le", "a b", "\xc3\xa9"})
    EXPECT_FALSE(is_label_name(bad)) << bad;
}

TEST(PrometheusText, ReadsWhatIsRight) {
  const auto read = parse_prometheus(
      "# HELP h Time.\n# TYPE h histogram\n"
      "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3.5\nh_count 2\n"
      "# HELP n_total N.\n# TYPE n_total counter\nn_total{b=\"2\",a=\"1\"} 4\n");
  EXPECT_EQ(read["h_sum"], 3.5);
  EXPECT_EQ(read["n_total{a=\"1\",b=\"2\"}"], 4);
  EXPECT_EQ(read.types.at("h"), "histogram");
}

TEST(PrometheusText, RefusesWhatIsWrong) {
  const std::string counter = "# HELP n_total N.\n# TYPE n_total counter\n";
  const std::string histogram = "# HELP h H.\n# TYPE h histogram\n";
  for (const std::string& text : {
           std::string("n_total 1\n"),
           counter + "n_total 1",
           counter + "n_total 1\nn_total 2\n",
           counter + "m_total 1\n",
           counter + "n_total one\n",
           counter + "n_total -1\n",
           counter + "n_total{a=\"1\" 1\n",
           counter + "n_total{a=\"1\",a=\"2\"} 1\n",
           counter + "n_total{a=\"\\x\"} 1\n",
           counter + "n_total{1a=\"\"} 1\n",
           counter + counter,
           std::string("# TYPE n_total counter\nn_total 1\n"),
           std::string("# HELP n_total N.\n"),
           std::string("# HELP n N.\n# TYPE n counter\nn 1\n"),
           histogram + "h_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n",
           histogram + "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n",
           histogram +
               "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n",
           histogram + "h_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n",
           histogram + "h_bucket{le=\"+Inf\"} 1\nh_sum 1\n",
           histogram + "h_bucket 1\n",
           histogram + "h 1\n",
       }) {
    EXPECT_THROW(parse_prometheus(text), BadPrometheusText) << text;
  }
}

}  // namespace
}  // namespace holdfast
