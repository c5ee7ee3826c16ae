package zenfs.example;

import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;

/**
 * Adds up numbers by their remainder, in a cluster inside this process. Nothing in it knows of ZenFS. Prints "KEY COUNT {DIGIT=SUM, ...}"
 * for each key when all numbers have been seen.
 */
public final class Totals {
  private static final long KEYS = 1000;

  private Totals() {}

  public static void main(String[] arguments) throws Exception {
    if (arguments.length < 2) {
      System.err.println("usage: Totals NUMBERS NUMBERS-PER-SECOND [KEY=VALUE of Flink's configuration]...");
      System.exit(2);
    }
    final Configuration configuration = new Configuration();
    for (int i = 2; i < arguments.length; ++i) {
      final int equals = arguments[i].indexOf('=');
      configuration.setString(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
    }
    final StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    final GeneratorFunction<Long, Long> same = number -> number;
    final DataGeneratorSource<Long> numbers = new DataGeneratorSource<>(same, Long.parseLong(arguments[0]),
        RateLimiterStrategy.perSecond(Double.parseDouble(arguments[1])), Types.LONG);
    try (CloseableIterator<String> totals = environment.fromSource(numbers, WatermarkStrategy.forMonotonousTimestamps(), "numbers")
        .uid("numbers").keyBy(number -> number % KEYS).process(new Add()).uid("add").executeAndCollect()) {
      totals.forEachRemaining(System.out::println);
    }
  }

  /** Of one key: how many numbers, and their sums by a digit. */
  private static final class Add extends KeyedProcessFunction<Long, Long, String> {
    private static final long serialVersionUID = 1L;

    private transient ValueState<Long> count;
    private transient MapState<Long, Long> sums;

    @Override
    public void open(OpenContext context) {
      count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
      sums = getRuntimeContext().getMapState(new MapStateDescriptor<>("sums", Types.LONG, Types.LONG));
    }

    @Override
    public void processElement(Long number, Context context, Collector<String> out) throws Exception {
      final Long counted = count.value();
      count.update(counted == null ? 1 : counted + 1);
      final long digit = number / KEYS % 10;
      final Long sum = sums.get(digit);
      sums.put(digit, sum == null ? number : sum + number);
      context.timerService().registerEventTimeTimer(Long.MAX_VALUE - 1);  // after the last number
    }

    @Override
    public void onTimer(long time, OnTimerContext context, Collector<String> out) throws Exception {
      final Map<Long, Long> all = new TreeMap<>();
      for (final Map.Entry<Long, Long> each : sums.entries()) all.put(each.getKey(), each.getValue());
      out.collect(context.getCurrentKey() + " " + count.value() + " " + all);
    }
  }
}
