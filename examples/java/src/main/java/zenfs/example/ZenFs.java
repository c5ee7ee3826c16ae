package zenfs.example;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/**
 * Gives the RocksDB of this process the scheme zenfs://. Copy this class into a program of your own.
 *
 * <p>The plugin registers itself with the librocksdbjni that it is linked with; Java must use that very file, not
 * a copy that RocksJava unpacks from its jar into a temporary file. So both libraries lie in one folder, and
 * -Djava.library.path names it: RocksJava looks there before it unpacks anything.
 */
public final class ZenFs {
  private static final String SCHEME = "zenfs://";

  private ZenFs() {}

  /**
   * Loads librocksdbjni, then libzenfs, both from java.library.path. May be called again, from any thread.
   *
   * @throws UnsatisfiedLinkError if one of them is missing, or they do not belong together; says what to do
   */
  public static synchronized void load() {
    RocksDB.loadLibrary();
    final String cure = "; put librocksdbjni-linux64.so of RocksDB " + RocksDB.rocksdbVersion()
        + " and the libzenfs.so that was built for it into one folder, and start Java with -Djava.library.path=FOLDER";
    try {
      System.loadLibrary("zenfs");
    } catch (UnsatisfiedLinkError error) {
      throw new UnsatisfiedLinkError(error.getMessage() + cure);
    }
    final Set<String> loaded = loadedRocksDbs();
    if (loaded.size() != 1) {
      throw new UnsatisfiedLinkError("libzenfs.so is bound to another RocksDB than Java: this process has loaded "
          + String.join(" and ", loaded) + cure);
    }
  }

  /** As below, everything else as RocksDB has it by default. */
  public static DBOptions options(String uri) throws RocksDBException {
    return options(uri, new Properties());
  }

  /**
   * Options of a database whose files are on the device of `uri`, for example zenfs://emu:/var/tmp/device.img. The
   * device is opened, and stays this process's until it ends.
   *
   * @param others further options, by the names that RocksDB's option strings have
   * @throws RocksDBException if the device can't be used, or an option; tells why
   */
  public static DBOptions options(String uri, Properties others) throws RocksDBException {
    // RocksDB silently takes the host's file system for a scheme that it does not know.
    if (!uri.startsWith(SCHEME)) throw new RocksDBException("'" + uri + "' does not begin with " + SCHEME);
    final Properties all = new Properties();
    all.putAll(others);
    all.setProperty("env", uri);
    final DBOptions options = DBOptions.getDBOptionsFromProps(all);
    if (options == null) throw new RocksDBException(whyNot(all));
    return options;
  }

  /** The reason that getDBOptionsFromProps drops: RocksJava tells it only of options that come from a file. */
  private static String whyNot(Properties refused) {
    final StringBuilder text = new StringBuilder("[Version]\nrocksdb_version=1.0.0\noptions_file_version=1.1\n[DBOptions]\n");
    refused.forEach((name, value) -> text.append(name).append('=').append(value).append('\n'));
    text.append("[CFOptions \"default\"]\n");
    try (ConfigOptions config = new ConfigOptions().setIgnoreUnknownOptions(false); DBOptions options = new DBOptions()) {
      final Path file = Files.createTempFile("zenfs-", ".options");
      try {
        Files.writeString(file, text);
        OptionsUtil.loadOptionsFromFile(config, file.toString(), options, new ArrayList<>());
        return "the options were refused, and a moment later taken; try again";
      } finally {
        Files.delete(file);
      }
    } catch (IOException | RocksDBException reason) {
      return reason.getMessage();
    }
  }

  /** Files of this process's memory that hold a RocksDB. */
  private static Set<String> loadedRocksDbs() {
    final Set<String> found = new TreeSet<>();
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      maps.filter(line -> line.matches(".* r-xp .*/librocksdb[^/]*"))
          .forEach(line -> found.add(line.substring(line.indexOf('/'))));
    } catch (IOException unreadable) {
      throw new UnsatisfiedLinkError("can't see which libraries are loaded: " + unreadable.getMessage());
    }
    return found;
  }
}
