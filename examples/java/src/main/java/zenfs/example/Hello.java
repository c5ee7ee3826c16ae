package zenfs.example;

import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.ZenFsEnv;

/** Writes notes to a device, reads them, takes a checkpoint, and finds all of it again. */
public final class Hello {
  private static final String PATH = "/notes";
  private static final String CHECKPOINT = "/notes-before-spring";
  private static final int NOTES = 20_000;

  private Hello() {}

  public static void main(String[] arguments) {
    final boolean dump = arguments.length == 3 && arguments[1].equals("--dump");
    if (arguments.length != 1 && !dump) {
      System.err.println("usage: Hello zenfs://emu:PATH [--dump NOTEBOOK]");
      System.exit(2);
    }
    try (ZenFsEnv device = ZenFsEnv.create(arguments[0])) {
      if (dump) {
        dump(device, arguments[2]);
      } else {
        System.out.println("RocksDB " + RocksDB.rocksdbVersion() + " on " + device.uri());
        write(device);
        findAgain(device);
      }
    } catch (RocksDBException | UnsatisfiedLinkError problem) {
      System.err.println("Hello: " + problem.getMessage());
      System.exit(1);
    }
  }

  private static void write(ZenFsEnv device) throws RocksDBException {
    try (Notebook notebook = new Notebook(device, PATH)) {
      for (int i = 0; i < NOTES; ++i) notebook.write(name(i), text(i, "winter"));
      notebook.writeDurably("greeting", "hello from a zone");
      System.out.println("written: " + notebook.count() + " notes");
      notebook.checkpoint(CHECKPOINT);
      for (int i = 0; i < NOTES; i += 2) notebook.write(name(i), text(i, "spring"));
      for (int i = 0; i < NOTES; i += 10) notebook.erase(name(i));
      System.out.println("after a checkpoint, half of them written anew, a tenth erased: " + notebook.count());
    }
  }

  private static void findAgain(ZenFsEnv device) throws RocksDBException {
    try (Notebook notebook = new Notebook(device, PATH); Notebook before = new Notebook(device, CHECKPOINT)) {
      System.out.println("opened again: " + notebook.count() + " notes, in the checkpoint " + before.count());
      System.out.println(notebook.read("greeting"));
      System.out.println(notebook.read(name(2)) + ", before: " + before.read(name(2)));
    }
  }

  private static void dump(ZenFsEnv device, String path) throws RocksDBException {
    try (Notebook notebook = new Notebook(device, path)) {
      notebook.forEach((name, text) -> System.out.println(name + "\t" + text));
    }
  }

  private static String name(int i) {
    return String.format("note-%05d", i);
  }

  private static String text(int i, String season) {
    return "what happened in " + season + ", part " + i;
  }
}
