import java.io.ByteArrayOutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.*;
import java.util.stream.*;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.*;
import org.apache.flink.runtime.state.memory.*;

/**
 * Prints what Kafka's connector keeps in state, written by the connector's own serializers: lines of a name, "=" and hex.
 *
 * <p>"producer": operator state files with the list states of FlinkKafkaProducer or FlinkKafkaProducer011, written by Flink's
 * own backend; the name has the states, their modes and offsets. "consumer": likewise the union state of FlinkKafkaConsumer.
 * "source" and "sink": payloads of the newer connector in Flink's wrapper, those of HybridSource around them included. A line that
 * begins with "values" has what the connector's own serializer reads from the bytes, as JSON of all fields of its classes. Classes
 * differ between versions, so everything goes by reflection.
 */
public class KafkaBytes {
    static final String CONNECTORS = "org.apache.flink.streaming.connectors.kafka.";
    static final String KAFKA = "org.apache.flink.connector.kafka.";

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "producer": producer(args[1]); break;
            case "consumer": consumer(); break;
            case "source": source(args[1]); break;
            case "sink": sink(args[1]); break;
            default: throw new IllegalArgumentException(args[0]);
        }
    }

    // ---- FlinkKafkaProducer, FlinkKafkaProducer011

    static void producer(String name) throws Exception {
        Class<?> producer = Class.forName(CONNECTORS + name);
        Object transactions = make(CONNECTORS + name + "$TransactionStateSerializer");
        Object contexts = make(CONNECTORS + name + "$ContextStateSerializer");
        String two = "org.apache.flink.streaming.api.functions.sink.TwoPhaseCommitSinkFunction$";
        Object serializer = make(two + "StateSerializer", transactions, contexts);
        OperatorStateBackend backend =
                new DefaultOperatorStateBackendBuilder(
                                KafkaBytes.class.getClassLoader(), new ExecutionConfig(), false, List.of(), new CloseableRegistry())
                        .build();

        ListState<Object> state = backend.getListState(
                new ListStateDescriptor<>("state", (org.apache.flink.api.common.typeutils.TypeSerializer) serializer));
        Object pending = holder(two, name, "orders-7", 4_000_000_001L, 3, 1_700_000_000_000L);
        Object earlier = holder(two, name, "orders-6", 4_000_000_000L, -1, 1_699_999_999_000L);
        Object context = make(CONNECTORS + name + "$KafkaTransactionContext", new LinkedHashSet<>(List.of("orders-6", "orders-7")));
        state.add(make(two + "State", pending, new ArrayList<>(List.of(earlier)), Optional.of(context)));
        // At least once: no transaction has an id, and nothing waits.
        Object none = holder(two, name, null, -1L, -1, 1_700_000_001_000L);
        state.add(make(two + "State", none, new ArrayList<>(), Optional.empty()));

        for (String field : List.of("NEXT_TRANSACTIONAL_ID_HINT_DESCRIPTOR", "NEXT_TRANSACTIONAL_ID_HINT_DESCRIPTOR_V2")) {
            ListStateDescriptor<Object> descriptor;
            try {
                Field declared = producer.getDeclaredField(field);
                declared.setAccessible(true);
                descriptor = (ListStateDescriptor<Object>) declared.get(null);
            } catch (NoSuchFieldException absent) {
                continue;
            }
            backend.getUnionListState(descriptor).add(make(CONNECTORS + name + "$NextTransactionalIdHint", 4, 5_000_000_000L));
        }
        print(name, backend);
    }

    static Object holder(String two, String name, String id, long producer, int epoch, long start) throws Exception {
        Object transaction = make(CONNECTORS + name + "$KafkaTransactionState", id, producer, (short) epoch, null);
        return make(two + "TransactionHolder", transaction, start);
    }

    // ---- FlinkKafkaConsumer

    static void consumer() throws Exception {
        Class<?> base = Class.forName(CONNECTORS + "FlinkKafkaConsumerBase");
        java.lang.reflect.Method method = base.getDeclaredMethod("createStateSerializer", ExecutionConfig.class);
        method.setAccessible(true);
        OperatorStateBackend backend =
                new DefaultOperatorStateBackendBuilder(
                                KafkaBytes.class.getClassLoader(), new ExecutionConfig(), false, List.of(), new CloseableRegistry())
                        .build();
        ListState<Object> state = backend.getUnionListState(new ListStateDescriptor<>(
                "topic-partition-offset-states",
                (org.apache.flink.api.common.typeutils.TypeSerializer) method.invoke(null, new ExecutionConfig())));
        String partition = CONNECTORS + "internals.KafkaTopicPartition";
        Object[][] offsets = {{"orders", 0, 41L}, {"orders", 1, -915623761773L}, {"payments.eu", 7, -915623761775L}};
        for (Object[] o : offsets) {
            state.add(org.apache.flink.api.java.tuple.Tuple2.of(make(partition, o[0], o[1]), o[2]));
        }
        print("FlinkKafkaConsumer", backend);
    }

    static void print(String name, OperatorStateBackend backend) throws Exception {
        var run = backend.snapshot(1, 1, new MemCheckpointStreamFactory(1 << 20), CheckpointOptions.forCheckpointWithDefaultLocation());
        run.run();
        OperatorStateHandle handle = run.get().getJobManagerOwnedSnapshot();
        String states = new TreeMap<>(handle.getStateNameToPartitionOffsets())
                .entrySet().stream()
                .map(e -> e.getKey() + ":" + e.getValue().getDistributionMode() + ":"
                        + Arrays.stream(e.getValue().getOffsets()).mapToObj(Long::toString).collect(Collectors.joining(",")))
                .collect(Collectors.joining(";"));
        System.out.println((name.contains("Consumer") ? "consumer " : "producer ") + name + " " + states + " = " + hex(((ByteStreamStateHandle) handle.getDelegateStateHandle()).getData()));
    }

    // ---- KafkaSource

    static void source(String version) throws Exception {
        String split = KAFKA + "source.split.KafkaPartitionSplit";
        Object[][] splits = {
            {"orders", 0, 10L, 90L}, {"orders", 1, 42L, Long.MIN_VALUE}, {"payments.eu", 7, -2L, -1L}, {"orders", 2, 5L, -3L},
        };
        for (Object[] s : splits) {
            Object value = make(split, partition((String) s[0], (int) s[1]), s[2], s[3]);
            wrapped("split " + version + " " + s[0] + " " + s[1] + " " + s[2] + " " + s[3], make(split + "Serializer"), value);
        }
        Object partitionSplit = make(split, partition("orders", 3), 4711L, Long.MIN_VALUE);
        hybrid(version, make(split + "Serializer"), partitionSplit, "orders-3");
        wrapped("enumerator " + version, make(KAFKA + "source.enumerator.KafkaSourceEnumStateSerializer"), enumerator(splits));
        wrapped("enumerator " + version + " empty", make(KAFKA + "source.enumerator.KafkaSourceEnumStateSerializer"),
                enumerator(new Object[0][]));
        dynamic(version, partitionSplit, splits);
    }

    /** What the enumerator keeps: the split of partition 2 is not assigned, if the version of the connector can say so. */
    static Object enumerator(Object[][] splits) throws Exception {
        String enumerator = KAFKA + "source.enumerator.";
        String state = enumerator + "KafkaSourceEnumState";
        Set<Object> partitions = new LinkedHashSet<>();
        Set<Object> whole = new LinkedHashSet<>();
        for (Object[] s : splits) {
            Object partition = partition((String) s[0], (int) s[1]);
            Object split = make(KAFKA + "source.split.KafkaPartitionSplit", partition, s[2], s[3]);
            whole.add(split);
            boolean assigned = (int) s[1] != 2;
            if (exists(enumerator + "SplitAndAssignmentStatus")) {
                partitions.add(make(enumerator + "SplitAndAssignmentStatus", split, status(assigned)));
            } else if (exists(enumerator + "TopicPartitionAndAssignmentStatus")) {
                partitions.add(make(enumerator + "TopicPartitionAndAssignmentStatus", partition, status(assigned)));
            } else {
                partitions.add(partition);
            }
        }
        if (exists(enumerator + "AssignmentStatus")) return make(state, partitions, true);
        for (Constructor<?> constructor : Class.forName(state).getConstructors()) {
            // The first version keeps the splits of each subtask.
            if (constructor.getParameterTypes()[0] == Map.class) return make(state, new TreeMap<>(Map.of(0, whole)));
        }
        return make(state, partitions);
    }

    static Object status(boolean assigned) throws Exception {
        return Class.forName(KAFKA + "source.enumerator.AssignmentStatus").getEnumConstants()[assigned ? 0 : 1];
    }

    // ---- HybridSource

    static void hybrid(String version, Object serializer, Object split, String id) throws Exception {
        String name = "org.apache.flink.connector.base.source.hybrid.HybridSourceSplit";
        if (!exists(name)) return;
        SimpleVersionedSerializer<Object> inner = (SimpleVersionedSerializer<Object>) serializer;
        Object[] arguments = {1, inner.serialize(split), inner.getVersion(), id};
        Object wrapper;
        try {
            wrapper = make(name, arguments);
        } catch (NoSuchMethodException later) {
            wrapper = make(name, arguments[0], arguments[1], arguments[2], arguments[3], true);
        }
        wrapped("hybrid " + version, make(name + "Serializer"), wrapper);
    }

    // ---- DynamicKafkaSource

    static void dynamic(String version, Object split, Object[][] splits) throws Exception {
        String dynamic = KAFKA + "dynamic.";
        if (!exists(dynamic + "source.split.DynamicKafkaSourceSplit")) return;
        wrapped("dynamic split " + version, make(dynamic + "source.split.DynamicKafkaSourceSplitSerializer"),
                make(dynamic + "source.split.DynamicKafkaSourceSplit", "cluster-eu", split));
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", "kafka-1:9092,kafka-2:9092");
        Object cluster;
        try {
            Class<?> initializers = Class.forName(KAFKA + "source.enumerator.initializer.OffsetsInitializer");
            Object latest = initializers.getMethod("latest").invoke(null);
            cluster = make(dynamic + "metadata.ClusterMetadata", Set.of("orders"), properties, latest, null);
        } catch (NoSuchMethodException earlier) {
            cluster = make(dynamic + "metadata.ClusterMetadata", Set.of("orders"), properties);
        }
        Object stream = make(dynamic + "metadata.KafkaStream", "all-orders", Map.of("cluster-eu", cluster));
        wrapped("dynamic enumerator " + version, make(dynamic + "source.enumerator.DynamicKafkaSourceEnumStateSerializer"),
                make(dynamic + "source.enumerator.DynamicKafkaSourceEnumState", Set.of(stream), Map.of("cluster-eu", enumerator(splits))));
    }

    static Object partition(String topic, int number) throws Exception {
        return make("org.apache.kafka.common.TopicPartition", topic, number);
    }

    // ---- KafkaSink

    static void sink(String version) throws Exception {
        Object committable = make(KAFKA + "sink.KafkaCommittable", 42L, (short) 7, "orders-label-5-9", null);
        wrapped("committable " + version, make(KAFKA + "sink.KafkaCommittableSerializer"), committable);
        Object writer;
        Object serializer = make(KAFKA + "sink.KafkaWriterStateSerializer");
        try {
            Object[] owners = Class.forName(KAFKA + "sink.internal.TransactionOwnership").getEnumConstants();
            List<Object> transactions = List.of(
                    make(KAFKA + "sink.internal.CheckpointTransaction", "orders-label-0-3", 8L),
                    make(KAFKA + "sink.internal.CheckpointTransaction", "orders-label-0-4", 8L));
            writer = make(KAFKA + "sink.KafkaWriterState", "orders-label", 0, 2, owners[1], transactions);
            wrapped("writer " + version + " empty", serializer,
                    make(KAFKA + "sink.KafkaWriterState", "orders-label", 0, 2, owners[0], List.of()));
        } catch (ClassNotFoundException old) {
            writer = make(KAFKA + "sink.KafkaWriterState", "orders-label");
        }
        wrapped("writer " + version, serializer, writer);
    }

    // ---- what they have in common

    static void wrapped(String name, Object serializer, Object value) throws Exception {
        SimpleVersionedSerializer<Object> own = (SimpleVersionedSerializer<Object>) serializer;
        byte[] bytes = SimpleVersionedSerialization.writeVersionAndSerialize(own, value);
        System.out.println(name + " = " + hex(bytes));
        System.out.println("values " + name + " = " + json(SimpleVersionedSerialization.readVersionAndDeSerialize(own, bytes)));
    }

    /** All fields of a connector's object, those inside included. */
    static String json(Object value) throws Exception {
        if (value == null || value instanceof Number || value instanceof Boolean) return String.valueOf(value);
        if (value instanceof byte[]) return quoted(hex((byte[]) value));
        if (value instanceof Optional) return json(((Optional<?>) value).orElse(null));
        if (value instanceof Collection) {
            List<String> items = new ArrayList<>();
            for (Object item : (Collection<?>) value) items.add(json(item));
            Collections.sort(items);
            return "[" + String.join(", ", items) + "]";
        }
        Map<String, Object> fields = new TreeMap<>();
        if (value instanceof Map) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) fields.put(entry.getKey().toString(), entry.getValue());
        } else if (!value.getClass().isEnum() && value.getClass().getName().matches("org.apache.(flink.connector|kafka).*")) {
            for (Class<?> c = value.getClass(); c != Object.class; c = c.getSuperclass()) {
                for (Field field : c.getDeclaredFields()) {
                    // A hash is computed when it is first asked for, and a producer is not in the bytes.
                    boolean computed = Set.of("hash", "producer").contains(field.getName());
                    if (computed || java.lang.reflect.Modifier.isStatic(field.getModifiers())) continue;
                    field.setAccessible(true);
                    fields.put(field.getName(), field.get(value));
                }
            }
        } else {
            return quoted(value.toString());
        }
        List<String> parts = new ArrayList<>();
        for (Map.Entry<String, Object> entry : fields.entrySet()) parts.add(quoted(entry.getKey()) + ": " + json(entry.getValue()));
        return "{" + String.join(", ", parts) + "}";
    }

    static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    static boolean exists(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException absent) {
            return false;
        }
    }

    /** A new object by the one constructor that takes these arguments, whether public or not. */
    static Object make(String name, Object... arguments) throws Exception {
        for (Constructor<?> constructor : Class.forName(name).getDeclaredConstructors()) {
            if (constructor.getParameterCount() != arguments.length) continue;
            constructor.setAccessible(true);
            try {
                return constructor.newInstance(arguments);
            } catch (IllegalArgumentException other) {
                // Parameters of other types: another constructor.
            }
        }
        throw new NoSuchMethodException(name + " with " + arguments.length + " arguments");
    }

    static String hex(byte[] data) {
        StringBuilder text = new StringBuilder();
        for (byte b : data) text.append(String.format("%02x", b));
        return text.toString();
    }
}
