//! A database in the zones of a device, from Rust: the shared RocksDB, on a default device.
//!
//!   zenfs emu create /var/tmp/zones.img && zenfs mkfs --emu=/var/tmp/zones.img
//!   cd examples/rust && ROCKSDB_LIB_DIR=/usr/lib/x86_64-linux-gnu cargo build
//!   ZENFS_DEFAULT_URI=zenfs://emu:/var/tmp/zones.img LD_PRELOAD=libzenfs.so target/debug/hello DIRECTORY
use rocksdb::{Options, WriteOptions, DB};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: hello DIRECTORY")?;
    let mut options = Options::default();
    options.create_if_missing(true);
    let db = DB::open(&options, path)?;

    let mut durable = WriteOptions::default();
    durable.set_sync(true); // returns when the value would survive a loss of power
    db.put_opt("greeting", "hello from a zone", &durable)?;
    let value = db.get("greeting")?.ok_or("the greeting is gone")?;
    println!("{}", String::from_utf8(value)?);
    Ok(())
}
