import java.nio.file.Paths;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.RichSourceFunction;

/** Takes a savepoint of the states that the committer of Iceberg's old sink declares, with manifests by Iceberg's classes. */
public class IcebergJob extends Printing {
    static final String SINK = "org.apache.iceberg.flink.sink.";
    static volatile boolean started;

    public static void main(String[] args) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("rest.port", "0");
        configuration.setString("state.storage.fs.memory-threshold", "1 mb");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
        env.setMaxParallelism(8);
        env.enableCheckpointing(600_000);
        env.addSource(new Committer()).uid("committer").addSink(new DiscardingSink<>()).uid("out");
        JobClient client = env.executeAsync();
        for (int i = 0; i < 600 && !started; i++) Thread.sleep(50);
        client.triggerSavepoint(Paths.get(args[0]).toUri().toString(), SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
        client.cancel().get(60, TimeUnit.SECONDS);
        System.exit(0);
    }

    /** The states of IcebergFilesCommitter, by its own descriptors: checkpoint 7 has manifests, checkpoint 8 no data. */
    static class Committer extends RichSourceFunction<String> implements CheckpointedFunction {
        private transient ListState<String> jobs;
        private transient ListState<SortedMap<Long, byte[]>> checkpoints;
        private volatile boolean running = true;

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            String committer = SINK + "IcebergFilesCommitter";
            jobs = context.getOperatorStateStore().getListState((ListStateDescriptor<String>) field(committer, "JOB_ID_DESCRIPTOR"));
            checkpoints = context.getOperatorStateStore()
                    .getListState((ListStateDescriptor<SortedMap<Long, byte[]>>) field(committer, "STATE_DESCRIPTOR"));
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) {
            try {
                Object manifests = make(SINK + "DeltaManifests", manifest("s3://b/meta/m1.avro", 0), manifest("s3://b/meta/d1.avro", 1),
                        new CharSequence[] {"s3://b/data/f1.parquet"});
                SortedMap<Long, byte[]> pending = new TreeMap<>();
                pending.put(7L, SimpleVersionedSerialization.writeVersionAndSerialize(
                        (SimpleVersionedSerializer<Object>) field(SINK + "DeltaManifestsSerializer", "INSTANCE"), manifests));
                pending.put(8L, new byte[0]);
                checkpoints.update(List.of(pending));
                jobs.update(List.of("a".repeat(32)));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void run(SourceContext<String> context) throws Exception {
            started = true;
            while (running) Thread.sleep(50);
        }

        @Override
        public void cancel() {
            running = false;
        }
    }

    static Object manifest(String path, int content) throws Exception {
        Object[] contents = Class.forName("org.apache.iceberg.ManifestContent").getEnumConstants();
        return make("org.apache.iceberg.GenericManifestFile", path, 5511L, 0, contents[content], 7L, 7L, 8123456789L,
                List.of(), null, 1, 50L, 0, 0L, 0, 0L, null);
    }
}
