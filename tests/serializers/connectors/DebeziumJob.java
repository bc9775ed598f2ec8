import com.ververica.cdc.debezium.DebeziumSourceFunction;
import com.ververica.cdc.debezium.StringDebeziumDeserializationSchema;
import com.ververica.cdc.debezium.Validator;
import com.ververica.cdc.debezium.internal.DebeziumOffset;
import java.nio.file.Paths;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;

/** Takes a savepoint of the old source of Flink CDC before it reads anything: it keeps the offset that it starts at. */
public class DebeziumJob {
    static volatile boolean started;

    public static void main(String[] args) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("rest.port", "0");
        configuration.setString("state.storage.fs.memory-threshold", "1 mb");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
        env.setMaxParallelism(8);
        env.enableCheckpointing(600_000);
        DebeziumOffset offset = new DebeziumOffset();
        offset.setSourcePartition(Map.of("server", "mysql_binlog_source"));
        Map<String, Object> at = new LinkedHashMap<>();
        at.put("file", "mysql-bin.000042");
        at.put("pos", 15312L);
        offset.setSourceOffset(at);
        env.addSource(new Idle(offset)).uid("debezium").addSink(new DiscardingSink<>()).uid("out");
        JobClient client = env.executeAsync();
        for (int i = 0; i < 600 && !started; i++) Thread.sleep(50);
        client.triggerSavepoint(Paths.get(args[0]).toUri().toString(), SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
        Runtime.getRuntime().halt(0);
    }

    /** The connector's source; only its engine is not started. */
    static class Idle extends DebeziumSourceFunction<String> {
        private volatile boolean running = true;

        Idle(DebeziumOffset offset) {
            super(new StringDebeziumDeserializationSchema(), new Properties(), offset, Validator.getDefaultValidator());
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
}
