package golden;

import java.io.Serializable;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.beam.runners.flink.FlinkPipelineOptions;
import org.apache.beam.runners.flink.FlinkRunner;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.coders.BigDecimalCoder;
import org.apache.beam.sdk.coders.BigEndianLongCoder;
import org.apache.beam.sdk.coders.Coder;
import org.apache.beam.sdk.coders.InstantCoder;
import org.apache.beam.sdk.coders.KvCoder;
import org.apache.beam.sdk.coders.ListCoder;
import org.apache.beam.sdk.coders.MapCoder;
import org.apache.beam.sdk.coders.NullableCoder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.coders.SerializableCoder;
import org.apache.beam.sdk.coders.StringUtf8Coder;
import org.apache.beam.sdk.coders.VarIntCoder;
import org.apache.beam.sdk.coders.VarLongCoder;
import org.apache.beam.sdk.io.Read;
import org.apache.beam.sdk.io.UnboundedSource;
import org.apache.beam.sdk.io.range.OffsetRange;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.state.BagState;
import org.apache.beam.sdk.state.CombiningState;
import org.apache.beam.sdk.state.MapState;
import org.apache.beam.sdk.state.SetState;
import org.apache.beam.sdk.state.StateSpec;
import org.apache.beam.sdk.state.StateSpecs;
import org.apache.beam.sdk.state.TimeDomain;
import org.apache.beam.sdk.state.Timer;
import org.apache.beam.sdk.state.TimerSpec;
import org.apache.beam.sdk.state.TimerSpecs;
import org.apache.beam.sdk.state.ValueState;
import org.apache.beam.sdk.transforms.Count;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.GroupByKey;
import org.apache.beam.sdk.transforms.Mean;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.transforms.Sum;
import org.apache.beam.sdk.transforms.WithKeys;
import org.apache.beam.sdk.transforms.windowing.FixedWindows;
import org.apache.beam.sdk.transforms.windowing.Sessions;
import org.apache.beam.sdk.transforms.windowing.Window;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TypeDescriptors;
import org.joda.time.Duration;
import org.joda.time.Instant;

/**
 * A pipeline of Beam on Flink that has seen the numbers 0 to 199 and then waits until a checkpoint has all of it.
 *
 * <p>Arguments: the state backend, where the checkpoints go, and anything to have two of the operators only.
 */
public final class BeamJob {
  static final int NUMBERS = 200;
  static final Instant START = Instant.parse("2024-01-01T00:00:00Z");
  static final AtomicLong SEEN = new AtomicLong();
  static final Schema INNER = Schema.builder().addStringField("city").addNullableField("zip", Schema.FieldType.INT32).build();
  static final Schema ROW =
      Schema.builder()
          .addStringField("name")
          .addInt64Field("count")
          .addNullableField("note", Schema.FieldType.STRING)
          .addArrayField("tags", Schema.FieldType.STRING)
          .addMapField("marks", Schema.FieldType.STRING, Schema.FieldType.INT32)
          .addRowField("home", INNER)
          .addDateTimeField("at")
          .addDecimalField("price")
          .addByteArrayField("raw")
          .addBooleanField("even")
          .addDoubleField("half")
          .addByteField("small")
          .addInt16Field("short")
          .addFloatField("single")
          .build();

  /** An object that Java serializes. */
  public static final class Ev implements Serializable {
    private static final long serialVersionUID = 1;
    final String user;
    final long amount;

    Ev(String user, long amount) {
      this.user = user;
      this.amount = amount;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Ev && ((Ev) other).user.equals(user) && ((Ev) other).amount == amount;
    }

    @Override
    public int hashCode() {
      return user.hashCode();
    }
  }

  static final class Mark implements UnboundedSource.CheckpointMark, Serializable {
    private static final long serialVersionUID = 1;
    final long next;

    Mark(long next) {
      this.next = next;
    }

    @Override
    public void finalizeCheckpoint() {}
  }

  static final class Numbers extends UnboundedSource<Long, Mark> {
    private static final long serialVersionUID = 1;

    @Override
    public List<Numbers> split(int desired, PipelineOptions options) {
      return Collections.singletonList(this);
    }

    @Override
    public UnboundedReader<Long> createReader(PipelineOptions options, Mark mark) {
      return new NumbersReader(this, mark == null ? 0 : mark.next);
    }

    @Override
    public Coder<Mark> getCheckpointMarkCoder() {
      return SerializableCoder.of(Mark.class);
    }

    @Override
    public Coder<Long> getOutputCoder() {
      return VarLongCoder.of();
    }
  }

  static final class NumbersReader extends UnboundedSource.UnboundedReader<Long> {
    private final Numbers source;
    private long next;

    NumbersReader(Numbers source, long next) {
      this.source = source;
      this.next = next;
    }

    @Override
    public boolean start() {
      return advance();
    }

