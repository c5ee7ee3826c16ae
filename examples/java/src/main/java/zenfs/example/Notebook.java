package zenfs.example;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.rocksdb.Checkpoint;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Env;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteOptions;

/** Notes with a name each, in a database on a device. Plain RocksJava: only setEnv says where it is. */
public final class Notebook implements AutoCloseable {
  private final DBOptions options;
  private final ColumnFamilyOptions familyOptions = new ColumnFamilyOptions();
  private final List<ColumnFamilyHandle> families = new ArrayList<>();
  private final WriteOptions durable = new WriteOptions().setSync(true);
  private final RocksDB db;

  /** Opens the notebook at `path` in `env`, which must outlive it. Makes an empty one if there is none. */
  public Notebook(Env env, String path) throws RocksDBException {
    options = new DBOptions().setEnv(env).setCreateIfMissing(true).setUseDirectReads(true)
        .setUseDirectIoForFlushAndCompaction(true);
    db = RocksDB.open(options, path,
        List.of(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, familyOptions)), families);
  }

  /** Survives the death of the process. */
  public void write(String name, String text) throws RocksDBException {
    db.put(bytes(name), bytes(text));
  }

  /** Survives the loss of power, and so does all that was written before. */
  public void writeDurably(String name, String text) throws RocksDBException {
    db.put(durable, bytes(name), bytes(text));
  }

  public void erase(String name) throws RocksDBException {
    db.delete(bytes(name));
  }

  /** Null if there is no such note. */
  public String read(String name) throws RocksDBException {
    final byte[] text = db.get(bytes(name));
    return text == null ? null : text(text);
  }

  /** All notes in the order of their names. */
  public void forEach(BiConsumer<String, String> visit) throws RocksDBException {
    try (ReadOptions readOptions = new ReadOptions(); RocksIterator notes = db.newIterator(readOptions)) {
      for (notes.seekToFirst(); notes.isValid(); notes.next()) visit.accept(text(notes.key()), text(notes.value()));
      notes.status();
    }
  }

  public int count() throws RocksDBException {
    final int[] count = {0};
    forEach((name, text) -> ++count[0]);
    return count[0];
  }

  /** A second notebook at `path` of the same device, as this one is now; shares the tables, so costs hardly any space. */
  public void checkpoint(String path) throws RocksDBException {
    try (Checkpoint checkpoint = Checkpoint.create(db)) {
      checkpoint.createCheckpoint(path);
    }
  }

  @Override
  public void close() throws RocksDBException {
    families.forEach(ColumnFamilyHandle::close);
    db.closeE();
    durable.close();
    familyOptions.close();
    options.close();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
