package zenfs.example;

import java.io.IOException;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.StateBackendFactory;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackendFactory;

/**
 * Flink's RocksDB state backend with checkpoints that are read through RocksDB, not from its files. Copy this class and {@link
 * FullCheckpointsKeyed} into your program, and configure {@code state.backend.type: zenfs.example.FullCheckpoints$Factory}.
 *
 * <p>Flink's own checkpoints, incremental or not, read RocksDB's files in a directory of the host. There is none of them if the files
 * are on a device. So each checkpoint is written as Flink writes a savepoint in the canonical format: all keys and values, by an
 * iterator over a snapshot. It is as large as the state. All options of the RocksDB state backend work, but not
 * {@code execution.checkpointing.incremental} and native savepoints.
 */
public final class FullCheckpoints implements StateBackend {
  private static final long serialVersionUID = 1L;

  private final EmbeddedRocksDBStateBackend rocksDb;

  private FullCheckpoints(EmbeddedRocksDBStateBackend rocksDb) {
    this.rocksDb = rocksDb;
  }

  /** Makes it from Flink's configuration. */
  public static final class Factory implements StateBackendFactory<FullCheckpoints> {
    @Override
    public FullCheckpoints createFromConfig(ReadableConfig config, ClassLoader loader) {
      return new FullCheckpoints(new EmbeddedRocksDBStateBackendFactory().createFromConfig(config, loader));
    }
  }

  @Override
  public <K> FullCheckpointsKeyed<K> createKeyedStateBackend(KeyedStateBackendParameters<K> parameters) throws IOException {
    return new FullCheckpointsKeyed<>(rocksDb.createKeyedStateBackend(parameters));
  }

  @Override
  public OperatorStateBackend createOperatorStateBackend(OperatorStateBackendParameters parameters) throws Exception {
    return rocksDb.createOperatorStateBackend(parameters);
  }

  @Override
  public boolean useManagedMemory() {
    return rocksDb.useManagedMemory();
  }

  @Override
  public boolean supportsNoClaimRestoreMode() {
    return true;
  }

  @Override
  public boolean supportsSavepointFormat(SavepointFormatType format) {
    return format == SavepointFormatType.CANONICAL;
  }
}
