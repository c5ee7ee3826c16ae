/* A database in the zones of a device, from C.

     zenfs emu create /var/tmp/zones.img && zenfs mkfs --emu=/var/tmp/zones.img
     gcc examples/c/hello.c -o hello -Lbuild/release -lzenfs -lrocksdb
     LD_LIBRARY_PATH=build/release ./hello zenfs://emu:/var/tmp/zones.img */
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of libzenfs. Without a call to it a linker may drop the library, RocksDB ignores env=, and the database is on the host. */
const char *zenfs_plugin_version(void);

static void check(char *error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", error);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 2 || strncmp(argv[1], "zenfs://", 8) != 0) {
    fprintf(stderr, "usage: hello zenfs://emu:PATH\n");
    return 2;
  }
  printf("ZenFS %s\n", zenfs_plugin_version());

  char text[4096];
  if (snprintf(text, sizeof text, "create_if_missing=true;env=%s", argv[1]) >= (int)sizeof text) {
    fprintf(stderr, "%s: too long\n", argv[1]);
    return 2;
  }
  char *error = NULL;
  rocksdb_options_t *defaults = rocksdb_options_create();
  rocksdb_options_t *options = rocksdb_options_create();
  rocksdb_get_options_from_string(defaults, text, options, &error);
  check(error);
  rocksdb_t *db = rocksdb_open(options, "/hello", &error);
  check(error);

  rocksdb_writeoptions_t *durable = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(durable, 1); /* returns when the value would survive a loss of power */
  const char *value = "hello from a zone";
  rocksdb_put(db, durable, "greeting", strlen("greeting"), value, strlen(value), &error);
  check(error);
  rocksdb_readoptions_t *reading = rocksdb_readoptions_create();
  size_t length = 0;
  char *read = rocksdb_get(db, reading, "greeting", strlen("greeting"), &length, &error);
  check(error);
  printf("%.*s\n", (int)length, read);

  rocksdb_free(read);
  rocksdb_readoptions_destroy(reading);
  rocksdb_writeoptions_destroy(durable);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_options_destroy(defaults);
  return 0;
}
