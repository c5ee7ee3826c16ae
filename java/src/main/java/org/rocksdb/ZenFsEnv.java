package org.rocksdb;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * An {@link Env} whose files are on a zoned device.
 *
 * <pre>{@code
 * try (ZenFsEnv env = ZenFsEnv.create("zenfs://dev:nvme0n1");
 *     Options options = new Options().setCreateIfMissing(true).setEnv(env);
 *     RocksDB db = RocksDB.open(options, "/db")) {
 *   ...
 * }
 * }</pre>
 *
 * <p>Paths are paths on the device. Set the environment of all {@link Options} and {@link DBOptions} that are used with a database, also
 * those for {@link RocksDB#listColumnFamilies}, {@link RocksDB#destroyDB} and {@link SstFileWriter}. A {@link BackupEngine} gets the
 * environment of the database when it is opened. {@link BackupEngineOptions#setBackupEnv} chooses where the backups are:
 * {@link Env#getDefault()} is the host. RocksJava accepts a backup directory only if the host has a directory of that name.
 *
 * <p><b>Lifetime.</b> The device belongs to this process as long as an environment on it is open. An environment must outlive every
 * object that uses it: databases, options, backup engines. If one is closed while a database is open, the database goes on; the device
 * is then given back when the database is closed and another environment is made or closed.
 *
 * <p><b>Threads.</b> All methods may be called from any thread. The threads of flushes and compactions are those of
 * {@link Env#getDefault()}, which all environments of the process share.
 *
 * <p>The class is in this package because the constructor of {@link Env} is not public. It therefore must be on the class path, as
 * rocksdbjni; on the module path two modules cannot have the same package.
 */
public final class ZenFsEnv extends Env {
  private static final String ROCKSDB = "librocksdbjni-linux64.so";
  private static final String PLUGIN = "libzenfs.so";
  private static final String CURE = "; put the " + PLUGIN + " that was built for RocksJava's version of RocksDB into a folder, and start "
      + "Java with -Djava.library.path=FOLDER";
  private static boolean loaded;

  private final String uri;

  private ZenFsEnv(String uri, long handle) {
    super(handle);
    this.uri = uri;
  }

  /**
   * Opens the file system of a device.
   *
   * <p>Several environments of one device are possible in a process. They share its file system.
   *
   * @param uri the device, for example {@code zenfs://dev:nvme0n1}, with mount options if wanted
   * @return an environment that the caller closes
   * @throws RocksDBException if the device cannot be used, with the reason: no device, no file system on it, another process has it,
   *     an unknown option, a URI that does not begin with {@code zenfs://}. Its status is {@code InvalidArgument}.
   * @throws UnsatisfiedLinkError as {@link #load()}
   */
  public static ZenFsEnv create(String uri) throws RocksDBException {
    final byte[] bytes = uri.getBytes(StandardCharsets.UTF_8);
    load();
    final long[] handle = {0};
    final byte[] reason = openEnv(bytes, handle);
    if (reason != null) {
      final String text = new String(reason, StandardCharsets.UTF_8);
      throw new RocksDBException(text, new Status(Status.Code.InvalidArgument, Status.SubCode.None, text));
    }
    return new ZenFsEnv(uri, handle[0]);
  }

  /**
   * Loads RocksDB, unless it is loaded, and the plugin. {@link #create} does it; a program that names the device in an option string
   * ({@code env=zenfs://...}) calls it before that.
   *
   * <p>The plugin is {@code libzenfs.so} in {@code java.library.path}; if it is not there, {@code libzenfs.so} in the class path. It must
   * have been built for this version of RocksDB. It uses the very file from which RocksJava has loaded its library. If that is not beside
   * the plugin, the plugin is copied into a new folder below {@code java.io.tmpdir}, which is removed at once.
   *
   * <p>May be called again.
   *
   * @throws UnsatisfiedLinkError if the plugin is missing or was built for another RocksDB. Its text says what to do.
   */
  public static synchronized void load() {
    if (loaded) return;
    RocksDB.loadLibrary();
    try {
      loadPlugin();
    } catch (IOException problem) {
      throw new UnsatisfiedLinkError("cannot load " + PLUGIN + ": " + problem);
    }
    loaded = true;
  }

  /**
   * Returns the URI of the device.
   *
   * @return the argument of {@link #create}
   */
  public String uri() {
    return uri;
  }

  @Override
  protected void disposeInternal(long handle) {
    closeEnv(handle);
  }

  private static void loadPlugin() throws IOException {
    final Path rocksDb = theRocksDb();
    final Optional<Path> plugin = mapped(PLUGIN).stream().findFirst().or(ZenFsEnv::pluginInLibraryPath);  // the first if preloaded
    if (plugin.isPresent() && isBeside(rocksDb, plugin.get())) {
      System.load(plugin.get().toString());
    } else {
      try (InputStream bytes = plugin.isPresent() ? Files.newInputStream(plugin.get()) : resource()) {
        loadCopy(bytes, rocksDb);
      }
    }
    theRocksDb();
  }

  private static boolean isBeside(Path rocksDb, Path plugin) throws IOException {
    final Path beside = plugin.resolveSibling(ROCKSDB);
    return Files.exists(beside) && Files.isSameFile(beside, rocksDb);
  }

  /** The loader takes a file that is loaded already for the same library, whatever its name. */
  private static void loadCopy(InputStream plugin, Path rocksDb) throws IOException {
    final Path folder = Files.createTempDirectory("zenfs-");
    final Path copy = folder.resolve(PLUGIN);
    final Path link = folder.resolve(ROCKSDB);
    try {
      Files.createSymbolicLink(link, rocksDb);
      Files.copy(plugin, copy);
      System.load(copy.toString());
    } finally {
      Files.deleteIfExists(copy);
      Files.deleteIfExists(link);
      Files.deleteIfExists(folder);
    }
  }

  private static Optional<Path> pluginInLibraryPath() {
    return Stream.of(System.getProperty("java.library.path", "").split(":"))
        .filter(folder -> !folder.isEmpty())
        .map(folder -> Path.of(folder, PLUGIN).toAbsolutePath())
        .filter(Files::exists)
        .findFirst();
  }

  private static InputStream resource() {
    final InputStream found = ZenFsEnv.class.getClassLoader().getResourceAsStream(PLUGIN);
    if (found == null) throw new UnsatisfiedLinkError("no " + PLUGIN + " in java.library.path or the class path" + CURE);
    return found;
  }

  /** The file from which the process has loaded RocksDB. */
  private static Path theRocksDb() throws IOException {
    final Set<Path> all = mapped("librocksdb");
    if (all.size() == 1) return all.iterator().next();
    throw new UnsatisfiedLinkError(PLUGIN + " was built for another RocksDB than Java's " + RocksDB.rocksdbVersion()
        + ": this process has loaded " + all.stream().map(Path::toString).collect(Collectors.joining(" and ")) + CURE);
  }

  /** Files with code in this process's memory whose names begin with {@code name}. */
  private static Set<Path> mapped(String name) throws IOException {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      return maps.filter(line -> line.contains(" r-xp ") && line.contains("/"))
          .map(line -> Path.of(line.substring(line.indexOf('/'))))
          .filter(path -> path.getFileName().toString().startsWith(name))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  private static native byte[] openEnv(byte[] uri, long[] env);

  private static native void closeEnv(long env);
}
