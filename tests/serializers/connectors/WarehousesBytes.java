import java.util.*;

/** Prints what the sinks of Doris or StarRocks keep. */
public class WarehousesBytes extends Printing {
    public static void main(String[] args) throws Exception {
        if (args[0].equals("doris")) doris(args[1]);
        else starrocks(args[1]);
    }

    static void doris(String version) throws Exception {
        String sink = "org.apache.doris.flink.sink.";
        wrapped("doris_writer " + version, make(sink + "writer.DorisWriterStateSerializer"),
                make(sink + "writer.DorisWriterState", "orders-label", "shop", "orders", 3),
                value -> map("label_prefix", call(value, "getLabelPrefix"), "database", call(value, "getDatabase"), "table", call(value, "getTable"),
                        "subtask", call(value, "getSubtaskId")));
        wrapped("doris_committable " + version, make(sink + "DorisCommittableSerializer"), make(sink + "DorisCommittable", "fe-1:8030", "shop", 4711L),
                value -> map("host", call(value, "getHostPort"), "database", call(value, "getDb"), "transaction_id", call(value, "getTxnID")));
    }

    static void starrocks(String version) throws Exception {
        String sink = "com.starrocks.connector.flink.table.sink.";
        Object transaction = make("com.starrocks.data.load.stream.StreamLoadSnapshot$Transaction", "shop", "orders", "label-1");
        Object snapshot = make("com.starrocks.data.load.stream.StreamLoadSnapshot");
        call(snapshot, "setId", "id-1");
        call(snapshot, "setTransactions", new ArrayList<>(List.of(transaction)));
        call(snapshot, "setTimestamp", 1_700_000_000_000L);
        Object label = make(sink + "ExactlyOnceLabelGeneratorSnapshot", 42L, "shop", "orders", "label", 2, 1, 7L);
        Object serializer = make(sink + "v2.StarRocksWriterStateSerializer");
        byte[] data = (byte[]) call(serializer, "serialize", make(sink + "v2.StarRocksWriterState", List.of(label)));
        // Its own reading returns another class than it writes, and fails.
        System.out.println("starrocks_writer " + version + " = " + String.format("%08x%08x", 1, data.length) + hex(data) + " = "
                + json(map("json", new String(data))));
        wrapped("starrocks_committable " + version, make(sink + "v2.StarRocksCommittableSerializer"), make(sink + "v2.StarRocksCommittable", snapshot),
                value -> map("json", new String((byte[]) call(make(sink + "v2.StarRocksCommittableSerializer"), "serialize", value))));
    }
}
