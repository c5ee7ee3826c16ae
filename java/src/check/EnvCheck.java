import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.rocksdb.BackupEngine;
import org.rocksdb.BackupEngineOptions;
import org.rocksdb.Checkpoint;
import org.rocksdb.Env;
import org.rocksdb.EnvOptions;
import org.rocksdb.IngestExternalFileOptions;
import org.rocksdb.Options;
import org.rocksdb.Priority;
import org.rocksdb.RestoreOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.SstFileWriter;
import org.rocksdb.TransactionDB;
import org.rocksdb.TransactionDBOptions;
import org.rocksdb.WriteOptions;
import org.rocksdb.ZenFsEnv;

/** The Java half of java/test, which calls it with the name of a case and a URI. */
public final class EnvCheck {
  private static final int RECORDS = 2000;
  private static final String BACKUP = System.getProperty("java.io.tmpdir");  // a directory of the host

  private EnvCheck() {}

  public static void main(String[] arguments) throws Exception {
    final String uri = arguments[1];
    switch (arguments[0]) {
      case "everything": everything(uri); break;
      case "wrong": wrong(Arrays.asList(arguments).subList(1, arguments.length)); break;
      case "early": closedTooEarly(uri); break;
      case "threads": threads(uri); break;
      case "write": write(uri); break;
      case "count": count(uri); break;
      case "late": RocksDB.loadLibrary(); option(uri); break;
      case "option": option(uri); break;
      default: throw new IllegalArgumentException(arguments[0]);
    }
    System.out.println("done");
  }

  /** Each kind of object that takes an Env. */
  private static void everything(String uri) throws Exception {
    try (ZenFsEnv env = ZenFsEnv.create(uri); Options options = new Options().setCreateIfMissing(true).setEnv(env)) {
      same(env.uri(), uri);
      try (RocksDB db = RocksDB.open(options, "/db")) {
        fill(db, "first");
        db.flushWal(true);
        same(db.getEnv().getNativeHandle(), env.getNativeHandle());
        try (Checkpoint checkpoint = Checkpoint.create(db)) {
          checkpoint.createCheckpoint("/checkpoint");
        }
        try (BackupEngineOptions backup = new BackupEngineOptions(BACKUP).setBackupEnv(Env.getDefault());
            BackupEngine engine = BackupEngine.open(env, backup)) {
          engine.createNewBackup(db, true);
        }
        try (EnvOptions plain = new EnvOptions(); SstFileWriter writer = new SstFileWriter(plain, options);
            IngestExternalFileOptions ingest = new IngestExternalFileOptions()) {
          writer.open("/table.sst");
          writer.put(bytes("z"), bytes("ingested"));
          writer.finish();
          db.ingestExternalFile(List.of("/table.sst"), ingest);
        }
        same(new String(db.get(bytes("z")), UTF_8), "ingested");
        fill(db, "second");
      }
      families(options);
      try (RocksDB db = RocksDB.openReadOnly(options, "/checkpoint")) {
        verify(db, "first");
      }
      try (RocksDB db = RocksDB.open(options, "/db"); ZenFsEnv another = ZenFsEnv.create(uri);
          Options second = new Options().setCreateIfMissing(true).setEnv(another); RocksDB other = RocksDB.open(second, "/other")) {
        verify(db, "second");
        fill(other, "other");
      }
      try (TransactionDBOptions transactions = new TransactionDBOptions();
          TransactionDB db = TransactionDB.open(options, transactions, "/other")) {
        verify(db, "other");
      }
      restore(env, options);
      RocksDB.destroyDB("/other", options);
      env.setBackgroundThreads(3, Priority.LOW);
      same(Env.getDefault().getBackgroundThreads(Priority.LOW), 3);
      env.getThreadList();
      step("open");
    }
    step("closed");
    try (ZenFsEnv env = ZenFsEnv.create(uri); Options options = new Options().setEnv(env); RocksDB db = RocksDB.open(options, "/db")) {
      verify(db, "second");
    }
  }

  private static void families(Options options) throws RocksDBException {
    final List<byte[]> names = RocksDB.listColumnFamilies(options, "/db");
    same(names.size(), 1);
    same(new String(names.get(0), UTF_8), "default");
    try (Options onTheHost = new Options()) {
      same(RocksDB.listColumnFamilies(onTheHost, "/db").size(), 0);  // no error: RocksJava drops it
    }
  }

  private static void restore(ZenFsEnv env, Options options) throws RocksDBException {
    try (BackupEngineOptions backup = new BackupEngineOptions(BACKUP).setBackupEnv(Env.getDefault());
        BackupEngine engine = BackupEngine.open(env, backup); RestoreOptions keep = new RestoreOptions(false)) {
      engine.restoreDbFromLatestBackup("/restored", "/restored", keep);
    }
    try (RocksDB db = RocksDB.open(options, "/restored")) {
      verify(db, "first");
    }
  }

