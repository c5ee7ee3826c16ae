// MariaDB's plugin interface, and the functions of the server that its log is written with.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// The guard of a service that runs SQL. It is not used here, and its header needs the whole client library.
#define MYSQL_SERVICE_SQL
#include <mysql/plugin.h>

// Exported by mariadbd. They write one line into the error log, with the time and the level.
void sql_print_error(const char* format, ...);        // NOLINT(readability-identifier-naming)
void sql_print_warning(const char* format, ...);      // NOLINT(readability-identifier-naming)
void sql_print_information(const char* format, ...);  // NOLINT(readability-identifier-naming)
