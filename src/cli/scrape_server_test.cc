#include "cli/scrape_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/thread.h"
#include "base/unique_fd.h"

namespace zenfs {
namespace {

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port that nobody has now.
std::uint16_t FreePort() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return ntohs(address.sin_port);
}

// The whole answer to a request.
std::string Answer(std::uint16_t port, const std::string& method, const std::string& path) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = Loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return "no connection";
  const std::string request = method + " " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  if (::write(fd.get(), request.data(), request.size()) < 0) return "not sent";
  std::string answer;
  char bytes[512];
  for (ssize_t n = 1; n > 0;) {
    n = ::read(fd.get(), bytes, sizeof bytes);
    if (n > 0) answer.append(bytes, static_cast<std::size_t>(n));
  }
  return answer;
}

std::string FirstLine(const std::string& answer) { return answer.substr(0, answer.find('\r')); }

std::string Scrape(std::uint16_t port) { return FirstLine(Answer(port, "GET", "/metrics")); }

TEST(ScrapeServerTest, ClientsThatComeTogetherShareOneCollection) {
  constexpr int kClients = 12;
  const std::uint16_t port = FreePort();
  std::atomic<int> collections = 0;
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::atomic<bool> go_on = false;
  const auto server = ScrapeServer::Start("127.0.0.1:" + std::to_string(port), [&] {
    most = std::max(most.load(), ++now);
    ++collections;
    while (!go_on) SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
    --now;
    return std::vector<prometheus::MetricFamily>();
  });
  ASSERT_TRUE(server.has_value()) << server.error().ToString();
  std::vector<std::string> answers(kClients);
  {
    std::vector<Thread> clients;
    for (std::string& answer : answers)
      clients.emplace_back("client", [&answer, port] { answer = Scrape(port); });
    while (collections == 0) SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
    go_on = true;
    for (Thread& client : clients) client.Join();
  }
  for (const std::string& answer : answers) EXPECT_EQ(answer, "HTTP/1.1 200 OK");
  EXPECT_EQ(most, 1);
  const int before = collections;
  EXPECT_EQ(Scrape(port), "HTTP/1.1 200 OK");
  EXPECT_EQ(collections, before + 1) << "an answer is made after its request came";
}

TEST(ScrapeServerTest, TheRootHasALinkToTheMetricsAndOtherPathsAreNotFound) {
  const std::uint16_t port = FreePort();
  bool collected = false;
  const auto server = ScrapeServer::Start("127.0.0.1:" + std::to_string(port), [&] {
    collected = true;
    return std::vector<prometheus::MetricFamily>();
  });
  ASSERT_TRUE(server.has_value()) << server.error().ToString();
  const std::string page = Answer(port, "GET", "/");
  EXPECT_EQ(FirstLine(page), "HTTP/1.1 200 OK");
  EXPECT_NE(page.find("Content-Type: text/html"), std::string::npos) << page;
  EXPECT_NE(page.find("<a href=\"/metrics\">"), std::string::npos) << page;
  EXPECT_EQ(FirstLine(Answer(port, "POST", "/")), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_EQ(FirstLine(Answer(port, "GET", "/nothing")), "HTTP/1.1 404 Not Found");
  EXPECT_FALSE(collected);
}

TEST(ScrapeServerTest, AnAnswerThatCannotBeMadeIs503ForAll) {
  const std::uint16_t port = FreePort();
  const auto server =
      ScrapeServer::Start("127.0.0.1:" + std::to_string(port),
                          []() -> std::vector<prometheus::MetricFamily> { throw std::bad_alloc(); });
  ASSERT_TRUE(server.has_value()) << server.error().ToString();
  EXPECT_EQ(Scrape(port), "HTTP/1.1 503 Service Unavailable");
  EXPECT_EQ(Scrape(port), "HTTP/1.1 503 Service Unavailable");
}

}  // namespace
}  // namespace zenfs
