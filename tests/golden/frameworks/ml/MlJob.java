package golden;

import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.iteration.DataStreamList;
import org.apache.flink.iteration.IterationBodyResult;
import org.apache.flink.iteration.Iterations;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.CheckpointConfig;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.SourceFunction;

/** An iteration that sums numbers by n % 3: 0 to 9, which come back as n + 10 until they are 100, and 0 to 5, which do as well. */
public class MlJob {
  static final int NUMBERS = 160;
  static final AtomicInteger SEEN = new AtomicInteger();

  /** The numbers; ends with the job. */
  static class Numbers implements SourceFunction<Long> {
    private final int count;
    private volatile boolean running = true;

    Numbers(int count) {
      this.count = count;
    }

    @Override
    public void run(SourceContext<Long> context) throws Exception {
      for (long n = 0; n < count; n++) {
        synchronized (context.getCheckpointLock()) {
          context.collect(n);
        }
      }
      while (running) {
        Thread.sleep(50);
      }
    }

    @Override
    public void cancel() {
      running = false;
    }
  }

  /** Keyed state inside of the iteration. */
  static class Sum extends RichMapFunction<Long, Long> {
    private transient ValueState<Long> sum;

    @Override
    public void open(Configuration configuration) {
      sum = getRuntimeContext().getState(new ValueStateDescriptor<>("sum", Types.LONG));
    }

    @Override
    public Long map(Long n) throws Exception {
      sum.update((sum.value() == null ? 0 : sum.value()) + n);
      SEEN.incrementAndGet();
      return n;
    }
  }

  public static void main(String[] args) throws Exception {
    Path checkpoints = Paths.get(args[1]);
    Configuration configuration = new Configuration();
    configuration.setString("rest.port", "0");
    configuration.setString("state.backend", args[0]);
    configuration.setString("state.checkpoints.dir", checkpoints.toUri().toString());
    StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(2, configuration);
    env.setMaxParallelism(8);
    env.enableCheckpointing(500);
    env.getCheckpointConfig()
        .enableExternalizedCheckpoints(CheckpointConfig.ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION);
    DataStream<Long> first = env.addSource(new Numbers(10)).returns(Types.LONG).map(n -> n).returns(Types.LONG);
    DataStream<Long> data = env.addSource(new Numbers(6)).returns(Types.LONG);
    DataStreamList results =
        Iterations.iterateUnboundedStreams(
            DataStreamList.of(first),
            DataStreamList.of(data),
            (variables, others) -> {
              DataStream<Long> summed =
                  variables
                      .<Long>get(0)
                      .union(others.<Long>get(0))
                      .keyBy(n -> n % 3)
                      .map(new Sum())
                      .returns(Types.LONG)
                      .uid("sums");
              DataStream<Long> again = summed.filter(n -> n < 90).map(n -> n + 10).returns(Types.LONG);
              return new IterationBodyResult(DataStreamList.of(again), DataStreamList.of(summed));
            });
    results.<Long>get(0).addSink(new DiscardingSink<>());
    env.executeAsync();
    while (SEEN.get() < NUMBERS) {
      Thread.sleep(100);
    }
    Checkpoints.awaitTwo(checkpoints);
    Runtime.getRuntime().halt(0);
  }
}
