import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.Consumer;
import com.rabbitmq.client.Envelope;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Paths;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.RichSourceFunction;
import org.apache.flink.streaming.connectors.kinesis.FlinkKinesisConsumer;
import org.apache.flink.streaming.connectors.kinesis.model.SequenceNumber;
import org.apache.flink.streaming.connectors.kinesis.model.StreamShardMetadata;
import org.apache.flink.streaming.connectors.rabbitmq.RMQSource;
import org.apache.flink.streaming.connectors.rabbitmq.common.RMQConnectionConfig;

/** Takes a savepoint of RabbitMQ's source with a client that answers for the server, and of the old consumer's state of Kinesis. */
public class ServicesJob {
    static final int MESSAGES = 3;
    static volatile int delivered;

    public static void main(String[] args) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("rest.port", "0");
        configuration.setString("execution.checkpointing.data-inline-threshold", "1 mb");
        configuration.setString("state.storage.fs.memory-threshold", "1 mb");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
        env.setMaxParallelism(8);
        env.enableCheckpointing(600_000);
        RMQConnectionConfig server = new RMQConnectionConfig.Builder().setUri("amqp://localhost").build();
        env.addSource(new Rabbit(server)).uid("rabbit").addSink(new DiscardingSink<>()).uid("rabbit-out");
        env.addSource(new Kinesis()).returns(String.class).uid("kinesis").addSink(new DiscardingSink<>()).uid("kinesis-out");
        JobClient client = env.executeAsync();
        for (int i = 0; i < 600 && delivered < MESSAGES; i++) Thread.sleep(50);
        Thread.sleep(2000);
        client.triggerSavepoint(Paths.get(args[0]).toUri().toString(), SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
        client.cancel().get(60, TimeUnit.SECONDS);
        System.exit(0);
    }

    /** The connector's source; only its connection is not one. */
    static class Rabbit extends RMQSource<String> {
        Rabbit(RMQConnectionConfig server) {
            super(server, "orders", true, new SimpleStringSchema());
        }

        @Override
        protected Connection setupConnection() {
            return proxy(Connection.class, (on, method, arguments) ->
                    method.getName().equals("createChannel") ? proxy(Channel.class, ServicesJob::answer) : standard(method.getReturnType()));
        }
    }

    static Object answer(Object on, java.lang.reflect.Method method, Object[] arguments) throws Exception {
        if (method.getName().equals("basicConsume")) {
            Consumer consumer = (Consumer) arguments[arguments.length - 1];
            for (int i = 1; i <= MESSAGES; i++) {
                AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder().correlationId("id-" + i).build();
                consumer.handleDelivery("tag", new Envelope(i, false, "", "orders"), properties, ("order " + i).getBytes());
                delivered = i;
            }
            return "tag";
        }
        return standard(method.getReturnType());
    }

    static Object standard(Class<?> type) {
        return type == boolean.class ? (Object) true : type == int.class ? (Object) 0 : type == long.class ? (Object) 0L : null;
    }

    static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(ServicesJob.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    /** The consumer's own descriptor and classes; the shards are not read. */
    static class Kinesis extends RichSourceFunction<String> implements CheckpointedFunction {
        private transient FlinkKinesisConsumer<String> consumer;
        private volatile boolean running = true;

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            Properties options = new Properties();
            options.setProperty("aws.region", "eu-central-1");
            consumer = new FlinkKinesisConsumer<>("orders", new SimpleStringSchema(), options);
            consumer.setRuntimeContext(getRuntimeContext());
            consumer.initializeState(context);
        }

        @Override
        @SuppressWarnings("unchecked")
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            Field field = FlinkKinesisConsumer.class.getDeclaredField("sequenceNumsStateForCheckpoint");
            field.setAccessible(true);
            ListState<Tuple2<StreamShardMetadata, SequenceNumber>> state =
                    (ListState<Tuple2<StreamShardMetadata, SequenceNumber>>) field.get(consumer);
            state.clear();
            for (int i = 0; i < 2; i++) {
                StreamShardMetadata shard = new StreamShardMetadata();
                shard.setStreamName("orders");
                shard.setShardId("shardId-00000000000" + i);
                shard.setStartingHashKey("0");
                shard.setStartingSequenceNumber("4957");
                state.add(Tuple2.of(shard, new SequenceNumber("4957" + i, i - 1L)));
            }
        }

        @Override
        public void run(SourceContext<String> context) throws Exception {
            while (running) Thread.sleep(20);
        }

        @Override
        public void cancel() {
            running = false;
        }
    }
}
