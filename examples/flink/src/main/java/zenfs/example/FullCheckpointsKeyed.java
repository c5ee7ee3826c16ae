package zenfs.example;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.RunnableFuture;
import java.util.stream.Stream;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.KeyedStateFunction;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.SavepointResources;
import org.apache.flink.runtime.state.SavepointSnapshotStrategy;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;
import org.apache.flink.runtime.state.StateSnapshotTransformer.StateSnapshotTransformFactory;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;

/** The state of one task: everything is RocksDB's but {@link #snapshot}. With an older Flink, remove the methods that it does not have. */
final class FullCheckpointsKeyed<K> extends AbstractKeyedStateBackend<K> {
  private final AbstractKeyedStateBackend<K> rocksDb;

  FullCheckpointsKeyed(AbstractKeyedStateBackend<K> rocksDb) {
    super(rocksDb);
    this.rocksDb = rocksDb;
  }

  @Override
  public RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot(long id, long time, CheckpointStreamFactory factory,
      CheckpointOptions options) throws Exception {
    final SavepointResources<K> all = rocksDb.savepoint();
    return new SnapshotStrategyRunner<>("full checkpoint", new SavepointSnapshotStrategy<>(all.getSnapshotResources()),
        cancelStreamRegistry, all.getPreferredSnapshotExecutionType()).snapshot(id, time, factory, options);
  }

  /** Nothing is kept from one checkpoint to the next. */
  @Override
  public void notifyCheckpointComplete(long id) {}

  @Override
  public SavepointResources<K> savepoint() throws Exception {
    return rocksDb.savepoint();
  }

  @Override
  public void setCurrentKey(K key) {
    rocksDb.setCurrentKey(key);
  }

  @Override
  public void setCurrentKeyAndKeyGroup(K key, int group) {
    rocksDb.setCurrentKeyAndKeyGroup(key, group);
  }

  @Override
  public <N, S extends State, T> void applyToAllKeys(N namespace, TypeSerializer<N> serializer, StateDescriptor<S, T> descriptor,
      KeyedStateFunction<K, S> function) throws Exception {
    rocksDb.applyToAllKeys(namespace, serializer, descriptor, function);
  }

  @Override
  public <N> Stream<K> getKeys(String state, N namespace) {
    return rocksDb.getKeys(state, namespace);
  }

  @Override  // since Flink 2.1
  public <N> Stream<K> getKeys(List<String> states, N namespace) {
    return rocksDb.getKeys(states, namespace);
  }

  @Override
  public <N> Stream<Tuple2<K, N>> getKeysAndNamespaces(String state) {
    return rocksDb.getKeysAndNamespaces(state);
  }

  @Override
  public <N, S extends State, T> S getOrCreateKeyedState(TypeSerializer<N> serializer, StateDescriptor<S, T> descriptor)
      throws Exception {
    return rocksDb.getOrCreateKeyedState(serializer, descriptor);
  }

  @Override
  public <N, S extends State> S getPartitionedState(N namespace, TypeSerializer<N> serializer, StateDescriptor<S, ?> descriptor)
      throws Exception {
    return rocksDb.getPartitionedState(namespace, serializer, descriptor);
  }

  @Override
  public <N, V, E, S extends State, I extends S> I createOrUpdateInternalState(TypeSerializer<N> serializer,
      StateDescriptor<S, V> descriptor, StateSnapshotTransformFactory<E> transform) throws Exception {
    return rocksDb.createOrUpdateInternalState(serializer, descriptor, transform);
  }

  @Override
  public <N, V, E, S extends State, I extends S> I createOrUpdateInternalState(TypeSerializer<N> serializer,
      StateDescriptor<S, V> descriptor, StateSnapshotTransformFactory<E> transform, boolean allowFutureMetadataUpdates)
      throws Exception {
    return rocksDb.createOrUpdateInternalState(serializer, descriptor, transform, allowFutureMetadataUpdates);
  }

  @Override
  public <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>> KeyGroupedInternalPriorityQueue<T> create(
      String state, TypeSerializer<T> serializer) {
    return rocksDb.create(state, serializer);
  }

  @Override
  public <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>> KeyGroupedInternalPriorityQueue<T> create(
      String state, TypeSerializer<T> serializer, boolean allowFutureMetadataUpdates) {
    return rocksDb.create(state, serializer, allowFutureMetadataUpdates);
  }

  @Override
  public void registerKeySelectionListener(KeySelectionListener<K> listener) {
    rocksDb.registerKeySelectionListener(listener);
  }

  @Override
  public boolean deregisterKeySelectionListener(KeySelectionListener<K> listener) {
    return rocksDb.deregisterKeySelectionListener(listener);
  }

  @Override
  public boolean isSafeToReuseKVState() {
    return rocksDb.isSafeToReuseKVState();
  }

  @Override  // since Flink 2.3
  public String getBackendTypeIdentifier() {
    return rocksDb.getBackendTypeIdentifier();
  }

  @Override
  public int numKeyValueStateEntries() {
    return rocksDb.numKeyValueStateEntries();
  }

  @Override
  public void dispose() {
    rocksDb.dispose();
  }

  @Override
  public void close() throws IOException {
    rocksDb.close();
  }
}
