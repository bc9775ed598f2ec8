import java.util.*;

/** Prints splits, enumerator state and committables of Pulsar. */
public class PulsarBytes extends Printing {
    static final String PULSAR = "org.apache.flink.connector.pulsar.";
    static final String TOPICS = PULSAR + "source.enumerator.topic.";

    public static void main(String[] args) throws Exception {
        String version = args[0];
        Object partition = partition("persistent://public/default/orders", 3, null);
        Object whole = partition("non-persistent://shop/eu/\u00e9vents", -1, null);
        Object range = make(TOPICS + "TopicRange", 10, 20);
        Object shared = partition("persistent://public/default/orders", 4, range);
        Object never = call(PULSAR + "source.enumerator.cursor.StopCursor", "never");
        Object message = make("org.apache.pulsar.client.impl.MessageIdImpl", 77L, 5L, 3);
        Object transaction = make("org.apache.pulsar.client.api.transaction.TxnID", 1L, -2L);
        Object splits = field(PULSAR + "source.split.PulsarPartitionSplitSerializer", "INSTANCE");
        String split = PULSAR + "source.split.PulsarPartitionSplit";
        wrapped("pulsar_split " + version, splits, make(split, partition, never, message, transaction), PulsarBytes::split);
        wrapped("pulsar_split " + version + " new", splits, make(split, whole, never), PulsarBytes::split);
        wrapped("pulsar_split " + version + " shared", splits, make(split, shared, never), PulsarBytes::split);
        Object states = field(PULSAR + "source.enumerator.PulsarSourceEnumStateSerializer", "INSTANCE");
        String state = PULSAR + "source.enumerator.PulsarSourceEnumState";
        if (version.equals("1.14")) {
            // Until Flink 1.15 the enumerator kept the splits, too.
            Object pending = make(split, partition, never, message, transaction);
            wrapped("pulsar_enumerator " + version, states, make(state, Set.of(partition), Set.of(pending), Map.of(2, Set.of(pending)),
                    Map.of(1, Set.of("a", "b")), true), PulsarBytes::state);
            wrapped("pulsar_enumerator " + version + " whole", states,
                    make(state, Set.of(whole), Set.of(), Map.of(), Map.of(), false), PulsarBytes::state);
            wrapped("bytes_enumerator pulsar " + version, states,
                    make(state, Set.of(), Set.of(), Map.of(), Map.of(), false), PulsarBytes::state);
            return;
        }
        wrapped("pulsar_enumerator " + version, states, make(state, Set.of(partition)), PulsarBytes::state);
        wrapped("pulsar_enumerator " + version + " whole", states, make(state, Set.of(whole)), PulsarBytes::state);
        wrapped("bytes_enumerator pulsar " + version, states, make(state, Set.of()), PulsarBytes::state);
        wrapped("pulsar_committable " + version, make(PULSAR + "sink.committer.PulsarCommittableSerializer"),
                make(PULSAR + "sink.committer.PulsarCommittable", transaction, "persistent://public/default/orders-partition-3"),
                value -> map("transaction", call(value, "getTxnID").toString(), "topic", call(value, "getTopic")));
    }

    /** A topic (-1) or one of its partitions. Constructors differ between versions. */
    static Object partition(String topic, int number, Object range) throws Exception {
        Object full = range == null ? call(TOPICS + "TopicRange", "createFullRange") : range;
        try {
            return make(TOPICS + "TopicPartition", topic, number, List.of(full));
        } catch (NoSuchMethodException older) {
            return make(TOPICS + "TopicPartition", topic, number, full);
        }
    }

    static Map<String, Object> partition(Object partition) throws Exception {
        List<Object> ranges = new ArrayList<>();
        for (Object range : ranges(partition)) ranges.add(map("start", call(range, "getStart"), "end", call(range, "getEnd")));
        Object number = call(partition, "getPartitionId");
        return map("topic", call(partition, "getTopic"), "partition", number.equals(-1) ? null : number, "ranges", ranges);
    }

    static List<?> ranges(Object partition) throws Exception {
        try {
            return (List<?>) call(partition, "getRanges");
        } catch (NoSuchMethodException older) {
            return List.of(call(partition, "getRange"));
        }
    }

    static Object split(Object split) throws Exception {
        Map<String, Object> found = partition(call(split, "getPartition"));
        found.put("stop_cursor_class", call(split, "getStopCursor").getClass().getName());
        found.put("stop_cursor", "{}");
        Object message = call(split, "getLatestConsumedId");
        if (message != null) {
            found.put("message_id", hex((byte[]) call(message, "toByteArray")));
            found.put("ledger_id", call(message, "getLedgerId"));
            found.put("entry_id", call(message, "getEntryId"));
        }
        Object transaction = call(split, "getUncommittedTransactionId");
        found.put("transaction", transaction == null ? null : transaction.toString());
        return found;
    }

    static Object state(Object state) throws Exception {
        List<Object> partitions = new ArrayList<>();
        for (Object partition : (Set<?>) call(state, "getAppendedPartitions")) partitions.add(partition(partition));
        return map("partitions", partitions);
    }
}
