import java.time.Instant;
import java.util.*;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** Prints splits and enumerator state of Kinesis' source. */
public class KinesisBytes extends Printing {
    static final String SOURCE = "org.apache.flink.connector.kinesis.source.";
    static final String STREAM = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders";

    public static void main(String[] args) throws Exception {
        String version = args[0];
        boolean ends = !version.equals("5.0");
        String positions = SOURCE + "split.StartingPosition";
        Object split = split(ends, "shardId-000000000002", call(positions, "continueFromSequenceNumber", "4957"), Set.of("shardId-000000000001"));
        Object timed = split(ends, "shardId-000000000003", call(positions, "fromTimestamp", Instant.ofEpochMilli(1_700_000_000_123L)), Set.of());
        Object first = split(ends, "shardId-000000000000", call(positions, "fromStart"), Set.of());
        Object splits = make(SOURCE + "split.KinesisShardSplitSerializer");
        wrapped("kinesis_split " + version + " sequence number", splits, split, KinesisBytes::split);
        wrapped("kinesis_split " + version + " time", splits, timed, KinesisBytes::split);
        wrapped("kinesis_split " + version + " start", splits, first, KinesisBytes::split);
        Object[] statuses = Class.forName(SOURCE + "enumerator.SplitAssignmentStatus").getEnumConstants();
        String known = SOURCE + "enumerator.KinesisShardSplitWithAssignmentStatus", state = SOURCE + "enumerator.KinesisStreamsSourceEnumeratorState";
        Object states = make(SOURCE + "enumerator.KinesisStreamsSourceEnumeratorStateSerializer", splits);
        wrapped("kinesis_enumerator " + version, states,
                make(state, List.of(make(known, split, statuses[0]), make(known, first, statuses[1])), "shardId-000000000003"), KinesisBytes::state);
        wrapped("kinesis_enumerator " + version + " no split", states, make(state, List.of(), "shardId-000000000003"), KinesisBytes::state);
        if (!ends) {
            wrapped("kinesis_split " + version + " version 0", older(splits, 0), split, value -> oldest(split(value)));
            wrapped("kinesis_enumerator " + version + " version 0", older(states, 0), make(state + "V0", List.of(split), "shardId-000000000003"),
                    value -> map("last_seen_shard_id", call(value, "getLastSeenShardId"), "splits",
                            List.of(split(call(((List<?>) call(value, "getKnownSplits")).get(0), "split")))));
        }
        wrapped("bytes_enumerator kinesis " + version + " empty", states, make(state, List.of(), null), KinesisBytes::state);
    }

    /** As older versions wrote it, by the methods with which the serializer's tests do. */
    static SimpleVersionedSerializer<Object> older(Object serializer, int version) {
        return new SimpleVersionedSerializer<>() {
            @Override
            public int getVersion() {
                return version;
            }

            @Override
            public byte[] serialize(Object value) throws java.io.IOException {
                try {
                    return (byte[]) call(serializer, "serializeV" + version, value);
                } catch (Exception e) {
                    throw new java.io.IOException(e);
                }
            }

            @Override
            public Object deserialize(int version, byte[] data) throws java.io.IOException {
                return ((SimpleVersionedSerializer<?>) serializer).deserialize(version, data);
            }
        };
    }

    static Object split(boolean ends, String shard, Object position, Set<String> parents) throws Exception {
        List<Object> arguments = new ArrayList<>(List.of(STREAM, shard, position, parents, "0", "340282366920938463463374607431768211455"));
        if (ends) arguments.add(shard.endsWith("3"));
        return make(SOURCE + "split.KinesisShardSplit", arguments.toArray());
    }

    static Map<String, Object> split(Object split) throws Exception {
        Object position = call(split, "getStartingPosition"), marker = call(position, "getStartingMarker");
        Map<String, Object> value = map("stream", call(split, "getStreamArn"), "shard_id", call(split, "getShardId"),
                "position", call(position, "getShardIteratorType").toString(),
                "timestamp_ms", marker instanceof Instant ? ((Instant) marker).toEpochMilli() : null,
                "sequence_number", marker instanceof String ? marker : null,
                "parent_shard_ids", call(split, "getParentShardIds"),
                "starting_hash_key", call(split, "getStartingHashKey"), "ending_hash_key", call(split, "getEndingHashKey"));
        try {
            value.put("finished", call(split, "isFinished"));
        } catch (NoSuchMethodException older) {
            // Since version 2.
        }
        return value;
    }

    /** The fields that version 0 has; the classes fill in the others. */
    static Map<String, Object> oldest(Map<String, Object> split) {
        split.keySet().retainAll(Set.of("stream", "shard_id", "position", "timestamp_ms", "sequence_number"));
        return split;
    }

    static Object state(Object state) throws Exception {
        List<Object> splits = new ArrayList<>();
        for (Object known : (List<?>) call(state, "getKnownSplits")) {
            Map<String, Object> value = split(call(known, "split"));
            value.put("assigned", call(known, "assignmentStatus").toString().equals("ASSIGNED"));
            splits.add(value);
        }
        return map("last_seen_shard_id", call(state, "getLastSeenShardId"), "splits", splits);
    }
}