    @Override
    public boolean advance() {
      if (next >= NUMBERS) {
        return false;
      }
      next++;
      return true;
    }

    @Override
    public Long getCurrent() {
      if (next == 0) {
        throw new NoSuchElementException();
      }
      return next - 1;
    }

    @Override
    public Instant getCurrentTimestamp() {
      return START.plus(Duration.standardSeconds(getCurrent()));
    }

    @Override
    public void close() {}

    @Override
    public Instant getWatermark() {
      return START.minus(Duration.standardHours(1));
    }

    @Override
    public UnboundedSource.CheckpointMark getCheckpointMark() {
      return new Mark(next);
    }

    @Override
    public UnboundedSource<Long, ?> getCurrentSource() {
      return source;
    }
  }

  /** Every kind of state, keyed by text. */
  static final class Stateful extends DoFn<KV<String, Long>, Long> {
    private static final long serialVersionUID = 1;

    @StateId("total")
    private final StateSpec<ValueState<Long>> total = StateSpecs.value(VarLongCoder.of());

    @StateId("fixed")
    private final StateSpec<ValueState<Long>> fixed = StateSpecs.value(BigEndianLongCoder.of());

    @StateId("names")
    private final StateSpec<BagState<String>> names = StateSpecs.bag(StringUtf8Coder.of());

    @StateId("per")
    private final StateSpec<MapState<String, Integer>> per = StateSpecs.map(StringUtf8Coder.of(), VarIntCoder.of());

    @StateId("odd")
    private final StateSpec<SetState<Long>> odd = StateSpecs.set(VarLongCoder.of());

    @StateId("ev")
    private final StateSpec<ValueState<Ev>> ev = StateSpecs.value(SerializableCoder.of(Ev.class));

    @StateId("sum")
    private final StateSpec<CombiningState<Long, long[], Long>> sum = StateSpecs.combining(Sum.ofLongs());

    @StateId("price")
    private final StateSpec<ValueState<BigDecimal>> price = StateSpecs.value(BigDecimalCoder.of());

    @StateId("at")
    private final StateSpec<ValueState<Instant>> at = StateSpecs.value(InstantCoder.of());

    @StateId("maybe")
    private final StateSpec<ValueState<List<String>>> maybe =
        StateSpecs.value(ListCoder.of(NullableCoder.of(StringUtf8Coder.of())));

    @StateId("pairs")
    private final StateSpec<ValueState<List<KV<String, java.util.Map<Integer, String>>>>> pairs =
        StateSpecs.value(ListCoder.of(KvCoder.of(StringUtf8Coder.of(), MapCoder.of(VarIntCoder.of(), StringUtf8Coder.of()))));

    @StateId("row")
    private final StateSpec<ValueState<Row>> row = StateSpecs.value(RowCoder.of(ROW));

    @StateId("range")
    private final StateSpec<ValueState<OffsetRange>> range = StateSpecs.value(OffsetRange.Coder.of());

    @TimerId("later")
    private final TimerSpec later = TimerSpecs.timer(TimeDomain.EVENT_TIME);

    @TimerId("clock")
    private final TimerSpec clock = TimerSpecs.timer(TimeDomain.PROCESSING_TIME);

    @ProcessElement
    public void process(
        ProcessContext context,
        @StateId("total") ValueState<Long> total,
        @StateId("fixed") ValueState<Long> fixed,
        @StateId("names") BagState<String> names,
        @StateId("per") MapState<String, Integer> per,
        @StateId("odd") SetState<Long> odd,
        @StateId("ev") ValueState<Ev> ev,
        @StateId("sum") CombiningState<Long, long[], Long> sum,
        @StateId("price") ValueState<BigDecimal> price,
        @StateId("at") ValueState<Instant> at,
        @StateId("maybe") ValueState<List<String>> maybe,
        @StateId("pairs") ValueState<List<KV<String, java.util.Map<Integer, String>>>> pairs,
        @StateId("row") ValueState<Row> row,
        @StateId("range") ValueState<OffsetRange> range,
        @TimerId("later") Timer later,
        @TimerId("clock") Timer clock) {
      long n = context.element().getValue();
      String user = context.element().getKey();
      Long before = total.read();
      long now = (before == null ? 0 : before) + n;
      total.write(now);
      fixed.write(-now);
      if (n < 40) {
        names.add("n" + n + "ü");
      }
      per.put("b" + n % 3, (int) (now % 1000) - 500);
      if (n % 2 == 1 && n < 20) {
        odd.add(-n);
      }
      ev.write(new Ev(user, now));
      sum.add(n);
      price.write(new BigDecimal(n - 196).movePointLeft(2));
      at.write(context.timestamp());
      maybe.write(Arrays.asList(null, "m" + n));
      pairs.write(Arrays.asList(KV.of("a" + n, Collections.singletonMap((int) n, "x")), KV.of("b", Collections.emptyMap())));
      row.write(
          Row.withSchema(ROW)
              .addValues(
                  "r" + n,
                  n,
                  n % 2 == 0 ? null : "odd",
                  Arrays.asList("t", "u" + n),
                  Collections.singletonMap("k", (int) n),
                  Row.withSchema(INNER).addValues("c" + n, n % 2 == 0 ? null : (int) n).build(),
                  context.timestamp(),
                  new BigDecimal("12.50"),
                  new byte[] {1, (byte) n},
                  n % 2 == 0,
                  n / 2.0,
                  (byte) -3,
                  (short) 700,
                  0.5f)
              .build());
      range.write(new OffsetRange(n, 10 * n));
      later.set(Instant.parse("2030-01-01T00:00:00Z"));
      clock.set(Instant.parse("2100-01-01T00:00:00Z"));
      SEEN.incrementAndGet();
    }

