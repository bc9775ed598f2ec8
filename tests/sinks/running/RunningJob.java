import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Collections;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.util.Collector;

/**
 * A job that runs until it is told to end, with a hundred thousand keys and a checkpoint every second.
 *
 * <p>It counts from 0 on. The number n is the last one of the key n * 7919 % 100,000, or removes it where n / 100,000 + key is a
 * multiple of 7. The first 100,000 come at once, later ones 2,000 a second.
 *
 * <p>Arguments: the folder of checkpoints, and the one to restore, if any. Standard input: "end" stops the source, takes a last
 * checkpoint, cancels the job, and prints how many numbers came. Flink keeps one checkpoint, as it does by default.
 */
public final class RunningJob {
    static final int KEYS = 100_000;

    static volatile boolean ending;
    static volatile long counted;

    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        conf.setString("execution.checkpointing.dir", args[0]);
        conf.setString("execution.checkpointing.interval", "1 s");
        conf.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        conf.setString("execution.checkpointing.data-inline-threshold", "0 b");
        conf.setString("execution.checkpointing.incremental", "true");
        conf.setString("state.backend.type", "rocksdb");
        conf.setString("taskmanager.memory.network.min", "16m");
        conf.setString("taskmanager.memory.network.max", "16m");
        conf.setString("taskmanager.memory.managed.size", "64m");
        conf.setString("rest.port", "0");
        conf.setString("restart-strategy.type", "none");
        StreamExecutionEnvironment env = new StreamExecutionEnvironment();
        env.configure(conf, RunningJob.class.getClassLoader());
        env.setParallelism(2);
        env.addSource(new Numbers(), "numbers", Types.LONG).setParallelism(1).uid("numbers")
                .keyBy(n -> "k" + n * 7919 % KEYS, Types.STRING)
                .process(new Last()).returns(Types.VOID).uid("last-of-key").sinkTo(new DiscardingSink<>());
        JobGraph graph = env.getStreamGraph().getJobGraph();
        if (args.length > 1) {
            graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(args[1]));
        }
        MiniClusterConfiguration one = new MiniClusterConfiguration.Builder()
                .setConfiguration(conf).setNumTaskManagers(1).setNumSlotsPerTaskManager(2).build();
        try (MiniCluster cluster = new MiniCluster(one)) {
            cluster.start();
            JobID id = cluster.submitJob(graph).get().getJobID();
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            while (!"end".equals(in.readLine())) {
                Thread.sleep(10);
            }
            ending = true;
            TimeUnit.MILLISECONDS.sleep(500);
            cluster.triggerCheckpoint(id).get();
            cluster.cancelJob(id).get();
            try {
                cluster.requestJobResult(id).get();
            } finally {
                System.out.println(counted);
            }
        }
        System.exit(0);
    }

    /** Numbers from 0 on, or from where a checkpoint was. */
    static final class Numbers implements SourceFunction<Long>, CheckpointedFunction {
        private long next;
        private transient ListState<Long> position;
        private volatile boolean running = true;

        @Override
        public void run(SourceContext<Long> context) throws Exception {
            while (running) {
                synchronized (context.getCheckpointLock()) {
                    for (int i = next < KEYS ? KEYS : ending ? 0 : 40; i > 0; i--) {
                        context.collect(next++);
                    }
                    counted = next;
                }
                Thread.sleep(20);
            }
        }

        @Override
        public void cancel() {
            running = false;
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            position.update(Collections.singletonList(next));
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            position = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("position", Types.LONG));
            for (long at : position.get()) {
                next = at;
            }
        }
    }

    static final class Last extends KeyedProcessFunction<String, Long, Void> {
        private transient ValueState<Long> last;

        @Override
        public void open(org.apache.flink.api.common.functions.OpenContext context) {
            last = getRuntimeContext().getState(new ValueStateDescriptor<>("last", Types.LONG));
        }

        @Override
        public void processElement(Long n, Context context, Collector<Void> out) throws Exception {
            if ((n / KEYS + n * 7919 % KEYS) % 7 == 0) {
                last.clear();
            } else {
                last.update(n);
            }
        }
    }
}