  /** One line for each URI: the reason why it is refused. */
  private static void wrong(List<String> uris) {
    for (final String uri : uris) {
      try {
        ZenFsEnv.create(uri).close();
        System.out.println("accepted");
      } catch (RocksDBException refused) {
        same(refused.getStatus().getCode(), org.rocksdb.Status.Code.InvalidArgument);
        System.out.println(refused.getMessage());
      }
    }
    try {
      ZenFsEnv.create(null);
      throw new AssertionError("null was accepted");
    } catch (NullPointerException | RocksDBException expected) {
      same(expected.getClass(), NullPointerException.class);
    }
  }

  private static void closedTooEarly(String uri) throws Exception {
    final ZenFsEnv env = ZenFsEnv.create(uri);
    final Options options = new Options().setCreateIfMissing(true).setWriteBufferSize(64 << 10).setEnv(env);
    final RocksDB db = RocksDB.open(options, "/db");
    env.close();
    env.close();
    for (int i = 0; i < 20; ++i) fill(db, "after " + i);
    db.compactRange();
    verify(db, "after 19");
    step("open");
    db.close();
    options.close();
    try (ZenFsEnv again = ZenFsEnv.create(uri); Options fresh = new Options().setEnv(again);
        RocksDB reopened = RocksDB.open(fresh, "/db")) {
      verify(reopened, "after 19");
    }
    step("closed");
  }

  private static void threads(String uri) throws Exception {
    final List<Throwable> failures = new ArrayList<>();
    final List<Thread> all = new ArrayList<>();
    for (int t = 0; t < 6; ++t) {
      final String path = "/db-" + t;
      all.add(new Thread(() -> {
        try {
          for (int round = 0; round < 10; ++round) {
            try (ZenFsEnv env = ZenFsEnv.create(uri); Options options = new Options().setCreateIfMissing(true).setEnv(env);
                RocksDB db = RocksDB.open(options, path)) {
              if (round > 0) verify(db, path + (round - 1));
              fill(db, path + round);
            }
          }
        } catch (Throwable failure) {
          synchronized (failures) {
            failures.add(failure);
          }
        }
      }));
    }
    for (final Thread thread : all) thread.start();
    for (final Thread thread : all) thread.join();
    if (!failures.isEmpty()) throw new AssertionError(failures.toString(), failures.get(0));
    step("closed");
  }

  /** Writes until it is killed; each number on standard output is durable. */
  private static void write(String uri) throws Exception {
    try (ZenFsEnv env = ZenFsEnv.create(uri);
        Options options = new Options().setCreateIfMissing(true).setWriteBufferSize(256 << 10).setEnv(env);
        RocksDB db = RocksDB.open(options, "/killed"); WriteOptions durable = new WriteOptions().setSync(true)) {
      for (int i = 0;; ++i) {
        db.put(durable, bytes(String.format("%08d", i)), new byte[300]);
        System.out.println(i);
      }
    }
  }

  private static void count(String uri) throws Exception {
    try (ZenFsEnv env = ZenFsEnv.create(uri); Options options = new Options().setEnv(env); RocksDB db = RocksDB.open(options, "/killed")) {
      int found = 0;
      while (db.get(bytes(String.format("%08d", found))) != null) ++found;
      System.out.println(found);
    }
  }

  /** The device by an option string, after load() alone. */
  private static void option(String uri) throws Exception {
    ZenFsEnv.load();
    final java.util.Properties properties = new java.util.Properties();
    properties.setProperty("env", uri);
    properties.setProperty("create_if_missing", "true");
    try (org.rocksdb.DBOptions parsed = org.rocksdb.DBOptions.getDBOptionsFromProps(properties);
        Options options = new Options(parsed, new org.rocksdb.ColumnFamilyOptions()); RocksDB db = RocksDB.open(options, "/option")) {
      fill(db, "option");
      verify(db, "option");
    }
    try (Stream<Path> left = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
      same(left.filter(path -> path.getFileName().toString().startsWith("zenfs-")).count(), 0L);
    }
  }

  private static void fill(RocksDB db, String text) throws RocksDBException {
    for (int i = 0; i < RECORDS; ++i) db.put(bytes("key-" + i), bytes(text + " " + i));
  }

  private static void verify(RocksDB db, String text) throws RocksDBException {
    for (int i = 0; i < RECORDS; ++i) same(new String(db.get(bytes("key-" + i)), UTF_8), text + " " + i);
  }

  /** Says where the program is, and waits until java/test has looked. */
  private static void step(String name) throws IOException {
    System.out.println(name);
    if (System.in.read() < 0) throw new IOException("nobody answers");
  }

  private static void same(Object found, Object expected) {
    if (!found.equals(expected)) throw new AssertionError(found + " instead of " + expected);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
