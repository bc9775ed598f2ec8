import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.base.source.hybrid.HybridSource;
import org.apache.flink.connector.kafka.sink.*;
import org.apache.flink.connector.kafka.source.*;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.execution.*;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.io.*;
import org.apache.flink.runtime.checkpoint.*;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.*;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;

/**
 * Runs a job with all of Kafka's sources and an exactly-once sink against a broker, takes a savepoint, and prints as JSON what the
 * connector's own serializers read from it: "UID splits" with the splits of all subtasks, "UID enumerator", "UID consumer".
 */
public class OffsetsJob {
    static final String SOURCE = "org.apache.flink.connector.kafka.source.";
    static final String HYBRID = "org.apache.flink.connector.base.source.hybrid.HybridSourceSplitSerializer";
    static final String CONSUMER = "org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumer";

    public static void main(String[] args) throws Exception {
        String servers = args[0];
        String target = Paths.get(args[1]).toUri().toString();
        String orders = "orders";
        String payments = "payments.eu";
        fill(servers, orders, payments);

        Configuration configuration = new Configuration();
        configuration.setString("rest.port", "0");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(2, configuration);
        env.setMaxParallelism(8);
        // The first checkpoint is the savepoint, so the committer has the transactions of all records.
        env.enableCheckpointing(600_000);
        DataStream<String> all = read(env, "orders", source(servers, orders, payments).build());
        TopicPartition first = new TopicPartition(orders, 0);
        TopicPartition second = new TopicPartition(orders, 1);
        OffsetsInitializer stops = OffsetsInitializer.offsets(Map.of(first, 2L, second, 1000L, new TopicPartition(orders, 2), 1000L));
        all = all.union(read(env, "bounded", source(servers, orders).setUnbounded(stops).build()));
        Source<String, ?, ?> history = source(servers, orders).setBounded(OffsetsInitializer.latest()).build();
        Source<String, ?, ?> now = source(servers, payments).build();
        all = all.union(read(env, "hybrid", HybridSource.builder(history).addSource(now).build()));
        if (KafkaBytes.exists(CONSUMER)) all = all.union(consumer(env, servers, orders));
        if (KafkaBytes.exists("org.apache.flink.connector.kafka.dynamic.source.DynamicKafkaSource")) {
            all = all.union(read(env, "dynamic", dynamic(servers, orders)));
        }
        Properties transactions = new Properties();
        transactions.setProperty("transaction.timeout.ms", "60000");
        all.sinkTo(KafkaSink.<String>builder()
                        .setBootstrapServers(servers)
                        .setKafkaProducerConfig(transactions)
                        .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
                        .setTransactionalIdPrefix("orders-label")
                        .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder()
                                .setTopic("out").setValueSerializationSchema(new SimpleStringSchema()).build())
                        .build())
                .uid("sink");
        JobClient client = env.executeAsync();
        Thread.sleep(15000);
        String savepoint = client.triggerSavepoint(target, SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
        client.cancel().get(60, TimeUnit.SECONDS);
        print(savepoint);
        System.exit(0);
    }

    // ---- the sources

    static KafkaSourceBuilder<String> source(String servers, String... topics) {
        return KafkaSource.<String>builder()
                .setBootstrapServers(servers)
                .setTopics(topics)
                .setGroupId("readers")
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setValueOnlyDeserializer(new SimpleStringSchema());
    }

