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
 * own backend; the name has the states, their modes and offsets. "source" and "sink": payloads of the newer connector in
 * Flink's wrapper. Classes differ between versions, so everything goes by reflection.
 */
public class KafkaBytes {
    static final String CONNECTORS = "org.apache.flink.streaming.connectors.kafka.";
    static final String KAFKA = "org.apache.flink.connector.kafka.";

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "producer": producer(args[1]); break;
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

    static void print(String name, OperatorStateBackend backend) throws Exception {
        var run = backend.snapshot(1, 1, new MemCheckpointStreamFactory(1 << 20), CheckpointOptions.forCheckpointWithDefaultLocation());
        run.run();
        OperatorStateHandle handle = run.get().getJobManagerOwnedSnapshot();
        String states = new TreeMap<>(handle.getStateNameToPartitionOffsets())
                .entrySet().stream()
                .map(e -> e.getKey() + ":" + e.getValue().getDistributionMode() + ":"
                        + Arrays.stream(e.getValue().getOffsets()).mapToObj(Long::toString).collect(Collectors.joining(",")))
                .collect(Collectors.joining(";"));
        System.out.println("producer " + name + " " + states + " = " + hex(((ByteStreamStateHandle) handle.getDelegateStateHandle()).getData()));
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
        String enumerator = KAFKA + "source.enumerator.";
        Object state;
        try {
            Object[] statuses = Class.forName(enumerator + "AssignmentStatus").getEnumConstants();
            Set<Object> partitions = new LinkedHashSet<>();
            for (Object[] s : splits) {
                Object status = statuses[(int) s[1] == 2 ? 1 : 0];
                partitions.add(make(enumerator + "TopicPartitionAndAssignmentStatus", partition((String) s[0], (int) s[1]), status));
            }
            state = make(enumerator + "KafkaSourceEnumState", partitions, true);
        } catch (ClassNotFoundException old) {
            Set<Object> partitions = new LinkedHashSet<>();
            for (Object[] s : splits) partitions.add(partition((String) s[0], (int) s[1]));
            state = make(enumerator + "KafkaSourceEnumState", partitions);
        }
        wrapped("enumerator " + version, make(enumerator + "KafkaSourceEnumStateSerializer"), state);
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
        System.out.println(name + " = "
                + hex(SimpleVersionedSerialization.writeVersionAndSerialize((SimpleVersionedSerializer<Object>) serializer, value)));
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
