package zenfs.example;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * Counts words in a store of Kafka Streams. Nothing here knows of ZenFS.
 *
 * <pre>
 * Counts topic BOOTSTRAP                              makes the topic "words"
 * Counts feed BOOTSTRAP N [DIFFERENT RATE LENGTH]     sends N words, RATE a second (0: no limit), of DIFFERENT ones, LENGTH characters each
 * Counts count BOOTSTRAP STATE_DIR TOTAL [clean]      counts until the store has TOTAL, and prints it;
 *                                                     with "clean", after KafkaStreams.cleanUp()
 * Counts instance BOOTSTRAP STATE_DIR STANDBYS        counts until its input ends, beside other instances, and prints
 *                                                     what it restores. After each line of input it prints how many
 *                                                     words have each count, in its active tasks and in all of its tasks
 * </pre>
 */
public final class Counts {
  private static final String TOPIC = "words";
  private static final String STORE = "counts";
  private static final int PARTITIONS = 2;
  private static final String WORDS = "10";

  private Counts() {}

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "topic" -> makeTopic(arguments[1]);
      case "feed" -> feed(
          arguments[1],
          Integer.parseInt(arguments[2]),
          Integer.parseInt(arguments.length > 3 ? arguments[3] : WORDS),
          Integer.parseInt(arguments.length > 4 ? arguments[4] : "0"),
          Integer.parseInt(arguments.length > 5 ? arguments[5] : "0"));
      case "count" -> count(arguments[1], arguments[2], Long.parseLong(arguments[3]), arguments.length > 4);
      case "instance" -> instance(arguments[1], arguments[2], Integer.parseInt(arguments[3]));
      default -> throw new IllegalArgumentException(arguments[0]);
    }
  }

  private static void makeTopic(String bootstrap) throws Exception {
    try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap))) {
      admin.createTopics(List.of(new NewTopic(TOPIC, PARTITIONS, (short) 1))).all().get();
    }
  }

  private static void feed(String bootstrap, int words, int different, int rate, int length) throws InterruptedException {
    Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "acks", "all");
    try (KafkaProducer<String, String> producer =
        new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      long began = System.nanoTime();
      for (int i = 0; i < words; i++) {
        String word = "word-" + i % different;
        word += "-".repeat(Math.max(0, length - word.length()));
        producer.send(new ProducerRecord<>(TOPIC, word, ""));
        if (rate == 0) continue;
        long early = i * 1000L / rate - (System.nanoTime() - began) / 1_000_000;
        if (early > 0) Thread.sleep(early);
      }
    }
  }

  private static KafkaStreams streams(String bootstrap, String stateDirectory, int standbys) {
    StreamsBuilder builder = new StreamsBuilder();
    builder
        .<String, String>stream(TOPIC)
        .groupByKey()
        .count(Materialized.<String, Long, KeyValueStore<org.apache.kafka.common.utils.Bytes, byte[]>>as(STORE));
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "counts");
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory);
    settings.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, standbys);
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
    settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put("consumer.auto.offset.reset", "earliest");
    settings.put("consumer.session.timeout.ms", 6000);  // a killed instance is missed soon
    settings.put("consumer.heartbeat.interval.ms", 1000);
    settings.put("transaction.timeout.ms", 5000);
    return new KafkaStreams(builder.build(), settings);
  }

  private static void count(String bootstrap, String stateDirectory, long total, boolean clean) throws Exception {
    AtomicLong restored = new AtomicLong();
    try (KafkaStreams streams = streams(bootstrap, stateDirectory, 0)) {
      streams.setGlobalStateRestoreListener(new Restored(restored));
      if (clean) streams.cleanUp();
      streams.start();
      Map<String, Long> counts = Map.of();
      long last = -1;
      for (long seen = 0; seen < total; seen = sum(counts)) {
        if (seen != last) System.out.println("seen " + seen);
        last = seen;
        Thread.sleep(20);
        counts = contents(streams);
      }
      System.out.println("counts " + counts);
      System.out.println("restored " + restored.get());
    }
  }

  private static void instance(String bootstrap, String stateDirectory, int standbys) throws IOException {
    try (KafkaStreams streams = streams(bootstrap, stateDirectory, standbys)) {
      streams.setGlobalStateRestoreListener(new RestoresPrinted());
      streams.setStandbyUpdateListener(new StandbysPrinted());
      streams.setStateListener((now, before) -> System.out.println("state " + now));
      streams.start();
      BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
      while (input.readLine() != null) {
        System.out.println("active " + wordsByCount(streams, false));
        System.out.println("held " + wordsByCount(streams, true));
      }
    }
  }

  private static long sum(Map<String, Long> counts) {
    return counts.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Empty until the stores are open. `replicas`: also of tasks that are active in another instance. */
  private static Map<Long, Long> wordsByCount(KafkaStreams streams, boolean replicas) {
    Map<Long, Long> words = new TreeMap<>();
    StoreQueryParameters<ReadOnlyKeyValueStore<String, Long>> active =
        StoreQueryParameters.fromNameAndType(STORE, QueryableStoreTypes.keyValueStore());
    try (KeyValueIterator<String, Long> all = streams.store(replicas ? active.enableStaleStores() : active).all()) {
      all.forEachRemaining(entry -> words.merge(entry.value, 1L, Long::sum));
    } catch (InvalidStateStoreException notYet) {
      return Map.of();
    }
    return words;
  }

  /** Empty until the stores are open. */
  private static Map<String, Long> contents(KafkaStreams streams) {
    Map<String, Long> counts = new TreeMap<>();
    try {
      ReadOnlyKeyValueStore<String, Long> store =
          streams.store(StoreQueryParameters.fromNameAndType(STORE, QueryableStoreTypes.keyValueStore()));
      try (KeyValueIterator<String, Long> all = store.all()) {
        all.forEachRemaining(entry -> counts.put(entry.key, entry.value));
      }
    } catch (InvalidStateStoreException notYet) {
      return Map.of();
    }
    return counts;
  }

  /** Counts the records that came from the changelog. */
  private record Restored(AtomicLong records) implements StateRestoreListener {
    @Override
    public void onRestoreStart(TopicPartition partition, String store, long from, long to) {}

    @Override
    public void onBatchRestored(TopicPartition partition, String store, long to, long number) {}

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long total) {
      records.addAndGet(total);
    }
  }

  /** Prints how many records an active task took from the changelog before it went on. */
  private static final class RestoresPrinted implements StateRestoreListener {
    @Override
    public void onRestoreStart(TopicPartition partition, String store, long from, long to) {
      System.out.println("restoring " + partition.partition() + " from " + from + " to " + to);
    }

    @Override
    public void onBatchRestored(TopicPartition partition, String store, long to, long number) {}

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long total) {
      System.out.println("restored " + partition.partition() + " records " + total);
    }
  }

  /** Prints each batch of records that a standby task took from the changelog. */
  private static final class StandbysPrinted implements StandbyUpdateListener {
    @Override
    public void onUpdateStart(TopicPartition partition, String store, long from) {
      System.out.println("standby " + partition.partition() + " begins " + from);
    }

    @Override
    public void onBatchLoaded(TopicPartition partition, String store, TaskId task, long to, long number, long end) {
      System.out.println("standby " + partition.partition() + " loaded " + number);
    }

    @Override
    public void onUpdateSuspended(TopicPartition partition, String store, long to, long end, SuspendReason reason) {
      System.out.println("standby " + partition.partition() + " ends " + reason);
    }
  }
}