    @OnTimer("later")
    public void later() {}

    @OnTimer("clock")
    public void clock() {}
  }

  /** A state keyed by something else. */
  static final class Keyed<K> extends DoFn<KV<K, Long>, Long> {
    private static final long serialVersionUID = 1;

    @StateId("last")
    private final StateSpec<ValueState<Integer>> last = StateSpecs.value(VarIntCoder.of());

    @ProcessElement
    public void process(ProcessContext context, @StateId("last") ValueState<Integer> last) {
      last.write((int) (long) context.element().getValue());
      SEEN.incrementAndGet();
    }
  }

  static final class Ignore<T> extends DoFn<T, Void> {
    private static final long serialVersionUID = 1;

    @ProcessElement
    public void process() {}
  }

  public static void main(String[] args) throws Exception {
    String backend = args[0];
    Path checkpoints = Paths.get(args[1]);
    FlinkPipelineOptions options = PipelineOptionsFactory.create().as(FlinkPipelineOptions.class);
    options.setRunner(FlinkRunner.class);
    options.setFlinkMaster("[local]");
    options.setStreaming(true);
    options.setParallelism(1);
    options.setMaxParallelism(16);
    options.setCheckpointingInterval(1500L);
    options.setExternalizedCheckpointsEnabled(true);
    options.setRetainExternalizedCheckpointsOnCancellation(true);
    options.setShutdownSourcesAfterIdleMs(Long.MAX_VALUE);
    options.setStateBackend(backend);
    options.setStateBackendStoragePath(checkpoints.toUri().toString());
    options.setJobName("beam");
    Pipeline pipeline = Pipeline.create(options);
    PCollection<Long> numbers = pipeline.apply("numbers", Read.from(new Numbers()));
    PCollection<KV<String, Long>> byUser =
        numbers.apply("users", WithKeys.of((Long n) -> "user-" + n % 5).withKeyType(TypeDescriptors.strings()));
    byUser.apply("stateful", ParDo.of(new Stateful())).apply(ParDo.of(new Ignore<>()));
    byUser
        .apply("minutes", Window.into(FixedWindows.of(Duration.standardMinutes(2))))
        .apply("sums", Sum.longsPerKey())
        .apply(ParDo.of(new Ignore<>()));
    if (args.length > 2) {
      await(pipeline, NUMBERS, checkpoints);
    }
    numbers
        .apply("longs", WithKeys.of((Long n) -> n % 3 - 1).withKeyType(TypeDescriptors.longs()))
        .apply("by long", ParDo.of(new Keyed<>()));
    numbers
        .apply("pairs", WithKeys.of((Long n) -> KV.of("p" + n % 2, (int) (n % 2))).withKeyType(TypeDescriptors.kvs(TypeDescriptors.strings(), TypeDescriptors.integers())))
        .apply("by pair", ParDo.of(new Keyed<>()));
    byUser
        .apply("sessions", Window.into(Sessions.withGapDuration(Duration.standardSeconds(30))))
        .apply("groups", GroupByKey.create())
        .apply(ParDo.of(new Ignore<>()));
    byUser
        .apply("hours", Window.into(FixedWindows.of(Duration.standardHours(1))))
        .apply("counts", Count.perKey())
        .apply(ParDo.of(new Ignore<>()));
    byUser
        .apply("days", Window.into(FixedWindows.of(Duration.standardDays(1))))
        .apply("means", Mean.perKey())
        .apply(ParDo.of(new Ignore<>()));
    await(pipeline, 3L * NUMBERS, checkpoints);
  }

  /** Runs the pipeline until two checkpoints are complete after its last element, and ends the process. */
  private static void await(Pipeline pipeline, long elements, Path checkpoints) throws Exception {
    Thread running =
        new Thread(
            () -> {
              pipeline.run();
              Runtime.getRuntime().halt(1);
            });
    running.setDaemon(true);
    running.start();
    while (SEEN.get() < elements) {
      Thread.sleep(100);
    }
    Checkpoints.awaitTwo(checkpoints);
    Runtime.getRuntime().halt(0);
  }
}
