#include "discovery/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "discovery/discovery_test_util.h"
#include "discovery/volume_device.h"
#include "testing/unprivileged.h"

namespace zenfs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class ResolveTest : public DiscoveryTest {
 protected:
  Result<ResolvedUri> Resolve(const std::string& uuid) const {
    return ResolveUri({.kind = "uuid", .target = uuid, .options = {{"ro", ""}}}, places_);
  }
  Error ErrorOf(const std::string& uuid) const {
    const auto uri = Resolve(uuid);
    return uri ? Error(Code::kExists, "resolved to " + uri->uri.target) : uri.error();
  }

  const Uuid uuid_ = Uuid::Generate();
};

TEST_F(ResolveTest, DeviceWithTheUuidIsFoundAndOptionsAreKept) {
  List(MakeVolume("other.img", Uuid::Generate()));
  const std::string path = MakeVolume("a.img", uuid_);
  List(path);
  List(MakeDevice("empty.img"));
  const auto uri = Resolve(uuid_.ToString());
  ASSERT_TRUE(uri) << uri.error().ToString();
  EXPECT_EQ(uri->uri.kind, "emu");
  EXPECT_EQ(uri->uri.target, path);
  EXPECT_THAT(uri->uri.options, ElementsAre(Pair("ro", "")));
}

// Anybody can make a volume with any UUID.
TEST_F(ResolveTest, ADeviceThatOthersMayChangeNeitherServesNorDenies) {
  const std::string theirs = MakeVolume("theirs.img", uuid_);
  List(theirs);
  if (::chown(theirs.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(ErrorOf(uuid_.ToString()).code(), Code::kNotFound);
  EXPECT_THAT(ErrorOf(uuid_.ToString()).ToString(),
              AllOf(HasSubstr("others than root and this user"), HasSubstr("name it: emu:")));
  const std::string own = MakeVolume("own.img", uuid_);
  List(own);
  const auto uri = Resolve(uuid_.ToString());
  ASSERT_TRUE(uri) << uri.error().ToString();
  EXPECT_EQ(uri->uri.target, own);
  ASSERT_EQ(::chmod(own.c_str(), 0666), 0);
  EXPECT_FALSE(Resolve(uuid_.ToString()));
}

// Whoever may change a directory on the way may lead the name to another device after it was judged.
TEST_F(ResolveTest, AnotherDeviceThatTakesTheNameAfterItWasJudgedIsNotOpened) {
  const std::string own = MakeVolume("own.img", uuid_);
  const std::string theirs = MakeVolume("theirs.img", uuid_);
  const std::string listed = directory_.File("listed.img");
  std::filesystem::create_symlink(own, listed);
  List(listed);
  const auto uri = Resolve(uuid_.ToString());
  ASSERT_TRUE(uri) << uri.error().ToString();
  const auto open = [&] {
    ResolvedUri judged = *uri;
    judged.uri.options.clear();
    DeviceOptions unclaimed;
    return OpenVolumeDevice(judged, OpenMode::kReadOnly, &unclaimed, places_);
  };
  EXPECT_TRUE(open());
  std::filesystem::remove(listed);
  std::filesystem::create_symlink(theirs, listed);
  const auto other = open();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Code::kBusy);
  EXPECT_THAT(other.error().text(), HasSubstr("another device has taken its name"));
}

TEST_F(ResolveTest, CaseDoesNotMatter) {
  List(MakeVolume("a.img", uuid_));
  std::string upper = uuid_.ToString();
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  EXPECT_TRUE(Resolve(upper));
}

TEST_F(ResolveTest, OtherKindsPassThrough) {
  const DeviceUri uri{.kind = "emu", .target = "/no/such.img", .options = {{"ro", ""}}};
  const auto resolved = ResolveUri(uri, places_);
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->uri.kind, "emu");
  EXPECT_EQ(resolved->uri.target, "/no/such.img");
  EXPECT_EQ(resolved->uri.options, uri.options);
}

TEST_F(ResolveTest, UnknownUuidSaysHowManyWereLookedAt) {
  EXPECT_THAT(ErrorOf(uuid_.ToString()).text(), AllOf(HasSubstr("among the 0"), HasSubstr("ZENFS_DEVICES")));
  List(MakeVolume("a.img", Uuid::Generate()));
  List(MakeDevice("b.img"));
  const Error error = ErrorOf(uuid_.ToString());
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_THAT(error.text(), AllOf(HasSubstr("uuid:" + uuid_.ToString()), HasSubstr("among the 2")));
}

TEST_F(ResolveTest, WhatCouldNotBeReadIsNamedWithTheReason) {
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  const std::string path = MakeVolume("a.img", uuid_);
  std::filesystem::permissions(path, std::filesystem::perms(0));
  List(path);
  List(directory_.File("none.img"));
  places_.lists.file = directory_.File("no-list");
  const Unprivileged nobody;
  const Error error = ErrorOf(uuid_.ToString());
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_THAT(error.text(), AllOf(HasSubstr("among the 0"), HasSubstr(path), HasSubstr("(no permission)"),
                                  HasSubstr("none.img"), HasSubstr("no-list"), Not(HasSubstr("\n"))));
}

TEST_F(ResolveTest, LongListsOfUnreadableDevicesAreCut) {
  for (int i = 0; i < 5; ++i) List(directory_.File(std::to_string(i)));
  EXPECT_THAT(ErrorOf(uuid_.ToString()).text(), HasSubstr("and 2 more"));
}

TEST_F(ResolveTest, UnreadableNeighboursDoNotMatter) {
  List(directory_.File("none.img"));
  List(MakeVolume("a.img", uuid_));
  places_.lists.file = directory_.File("no-list");
  EXPECT_TRUE(Resolve(uuid_.ToString()));
}

TEST_F(ResolveTest, CopiesAreRefusedAndBothNamed) {
  const std::string path = MakeVolume("a.img", uuid_);
  const std::string copy = directory_.File("copy.img");
  std::filesystem::copy_file(path, copy);
  List(path);
  List(copy);
  const Error error = ErrorOf(uuid_.ToString());
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.text(), AllOf(HasSubstr("emu:" + path), HasSubstr("emu:" + copy)));
}

TEST_F(ResolveTest, TwoNamesOfOneDeviceAreNoCopy) {
  const std::string path = MakeVolume("a.img", uuid_);
  std::filesystem::create_hard_link(path, directory_.File("same.img"));
  std::filesystem::create_symlink(path, directory_.File("link.img"));
  List(path);
  List(directory_.File("same.img"));
  List(directory_.File("link.img"));
  ASSERT_TRUE(Resolve(uuid_.ToString())) << ErrorOf(uuid_.ToString()).text();
}

TEST_F(ResolveTest, WhatIsNoUuidIsRefused) {
  for (const char* text : {"1234", "test", "01234567-89ab-4cde-8f01-23456789abcX"}) {
    EXPECT_EQ(ErrorOf(text).code(), Code::kInvalidArgument);
    EXPECT_THAT(ErrorOf(text).text(), HasSubstr("xxxxxxxx-xxxx"));
  }
}

}  // namespace
}  // namespace zenfs