    static DataStream<String> read(StreamExecutionEnvironment env, String uid, Source<String, ?, ?> source) {
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), uid, Types.STRING).uid(uid);
    }

    static DataStream<String> consumer(StreamExecutionEnvironment env, String servers, String topic) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", servers);
        properties.setProperty("group.id", "readers");
        properties.setProperty("auto.offset.reset", "earliest");
        Object function = KafkaBytes.make(CONSUMER, topic, new SimpleStringSchema(), properties);
        for (java.lang.reflect.Method method : env.getClass().getMethods()) {
            if (method.getName().equals("addSource") && method.getParameterCount() == 1) {
                Object stream = method.invoke(env, function);
                return (DataStream<String>) stream.getClass().getMethod("uid", String.class).invoke(stream, "consumer");
            }
        }
        throw new NoSuchMethodException("addSource");
    }

    static Source<String, ?, ?> dynamic(String servers, String topic) throws Exception {
        String dynamic = "org.apache.flink.connector.kafka.dynamic.";
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", servers);
        properties.setProperty("stream-metadata-discovery-interval-ms", "-1");
        Object service = KafkaBytes.make(dynamic + "metadata.SingleClusterTopicMetadataService", "cluster-eu", properties);
        Object builder = Class.forName(dynamic + "source.DynamicKafkaSource").getMethod("builder").invoke(null);
        Object schema = org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema
                .valueOnly(new SimpleStringSchema());
        call(builder, "setKafkaMetadataService", service);
        call(builder, "setStreamIds", Set.of(topic));
        call(builder, "setStartingOffsets", OffsetsInitializer.earliest());
        call(builder, "setDeserializer", schema);
        call(builder, "setGroupId", "readers");
        call(builder, "setProperties", properties);
        return (Source<String, ?, ?>) builder.getClass().getMethod("build").invoke(builder);
    }

    static void call(Object object, String name, Object argument) throws Exception {
        for (java.lang.reflect.Method method : object.getClass().getMethods()) {
            if (method.getName().equals(name) && method.getParameterTypes()[0].isInstance(argument)) {
                method.invoke(object, argument);
                return;
            }
        }
        throw new NoSuchMethodException(name);
    }

    static void fill(String servers, String orders, String payments) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", servers);
        try (Admin admin = Admin.create(properties)) {
            admin.createTopics(List.of(
                    new NewTopic(orders, 3, (short) 1), new NewTopic(payments, 2, (short) 1), new NewTopic("out", 1, (short) 1)))
                    .all().get();
        }
        String strings = "org.apache.kafka.common.serialization.StringSerializer";
        properties.setProperty("key.serializer", strings);
        properties.setProperty("value.serializer", strings);
        try (Producer<String, String> producer = new KafkaProducer<>(properties)) {
            int[][] counts = {{0, 5}, {1, 3}, {2, 0}};
            for (int[] c : counts) for (int i = 0; i < c[1]; i++) producer.send(new ProducerRecord<>(orders, c[0], null, "o" + i));
            for (int i = 0; i < 4; i++) producer.send(new ProducerRecord<>(payments, 0, null, "p" + i));
        }
    }

    // ---- what the connector's own serializers read

    static void print(String savepoint) throws Exception {
        ClassLoader loader = OffsetsJob.class.getClassLoader();
        Path file = Paths.get(java.net.URI.create(savepoint)).resolve("_metadata");
        org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata metadata;
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(Files.readAllBytes(file)))) {
            metadata = Checkpoints.loadCheckpointMetadata(in, loader, savepoint);
        }
        Map<OperatorID, OperatorState> states = new HashMap<>();
        for (OperatorState state : metadata.getOperatorStates()) {
            states.put(state.getOperatorID(), state);
            List<StateObjectCollection<OperatorStateHandle>> handles = handles(state);
            for (String kind : List.of("writer_raw_states", "streaming_committer_raw_states")) {
                List<Object> values = new ArrayList<>();
                for (Object bytes : elements(handles, kind)) values.add(sink((byte[]) bytes, kind));
                if (!values.isEmpty()) print("sink " + kind, values);
            }
        }
        for (String uid : List.of("orders", "bounded", "hybrid", "dynamic", "consumer")) {
            OperatorState state = states.get(id(uid));
            if (state == null) continue;
            List<StateObjectCollection<OperatorStateHandle>> handles = handles(state);
            if (uid.equals("consumer")) {
                print(uid + " consumer", elements(handles, null));
                continue;
            }
            String package_ = uid.equals("dynamic") ? "org.apache.flink.connector.kafka.dynamic.source." : SOURCE;
            String kind = uid.equals("dynamic") ? "DynamicKafkaSource" : "KafkaSource";
            String split = uid.equals("dynamic") ? "split.DynamicKafkaSourceSplitSerializer" : "split.KafkaPartitionSplitSerializer";
            List<Object> splits = new ArrayList<>();
            for (Object bytes : elements(handles, "SourceReaderState")) splits.add(split((byte[]) bytes, uid, package_ + split));
            print(uid + " splits", splits);
            byte[] coordinator = state.getCoordinatorState().getData();
            SimpleVersionedSerializer<Object> enumerator =
                    (SimpleVersionedSerializer<Object>) KafkaBytes.make(package_ + "enumerator." + kind + "EnumStateSerializer");
            // i32 version of the coordinator's, then what SimpleVersionedSerialization writes; HybridSource has its index before it.
            int skipped = uid.equals("hybrid") ? 16 : 4;
            print(uid + " enumerator", SimpleVersionedSerialization.readVersionAndDeSerialize(
                    enumerator, Arrays.copyOfRange(coordinator, skipped, coordinator.length)));
        }
    }

    static OperatorID id(String uid) {
        return new OperatorID(com.google.common.hash.Hashing.murmur3_128(0).newHasher()
                .putString(uid, java.nio.charset.StandardCharsets.UTF_8).hash().asBytes());
    }

    static Object split(byte[] bytes, String uid, String name) throws Exception {
        SimpleVersionedSerializer<Object> serializer = (SimpleVersionedSerializer<Object>) KafkaBytes.make(name);
        if (!uid.equals("hybrid")) return SimpleVersionedSerialization.readVersionAndDeSerialize(serializer, bytes);
        SimpleVersionedSerializer<Object> hybrid = (SimpleVersionedSerializer<Object>) KafkaBytes.make(HYBRID);
        Object wrapper = SimpleVersionedSerialization.readVersionAndDeSerialize(hybrid, bytes);
        byte[] wrapped = (byte[]) wrapper.getClass().getMethod("wrappedSplitBytes").invoke(wrapper);
        return serializer.deserialize(0, wrapped);
    }

    static List<StateObjectCollection<OperatorStateHandle>> handles(OperatorState state) {
        List<StateObjectCollection<OperatorStateHandle>> handles = new ArrayList<>();
        for (OperatorSubtaskState subtask : state.getStates()) handles.add(subtask.getManagedOperatorState());
        return handles;
    }

    /** A writer's state, or the committables of a committer. */
    static Object sink(byte[] bytes, String kind) throws Exception {
        String sink = "org.apache.flink.connector.kafka.sink.Kafka";
        if (kind.startsWith("writer")) {
            return SimpleVersionedSerialization.readVersionAndDeSerialize(
                    (SimpleVersionedSerializer<Object>) KafkaBytes.make(sink + "WriterStateSerializer"), bytes);
        }
        String committers = "org.apache.flink.streaming.runtime.operators.sink.committables.CommittableCollectorSerializer";
        Object committables = KafkaBytes.make(sink + "CommittableSerializer");
        Object serializer;
        try {
            serializer = KafkaBytes.make(committers, committables, 0, 1);
        } catch (NoSuchMethodException later) {
            Class<?> metrics = Class.forName("org.apache.flink.metrics.groups.SinkCommitterMetricGroup");
            Object none = java.lang.reflect.Proxy.newProxyInstance(
                    OffsetsJob.class.getClassLoader(), new Class<?>[] {metrics}, (proxy, method, arguments) -> null);
            serializer = KafkaBytes.make(committers, committables, 0, 1, none);
        }
        Object collector = SimpleVersionedSerialization.readVersionAndDeSerialize(
                (SimpleVersionedSerializer<Object>) serializer, bytes);
        List<Object> found = new ArrayList<>();
        for (Object checkpoint : (Collection<?>) get(collector, "getCheckpointCommittables")) {
            for (Object subtask : (Collection<?>) get(checkpoint, "getSubtaskCommittableManagers")) {
                for (Object request : (Collection<?>) get(subtask, "getRequests")) found.add(get(request, "getCommittable"));
            }
        }
        return found;
    }

    static Object get(Object object, String name) throws Exception {
        for (Class<?> c = object.getClass(); c != null; c = c.getSuperclass()) {
            for (java.lang.reflect.Method method : c.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == 0) {
                    method.setAccessible(true);
                    return method.invoke(object);
                }
            }
        }
        throw new NoSuchMethodException(name);
    }

    static List<Object> elements(List<StateObjectCollection<OperatorStateHandle>> handles, String name) throws Exception {
        List<Object> found = new ArrayList<>();
        for (StateObjectCollection<OperatorStateHandle> of : handles) {
            OperatorStateBackend backend = new DefaultOperatorStateBackendBuilder(
                            OffsetsJob.class.getClassLoader(), new ExecutionConfig(), false, of, new CloseableRegistry())
                    .build();
            Iterable<?> state;
            if (name == null) {
                java.lang.reflect.Method method =
                        Class.forName(CONSUMER + "Base").getDeclaredMethod("createStateSerializer", ExecutionConfig.class);
                method.setAccessible(true);
                state = backend.getUnionListState(new ListStateDescriptor<>("topic-partition-offset-states",
                        (org.apache.flink.api.common.typeutils.TypeSerializer<Object>) method.invoke(null, new ExecutionConfig()))).get();
            } else {
                state = backend.getListState(new ListStateDescriptor<>(name,
                        org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer.INSTANCE)).get();
            }
            for (Object element : state) found.add(element);
        }
        return found;
    }

    static void print(String name, Object value) throws Exception {
        System.out.println("values " + name + " = " + KafkaBytes.json(value));
    }
}
