import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.avro.Schema;
import org.apache.avro.reflect.Nullable;
import org.apache.avro.reflect.ReflectData;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.formats.parquet.ParquetWriterFactory;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.state.api.OperatorIdentifier;
import org.apache.flink.state.api.SavepointReader;
import org.apache.flink.state.api.functions.KeyedStateReaderFunction;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;
import org.apache.parquet.avro.AvroParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;

/**
 * Makes a native savepoint of POJOs, or reads one with the State Processor API and writes it as Parquet.
 *
 * <p>Arguments: {@code write BACKEND ROWS DIRECTORY} prints the path of the savepoint. {@code read BACKEND SAVEPOINT DIRECTORY
 * TIMES} prints the seconds, the seconds of processor time and the number of read calls to the system (0 if the system does not count them)
 * of each of several jobs in this JVM, from building the job to its end, with commas. The backend is {@code heap}, {@code
 * heap-snappy} (with snapshot compression) or {@code rocksdb}. Two subtasks.
 */
public class StateProcessor {
    private static final int PARALLELISM = 2;
    private static final String UID = "customers";
    private static final ValueStateDescriptor<Customer> STATE = new ValueStateDescriptor<>("customer", Types.POJO(Customer.class));
    private static final OperatingSystemMXBean PROCESS = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final AtomicLong WRITTEN = new AtomicLong();

    /** The state's value. */
    public static class Customer {
        public boolean active;
        public double balance;
        public String name;
        public int orders;
        public long updated;
    }

    /** A row of Parquet. */
    public static class Row {
        public String key;
        public boolean active;
        public double balance;
        @Nullable public String name;
        public int orders;
        public long updated;
    }

    public static void main(String[] arguments) throws Exception {
        StateBackend backend = arguments[1].equals("rocksdb") ? new EmbeddedRocksDBStateBackend() : new HashMapStateBackend();
        if (arguments[0].equals("write")) {
            System.out.println(write(arguments[1], Long.parseLong(arguments[2]), arguments[3]));
        } else {
            for (int i = 0; i < Integer.parseInt(arguments[4]); i++) {
                long start = System.nanoTime();
                long used = PROCESS.getProcessCpuTime();
                long calls = readCalls();
                read(backend, arguments[2], Path.of(arguments[3], "run-" + i));
                double seconds = (System.nanoTime() - start) / 1e9;
                double processor = (PROCESS.getProcessCpuTime() - used) / 1e9;
                System.out.println(seconds + "," + processor + "," + (readCalls() - calls));
            }
        }
        System.exit(0);
    }

    /** How often this process has called the system to read. */
    private static long readCalls() throws IOException {
        Path counters = Path.of("/proc/self/io");
        if (!Files.isReadable(counters)) {
            return 0;
        }
        return Files.readAllLines(counters).stream()
                .filter(line -> line.startsWith("syscr: "))
                .mapToLong(line -> Long.parseLong(line.substring(7)))
                .sum();
    }

    private static StreamExecutionEnvironment environment(Configuration configuration) {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM, configuration);
        env.getConfig().enableObjectReuse();
        return env;
    }

    /** The source counts on after the last row and waits, so that the job runs when the savepoint is taken. */
    private static String write(String backend, long rows, String directory) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("state.backend.type", backend.equals("rocksdb") ? "rocksdb" : "hashmap");
        configuration.setString("execution.checkpointing.storage", "filesystem");
        configuration.setString("execution.checkpointing.dir", Path.of(directory, "checkpoints").toUri().toString());
        StreamExecutionEnvironment env = environment(configuration);
        env.setMaxParallelism(128);
        env.getConfig().setUseSnapshotCompression(backend.equals("heap-snappy"));
        env.fromSource(new NumberSequenceSource(0, Long.MAX_VALUE - 1), WatermarkStrategy.noWatermarks(), "numbers")
                .setParallelism(1)
                .filter(number -> {
                    if (number >= rows) {
                        Thread.sleep(10);
                    }
                    return number < rows;
                })
                .setParallelism(1)
                .keyBy(number -> String.format("user-%012x", number * 0x5DEECE66DL & 0xFFFFFFFFFFFFL), Types.STRING)
                .map(new Fill())
                .uid(UID)
                .sinkTo(new DiscardingSink<>());
        JobClient job = env.executeAsync();
        while (WRITTEN.get() < rows) {
            if (job.getJobStatus().get().isGloballyTerminalState()) {
                throw new IllegalStateException("the job ended");
            }
            Thread.sleep(50);
        }
        String savepoint = job.triggerSavepoint(directory, SavepointFormatType.NATIVE).get();
        job.cancel().get();
        return savepoint;
    }

    private static final class Fill extends RichMapFunction<Long, Long> {
        private transient ValueState<Customer> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(STATE);
        }

        @Override
        public Long map(Long number) throws Exception {
            long mixed = number * 0x9E3779B97F4A7C15L;
            Customer customer = new Customer();
            customer.active = (mixed & 1) == 0;
            customer.balance = (mixed >>> 20) / 1e4;
            customer.name = number % 50 == 0 ? null : "Customer " + (mixed >>> 50);
            customer.orders = (int) (mixed >>> 40) & 1023;
            customer.updated = 1_700_000_000_000L + (mixed >>> 30);
            state.update(customer);
            WRITTEN.incrementAndGet();
            return number;
        }
    }

    private static void read(StateBackend backend, String savepoint, Path output) throws Exception {
        StreamExecutionEnvironment env = environment(new Configuration());
        env.setRuntimeMode(RuntimeExecutionMode.BATCH);
        env.getConfig().enableObjectReuse();
        SavepointReader.read(env, savepoint, backend)
                .readKeyedState(OperatorIdentifier.forUid(UID), new Rows(), Types.STRING, Types.POJO(Row.class))
                .sinkTo(FileSink.forBulkFormat(new org.apache.flink.core.fs.Path(output.toUri()), parquet()).build());
        env.execute();
    }

    private static ParquetWriterFactory<Row> parquet() {
        String schema = ReflectData.get().getSchema(Row.class).toString();
        return new ParquetWriterFactory<>(out -> AvroParquetWriter.<Row>builder(out)
                .withSchema(new Schema.Parser().parse(schema))
                .withDataModel(ReflectData.get())
                .withCompressionCodec(CompressionCodecName.ZSTD)
                .build());
    }

    private static final class Rows extends KeyedStateReaderFunction<String, Row> {
        private transient ValueState<Customer> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(STATE);
        }

        @Override
        public void readKey(String key, Context context, Collector<Row> out) throws Exception {
            Customer customer = state.value();
            Row row = new Row();
            row.key = key;
            row.active = customer.active;
            row.balance = customer.balance;
            row.name = customer.name;
            row.orders = customer.orders;
            row.updated = customer.updated;
            out.collect(row);
        }
    }
}
