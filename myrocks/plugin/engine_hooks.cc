#include "engine_hooks.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/printable.h"
#include "debian_engine.h"
#include "engine_volume.h"
#include "status_variables.h"

namespace zenfs::myrocks {

namespace {

// The value of rocksdb_fs_uri: the server sets it before it starts the engine. Null or empty: the engine keeps its files in
// the host's file system.
char* fs_uri = nullptr;

constexpr int kFailed = 1;                // as the engine's own init reports failure
constexpr unsigned kUnknownError = 1105;  // ER_UNKNOWN_ERROR: the text says it all

// Never destroyed: the server calls into this library until the process ends, after static objects are gone.
struct State {
  st_maria_plugin engine{};         // as Debian's library declares it
  char** data_directory = nullptr;  // the value of rocksdb_datadir; null if there is no such variable
  std::vector<st_mysql_sys_var*> variables;
  std::vector<st_mysql_show_var> status_variables;
  Mutex mutex;  // taken before every lock of the volume
  std::unique_ptr<EngineVolume> mounted GUARDED_BY(mutex);
};

State& TheState() {
  static State* const state = new State;
  return *state;
}

// Names and errors can hold text of a device that others made; the server writes a line as it is.
void LogError(const std::string& line) { sql_print_error("ZenFS: %s", Printable(line).c_str()); }

// The engine keeps a mark of corruption, and looks for the rest of an interrupted bulk load, in its directory on the host,
// whatever its files are kept in.
Status MakeDirectoryOnHost(char* const* directory) {
  if (directory == nullptr || *directory == nullptr)
    return Fail(Code::kNotSupported, "the engine has no variable rocksdb_datadir");
  if (mkdir(*directory, 0750) == 0 || errno == EEXIST) return {};
  return FailErrno(
      errno,
      fmt::format("rocksdb_datadir: can't make the directory {} in the server's data directory", *directory));
}

Status Mount(State& state) {
  ZENFS_RETURN_IF_ERROR(MakeDirectoryOnHost(state.data_directory));
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<EngineVolume> mounted,
                         EngineVolume::Mount(fs_uri, *state.data_directory));
  const VolumeInfo& info = mounted->volume().info();
  if (info.read_only)
    return Fail(Code::kReadOnly, "the engine can't work on a read-only mount: remove the option ro");
  sql_print_information("ZenFS: the engine's files are in zones of %s, volume %s",
                        Printable(info.device_name).c_str(), info.superblock.uuid.ToString().c_str());
  for (const std::string& notice : mounted->volume().notices())
    sql_print_warning("ZenFS: %s", Printable(notice).c_str());
  MutexLock lock(state.mutex);
  state.mounted = std::move(mounted);
  return {};
}

void Unmount(State& state) {
  MutexLock lock(state.mutex);
  if (state.mounted == nullptr) return;
  const std::string device = state.mounted->volume().info().device_name;
  if (const Status status = state.mounted->Unmount(); status.ok()) {
    sql_print_information("ZenFS: %s is unmounted", Printable(device).c_str());
  } else {
    LogError(fmt::format("unmounting {}: {}; the next start recovers all synced data", device,
                         status.error().ToString()));
  }
  state.mounted.reset();
}

// No exception may reach the server, which is compiled without handlers for them.
int Start(void* handlerton) {
  State& state = TheState();
  try {
    if (fs_uri != nullptr && *fs_uri != '\0') {
      if (const Status status = Mount(state); !status.ok()) {
        LogError(fmt::format("rocksdb_fs_uri={}: {}", fs_uri, status.error().ToString()));
        return kFailed;
      }
    }
    const int result = state.engine.init(handlerton);
    if (result != 0) Unmount(state);
    return result;
  } catch (const std::exception& exception) {
    LogError(fmt::format("the engine can't start: {}", exception.what()));
    return kFailed;
  }
}

int Stop(void* handlerton) {
  State& state = TheState();
  const int result = state.engine.deinit(handlerton);
  try {
    Unmount(state);
  } catch (const std::exception& exception) {
    LogError(fmt::format("the volume is not unmounted: {}; the next start recovers all synced data",
                         exception.what()));
  }
  return result;
}

int ShowStatus(MYSQL_THD, st_mysql_show_var* shown, void*, system_status_var*, enum_var_type) {
  State& state = TheState();
  try {
    MutexLock lock(state.mutex);
    if (state.mounted != nullptr) {
      ShowVolume(state.mounted->volume(), *shown);
    } else {
      ShowNothing(*shown);
    }
    return 0;
  } catch (const std::exception&) {  // out of memory: this statement shows no such variable
    shown->type = SHOW_UNDEF;
    return kFailed;
  }
}

Status RemoveCheckpoint(const char* path) {
  State& state = TheState();
  MutexLock lock(state.mutex);
  if (state.mounted == nullptr) return Fail(Code::kNotSupported, "the engine's files are not on a volume");
  return state.mounted->RemoveCheckpoint(path);
}

// Does its work while the value is checked, as the engine's rocksdb_create_checkpoint: only then can the statement fail.
int CheckRemoveCheckpoint(MYSQL_THD, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  char buffer[512];
  int length = sizeof buffer;
  const char* const path = value->val_str(value, buffer, &length);
  if (path == nullptr) return kFailed;
  *static_cast<const char**>(save) = nullptr;
  try {
    const Status status = RemoveCheckpoint(path);
    if (status.ok()) return 0;
    my_printf_error(kUnknownError, "ZenFS: removing a checkpoint: %s", 0,
                    Printable(status.error().ToString()).c_str());
  } catch (const std::exception& exception) {
    my_printf_error(kUnknownError, "ZenFS: removing a checkpoint: %s", 0,
                    Printable(exception.what()).c_str());
  }
  return kFailed;
}

void KeepNoValue(MYSQL_THD, st_mysql_sys_var*, void*, const void*) {}

char* removed_checkpoint = nullptr;
MYSQL_SYSVAR_STR(fs_remove_checkpoint, removed_checkpoint, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_NOCMDOPT,
                 "Set it to remove a directory made by rocksdb_create_checkpoint from the volume",
                 CheckRemoveCheckpoint, KeepNoValue, "");

MYSQL_SYSVAR_STR(
    fs_uri, fs_uri, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
    "Where the engine keeps its files: zenfs://dev:NAME, zenfs://zonefs:PATH or another URI of a ZenFS "
    "volume; empty: in the host's file system, in rocksdb_datadir",
    nullptr, nullptr, nullptr);

}  // namespace

st_maria_plugin WithOtherFiles(const st_maria_plugin& rocksdb) {
  State& state = TheState();
  state.engine = rocksdb;
  state.data_directory = FindStringVariable(rocksdb, "datadir");
  for (st_mysql_sys_var** each = rocksdb.system_vars; *each != nullptr; ++each)
    state.variables.push_back(*each);
  state.variables.push_back(MYSQL_SYSVAR(fs_uri));
  state.variables.push_back(MYSQL_SYSVAR(fs_remove_checkpoint));
  state.variables.push_back(nullptr);
  for (st_mysql_show_var* each = rocksdb.status_vars; each->name != nullptr; ++each)
    state.status_variables.push_back(*each);
  state.status_variables.push_back(SHOW_FUNC_ENTRY("Zenfs", &ShowStatus));
  state.status_variables.push_back({});
  st_maria_plugin hooked = rocksdb;
  hooked.init = Start;
  hooked.deinit = Stop;
  hooked.system_vars = state.variables.data();
  hooked.status_vars = state.status_variables.data();
  return hooked;
}

}  // namespace zenfs::myrocks
