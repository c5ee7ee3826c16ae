package zenfs.example;

import java.time.Duration;
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
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * Counts words in a store of Kafka Streams. Nothing here knows of ZenFS.
 *
 * <pre>
 * Counts topic BOOTSTRAP                              makes the topic "words"
 * Counts feed BOOTSTRAP N                             sends N words
 * Counts count BOOTSTRAP STATE_DIR TOTAL [clean]      counts until the store has TOTAL, and prints it;
 *                                                     with "clean", after KafkaStreams.cleanUp()
 * </pre>
 */
public final class Counts {
  private static final String TOPIC = "words";
  private static final String STORE = "counts";
  private static final int PARTITIONS = 2;
  private static final int WORDS = 10;

  private Counts() {}

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "topic" -> makeTopic(arguments[1]);
      case "feed" -> feed(arguments[1], Integer.parseInt(arguments[2]));
      case "count" -> count(arguments[1], arguments[2], Long.parseLong(arguments[3]), arguments.length > 4);
      default -> throw new IllegalArgumentException(arguments[0]);
    }
  }

  private static void makeTopic(String bootstrap) throws Exception {
    try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap))) {
      admin.createTopics(List.of(new NewTopic(TOPIC, PARTITIONS, (short) 1))).all().get();
    }
  }

  private static void feed(String bootstrap, int words) {
    Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "acks", "all");
    try (KafkaProducer<String, String> producer =
        new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < words; i++) {
        String word = "word-" + i % WORDS;
        producer.send(new ProducerRecord<>(TOPIC, word, word));
      }
    }
  }

  private static void count(String bootstrap, String stateDirectory, long total, boolean clean) throws Exception {
    StreamsBuilder builder = new StreamsBuilder();
    builder
        .<String, String>stream(TOPIC)
        .groupByKey()
        .count(Materialized.<String, Long, KeyValueStore<org.apache.kafka.common.utils.Bytes, byte[]>>as(STORE));
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "counts");
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory);
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
    settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put("consumer.auto.offset.reset", "earliest");
    settings.put("consumer.session.timeout.ms", 6000);  // a killed instance is missed soon
    settings.put("transaction.timeout.ms", 5000);
    AtomicLong restored = new AtomicLong();
    try (KafkaStreams streams = new KafkaStreams(builder.build(), settings)) {
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

  private static long sum(Map<String, Long> counts) {
    return counts.values().stream().mapToLong(Long::longValue).sum();
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
}
