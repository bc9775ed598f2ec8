import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.source.SourceFunction;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.hudi.configuration.FlinkOptions;
import org.apache.hudi.util.HoodiePipeline;

/** Takes a savepoint of a job that writes 20 rows with 8 keys into a table of Hudi, the key id-n into the partition p(n % 2). */
public class HudiJob {
    static final AtomicInteger COMPLETED = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        Path target = Paths.get(args[0]);
        Configuration configuration = new Configuration();
        configuration.setString("rest.port", "0");
        configuration.setString("state.storage.fs.memory-threshold", "1 mb");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
        env.setMaxParallelism(8);
        env.enableCheckpointing(1000);
        Map<String, String> options = new HashMap<>();
        options.put(FlinkOptions.PATH.key(), target.resolveSibling("table").toUri().toString());
        options.put(FlinkOptions.TABLE_TYPE.key(), "MERGE_ON_READ");
        options.put(FlinkOptions.PRECOMBINE_FIELD.key(), "ts");
        options.put("compaction.async.enabled", "false");
        options.put("compaction.schedule.enabled", "false");
        options.put("write.task.max.size", "120");
        options.put("write.merge.max_memory", "10");
        HoodiePipeline.builder("orders").column("id VARCHAR(20)").column("name VARCHAR(20)").column("ts BIGINT").column("part VARCHAR(20)")
                .pk("id").partition("part").options(options)
                .sink(env.addSource(new Numbers(), TypeInformation.of(RowData.class)), false);
        JobClient client = env.executeAsync();
        for (int i = 0; i < 600 && COMPLETED.get() < 2; i++) Thread.sleep(100);
        client.triggerSavepoint(target.toUri().toString(), SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
        Runtime.getRuntime().halt(0);
    }

    /** The rows; counts the checkpoints that complete after the last of them. */
    static class Numbers implements SourceFunction<RowData>, CheckpointListener {
        private volatile boolean running = true;
        private volatile boolean finished;

        @Override
        public void run(SourceContext<RowData> context) throws Exception {
            for (int n = 0; n < 20; n++) {
                context.collect(GenericRowData.of(StringData.fromString("id-" + n % 8), StringData.fromString("name " + n), (long) n,
                        StringData.fromString("p" + n % 2)));
            }
            finished = true;
            while (running) Thread.sleep(50);
        }

        @Override
        public void notifyCheckpointComplete(long checkpoint) {
            if (finished) COMPLETED.incrementAndGet();
        }

        @Override
        public void cancel() {
            running = false;
        }
    }
}
