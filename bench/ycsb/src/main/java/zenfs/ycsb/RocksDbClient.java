package zenfs.ycsb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteOptions;
import org.rocksdb.ZenFsEnv;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * YCSB on RocksDB. Properties: rocksdb.path, the database; rocksdb.env, the URI of a device, or another environment that
 * RocksDB knows, of a library that was preloaded for example, without which it is on the host's file system; rocksdb.sync,
 * whether each write survives the loss of power; rocksdb.db.NAME and rocksdb.cf.NAME, any option of RocksDB. One database
 * for all threads of YCSB; a record is one value, tables of YCSB are not told apart.
 */
public final class RocksDbClient extends DB {
  private static int clients;
  private static RocksDB db;
  private static WriteOptions writeOptions;

  @Override
  public void init() throws DBException {
    synchronized (RocksDbClient.class) {
      if (clients == 0) open(getProperties());
      ++clients;
    }
  }

  private static void open(Properties properties) throws DBException {
    try {
      RocksDB.loadLibrary();  // DBOptions alone would not
      final DBOptions options = options(properties.getProperty("rocksdb.env"), behind("rocksdb.db.", properties));
      final ColumnFamilyOptions family =
          ColumnFamilyOptions.getColumnFamilyOptionsFromProps(behind("rocksdb.cf.", properties));
      if (options == null || family == null) throw new DBException("RocksDB refuses an option of rocksdb.properties");
      writeOptions = new WriteOptions().setSync(Boolean.parseBoolean(properties.getProperty("rocksdb.sync")));
      final List<ColumnFamilyHandle> handles = new ArrayList<>();
      db = RocksDB.open(options, properties.getProperty("rocksdb.path"),
          List.of(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, family)), handles);
    } catch (RocksDBException | UnsatisfiedLinkError problem) {
      throw new DBException(problem);
    }
  }

  private static DBOptions options(String env, Properties others) throws RocksDBException {
    if (env != null && env.startsWith("zenfs://")) {
      final DBOptions options = others.isEmpty() ? new DBOptions() : DBOptions.getDBOptionsFromProps(others);
      return options == null ? null : options.setEnv(ZenFsEnv.create(env));  // open until the process ends
    }
    if (env != null) others.setProperty("env", env);
    return DBOptions.getDBOptionsFromProps(others);
  }

  private static Properties behind(String prefix, Properties properties) {
    final Properties found = new Properties();
    for (final String name : properties.stringPropertyNames()) {
      if (name.startsWith(prefix)) found.setProperty(name.substring(prefix.length()), properties.getProperty(name));
    }
    return found;
  }

  /** The last thread leaves all that was written in tables, so that a run does not begin with the log of the load. */
  @Override
  public void cleanup() throws DBException {
    synchronized (RocksDbClient.class) {
      if (--clients > 0) return;
      try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
        db.flush(flush);
        db.closeE();
      } catch (RocksDBException problem) {
        throw new DBException(problem);
      }
    }
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    try {
      final byte[] value = db.get(key.getBytes(UTF_8));
      if (value == null) return Status.NOT_FOUND;
      Fields.decode(value, fields, result);
      return Status.OK;
    } catch (RocksDBException problem) {
      return failed(problem);
    }
  }

  @Override
  public Status scan(String table, String startKey, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    try (RocksIterator records = db.newIterator()) {
      for (records.seek(startKey.getBytes(UTF_8)); records.isValid() && result.size() < count; records.next()) {
        final HashMap<String, ByteIterator> record = new HashMap<>();
        Fields.decode(records.value(), fields, record);
        result.add(record);
      }
      records.status();
      return Status.OK;
    } catch (RocksDBException problem) {
      return failed(problem);
    }
  }

  /** Fields that are not given keep their content. */
  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    final Map<String, ByteIterator> record = new HashMap<>();
    final Status found = read(table, key, null, record);
    if (!found.isOk()) return found;
    record.putAll(values);
    return insert(table, key, record);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    try {
      db.put(writeOptions, key.getBytes(UTF_8), Fields.encode(values));
      return Status.OK;
    } catch (RocksDBException problem) {
      return failed(problem);
    }
  }

  @Override
  public Status delete(String table, String key) {
    try {
      db.delete(writeOptions, key.getBytes(UTF_8));
      return Status.OK;
    } catch (RocksDBException problem) {
      return failed(problem);
    }
  }

  private static Status failed(RocksDBException problem) {
    System.err.println("RocksDbClient: " + problem.getMessage());
    return Status.ERROR;
  }
}
