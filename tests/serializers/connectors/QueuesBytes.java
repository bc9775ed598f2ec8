import java.util.*;

/** Prints splits, enumerator state and committables of Pulsar, and the buffer of an asynchronous sink. */
public class QueuesBytes extends Printing {
    static final String PULSAR = "org.apache.flink.connector.pulsar.";

    public static void main(String[] args) throws Exception {
        String version = args[0];
        Object partition = make(PULSAR + "source.enumerator.topic.TopicPartition", "persistent://public/default/orders", 3);
        Object whole = make(PULSAR + "source.enumerator.topic.TopicPartition", "non-persistent://shop/eu/\u00e9vents");
        Object range = make(PULSAR + "source.enumerator.topic.TopicRange", 10, 20);
        Object shared = make(PULSAR + "source.enumerator.topic.TopicPartition", "persistent://public/default/orders", 4, List.of(range));
        Object never = call(PULSAR + "source.enumerator.cursor.StopCursor", "never");
        Object message = make("org.apache.pulsar.client.impl.MessageIdImpl", 77L, 5L, 3);
        Object transaction = make("org.apache.pulsar.client.api.transaction.TxnID", 1L, -2L);
        Object splits = field(PULSAR + "source.split.PulsarPartitionSplitSerializer", "INSTANCE");
        String split = PULSAR + "source.split.PulsarPartitionSplit";
        wrapped("pulsar_split " + version, splits, make(split, partition, never, message, transaction), QueuesBytes::split);
        wrapped("pulsar_split " + version + " new", splits, make(split, whole, never), QueuesBytes::split);
        wrapped("pulsar_split " + version + " shared", splits, make(split, shared, never), QueuesBytes::split);
        Object states = field(PULSAR + "source.enumerator.PulsarSourceEnumStateSerializer", "INSTANCE");
        String state = PULSAR + "source.enumerator.PulsarSourceEnumState";
        wrapped("pulsar_enumerator " + version, states, make(state, Set.of(partition)), QueuesBytes::state);
        wrapped("pulsar_enumerator " + version + " whole", states, make(state, Set.of(whole)), QueuesBytes::state);
        wrapped("bytes_enumerator pulsar " + version, states, make(state, Set.of()), QueuesBytes::state);
        wrapped("pulsar_committable " + version, make(PULSAR + "sink.committer.PulsarCommittableSerializer"),
                make(PULSAR + "sink.committer.PulsarCommittable", transaction, "persistent://public/default/orders-partition-3"),
                value -> map("transaction", call(value, "getTxnID").toString(), "topic", call(value, "getTopic")));
        Object request = make("org.apache.flink.connector.base.sink.writer.RequestEntryWrapper", "abc", 3L);
        Object buffer = make("org.apache.flink.connector.base.sink.writer.BufferedRequestState", List.of(request, request));
        wrapped("async_writer " + version, new Texts(), buffer, value -> map("requests", ((List<?>) call(value, "getBufferedRequestEntries")).size(),
                "data", "0000000000000003616263".repeat(2)));
        wrapped("async_writer " + version + " empty", new Texts(), make("org.apache.flink.connector.base.sink.writer.BufferedRequestState", List.of()),
                value -> map("requests", 0, "data", ""));
    }

    /** As the sinks extend it: a request is bytes. */
    static class Texts extends org.apache.flink.connector.base.sink.writer.AsyncSinkWriterStateSerializer<String> {
        @Override
        protected void serializeRequestToStream(String request, java.io.DataOutputStream out) throws java.io.IOException {
            out.write(request.getBytes());
        }

        @Override
        protected String deserializeRequestFromStream(long size, java.io.DataInputStream in) throws java.io.IOException {
            return new String(in.readNBytes((int) size));
        }

        @Override
        public int getVersion() {
            return 1;
        }
    }

    static Map<String, Object> partition(Object partition) throws Exception {
        List<Object> ranges = new ArrayList<>();
        for (Object range : (List<?>) call(partition, "getRanges")) ranges.add(map("start", call(range, "getStart"), "end", call(range, "getEnd")));
        boolean part = (boolean) call(partition, "isPartition");
        return map("topic", call(partition, "getTopic"), "partition", part ? call(partition, "getPartitionId") : null, "ranges", ranges);
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
