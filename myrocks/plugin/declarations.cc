// What the server looks for in a plugin library: the declarations of Debian's engine, with other files for
// ROCKSDB. They are filled when the library is loaded, before the server reads them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/printable.h"
#include "debian_engine.h"
#include "engine_hooks.h"

namespace {

constexpr std::size_t kMaxPlugins = 31;  // the engine of MariaDB 10.11 declares 14

}  // namespace

#define ZENFS_EXPORT extern "C" [[gnu::visibility("default")]]
ZENFS_EXPORT int _maria_plugin_interface_version_;
ZENFS_EXPORT int _maria_sizeof_struct_st_plugin_;
ZENFS_EXPORT st_maria_plugin _maria_plugin_declarations_[];
int _maria_plugin_interface_version_ = MARIA_PLUGIN_INTERFACE_VERSION;
int _maria_sizeof_struct_st_plugin_ = sizeof(st_maria_plugin);
st_maria_plugin _maria_plugin_declarations_[kMaxPlugins + 1] = {};  // the last one stays empty: the end

namespace zenfs::myrocks {

namespace {

Status Declare() {
  ZENFS_ASSIGN_OR_RETURN(const DebianEngine engine, FindDebianEngine());
  if (engine.plugins.size() > kMaxPlugins)
    return Fail(Code::kNotSupported,
                fmt::format("ha_rocksdb.so declares {} plugins, at most {} are supported",
                            engine.plugins.size(), kMaxPlugins));
  _maria_plugin_interface_version_ = engine.interface_version;
  std::ranges::transform(engine.plugins, _maria_plugin_declarations_, [](const st_maria_plugin& plugin) {
    return plugin.name == std::string_view("ROCKSDB") ? WithOtherFiles(plugin) : plugin;
  });
  return {};
}

// A library that declares no plugins is loaded without effect. The server then does not know rocksdb_fs_uri, and does not
// start if that is set.
[[maybe_unused]] const bool declared_when_loaded = [] {
  try {
    const Status status = Declare();
    if (!status.ok())
      sql_print_error("ZenFS: the engine is not loaded: %s", Printable(status.error().ToString()).c_str());
    return status.ok();
  } catch (...) {  // out of memory while the server is starting
    return false;
  }
}();

}  // namespace

}  // namespace zenfs::myrocks
