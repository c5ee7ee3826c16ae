// A database in the zones of a device, from Go: grocksdb with the shared RocksDB.
//
//	zenfs emu create /var/tmp/zones.img && zenfs mkfs --emu=/var/tmp/zones.img
//	cd examples/go && go build
//	ZENFS_DEFAULT_URI=zenfs://emu:/var/tmp/zones.img LD_PRELOAD=libzenfs.so ./hello DIRECTORY
//	LD_PRELOAD=libzenfs.so ./hello zenfs://emu:/var/tmp/zones.img
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/linxGnu/grocksdb"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: hello DIRECTORY | zenfs://emu:PATH")
	}
	path, text := os.Args[1], "create_if_missing=true"
	if strings.HasPrefix(path, "zenfs://") {
		path, text = "/hello", text+";env="+path
	}
	options, err := grocksdb.GetOptionsFromString(grocksdb.NewDefaultOptions(), text)
	check(err)
	db, err := grocksdb.OpenDb(options, path)
	check(err)
	defer db.Close()

	durable := grocksdb.NewDefaultWriteOptions()
	durable.SetSync(true) // returns when the value would survive a loss of power
	check(db.Put(durable, []byte("greeting"), []byte("hello from a zone")))
	value, err := db.Get(grocksdb.NewDefaultReadOptions(), []byte("greeting"))
	check(err)
	defer value.Free()
	fmt.Println(string(value.Data()))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
