// The one function of MariaDB's server that its storage engine calls and its server library does not export. With it a
// program can use the RocksDB inside the engine without a server.
#include <cstddef>

extern "C" [[gnu::visibility("default")]] std::size_t my_safe_printf_stderr(const char*, ...) { return 0; }
