module zenfs/examples/hello

go 1.19

// The release for RocksDB 7.8, as Debian 12 has it. Each release of grocksdb is for one of RocksDB.
require github.com/linxGnu/grocksdb v1.7.15
