import java.util.*;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.types.logical.RowType;

/** Prints splits and enumerator state of Flink CDC's sources: "mysql" or one of the databases of its common base. */
public class CdcBytes extends CdcValues {
    public static void main(String[] args) throws Exception {
        root = args[1];
        prefix = args[0] + " " + args[2];
        if (args[0].equals("mysql") && args[2].compareTo("2.3") < 0) olderMysql();
        else if (args[0].equals("mysql")) mysql();
        else base(args[0], args[3]);
    }

    // ---- MySQL, which has classes of its own

    static void mysql() throws Exception {
        String source = root + ".connectors.mysql.source.";
        Object serializer = field(source + "split.MySqlSplitSerializer", "INSTANCE");
        Object low = new_offset(source + "offset.BinlogOffset", "file", "mysql-bin.000042", "pos", "15312", "kind", "SPECIFIC",
                "gtids", "24da167f-0c0c-11e8-8442-00059a3c7b00:1-19", "row", "2", "event", "3", "ts_sec", "1700000000",
                "server_id", "223344", "transaction_id", null);
        Object high = new_offset(source + "offset.BinlogOffset", "kind", "NON_STOPPING", "file", "", "pos", "-9223372036854775808");
        Object table = make("io.debezium.relational.TableId", "shop", null, "orders");
        Object other = make("io.debezium.relational.TableId", "shop", null, "cust.omers");
        Object done = make(source + "split.FinishedSnapshotSplitInfo", table, "shop.orders:0", null, new Object[] {4096L}, low);
        Object chars = make(source + "split.FinishedSnapshotSplitInfo", table, "shop.orders:1", new Object[] {"k\u00e9y"}, null, low);
        Map<Object, Object> schemas = new LinkedHashMap<>(Map.of(table, change(table)));
        wrapped("cdc_split " + prefix + " stream", serializer,
                make(source + "split.MySqlBinlogSplit", "binlog-split", low, high, List.of(done, chars), schemas, 2, true),
                CdcBytes::split);
        wrapped("cdc_split " + prefix + " stream plain", serializer,
                make(source + "split.MySqlBinlogSplit", "binlog-split", low, null, List.of(), Map.of(), 0, false), CdcBytes::split);
        RowType key = (RowType) DataTypes.ROW(DataTypes.FIELD("id", DataTypes.BIGINT().notNull())).notNull().getLogicalType();
        wrapped("cdc_split " + prefix + " snapshot", serializer,
                make(source + "split.MySqlSnapshotSplit", table, "shop.orders:2", key, new Object[] {1L}, new Object[] {4096L}, low, schemas),
                CdcBytes::split);
        Object start = make(source + "split.MySqlSchemalessSnapshotSplit", table, "shop.orders:3", key, new Object[] {8192L}, null, null);
        wrapped("cdc_split " + prefix + " snapshot open", serializer, call(start, "toMySqlSnapshotSplit", change(table)), CdcBytes::split);

        String states = source + "assigners.state.";
        Object pending = make(states + "PendingSplitsStateSerializer", serializer);
        Object bound = call(states + "ChunkSplitterState$ChunkBound", "middleOf", 12288L);
        Object chunks = make(states + "ChunkSplitterState", table, bound, 4);
        Object none = field(states + "ChunkSplitterState", "NO_SPLITTING_TABLE_STATE");
        Object[] statuses = Class.forName(source + "assigners.AssignerStatus").getEnumConstants();
        Map<String, Object> assigned = new LinkedHashMap<>();
        assigned.put("shop.orders:3", start);
        Map<String, Object> offsets = new LinkedHashMap<>();
        offsets.put("shop.orders:3", low);
        Object snapshot = make(states + "SnapshotPendingSplitsState", List.of(other), List.of(start), assigned, schemas, offsets,
                // The names of the numbers 2 and 3 have changed since 2.3.
                statuses[prefix.endsWith("2.3") ? 4 : 2], List.of(table), true, true, chunks);
        wrapped("cdc_enumerator " + prefix + " snapshot", pending, snapshot, CdcBytes::pending);
        Object idle = make(states + "SnapshotPendingSplitsState", List.of(other), List.of(), Map.of(), Map.of(), Map.of(),
                statuses[1], List.of(), false, true, none);
        wrapped("cdc_enumerator " + prefix + " hybrid", pending, make(states + "HybridPendingSplitsState", idle, true), CdcBytes::pending);
        wrapped("bytes_enumerator " + prefix + " stream", pending, make(states + "BinlogPendingSplitsState", true), CdcBytes::pending);
    }

    /** Until 2.2, snapshot splits have their schemas in the enumerator, too. */
    static void olderMysql() throws Exception {
        String source = root + ".connectors.mysql.source.";
        boolean oldest = prefix.contains(" 2.0");
        boolean before22 = oldest || prefix.endsWith("2.1");
        Object serializer = field(source + "split.MySqlSplitSerializer", "INSTANCE");
        String offset = source + "offset.BinlogOffset";
        Object low = prefix.endsWith("2.0.0") ? make(offset, "mysql-bin.000042", 15312L)
                : new_offset(offset, "file", "mysql-bin.000042", "pos", "15312",
                "gtids", "24da167f-0c0c-11e8-8442-00059a3c7b00:1-19", "row", "2", "event", "3", "ts_sec", "1700000000",
                "server_id", "223344");
        Object high = make(offset, "", Long.MIN_VALUE);
        Object table = make("io.debezium.relational.TableId", "shop", null, "orders");
        Object other = make("io.debezium.relational.TableId", "shop", null, "cust.omers");
        Object done = make(source + "split.FinishedSnapshotSplitInfo", table, "shop.orders:0", null, new Object[] {4096L}, low);
        Map<Object, Object> schemas = new LinkedHashMap<>(Map.of(table, change(table)));
        RowType key = (RowType) DataTypes.ROW(DataTypes.FIELD("id", DataTypes.BIGINT().notNull())).notNull().getLogicalType();
        String stream = source + "split.MySqlBinlogSplit";
        wrapped("cdc_split " + prefix + " stream", serializer, oldest
                ? make(stream, "binlog-split", key, low, high, List.of(done), schemas)
                : before22 ? make(stream, "binlog-split", low, high, List.of(done), schemas, 2)
                : make(stream, "binlog-split", low, high, List.of(done), schemas, 2, true), CdcBytes::split);
        wrapped("cdc_split " + prefix + " stream plain", serializer, oldest
                ? make(stream, "binlog-split", key, low, null, List.of(), Map.of())
                : before22 ? make(stream, "binlog-split", low, null, List.of(), Map.of(), 0)
                : make(stream, "binlog-split", low, null, List.of(), Map.of(), 0, false), CdcBytes::split);
        String snapshot = source + "split.MySqlSnapshotSplit";
        Object start = make(snapshot, table, "shop.orders:3", key, new Object[] {8192L}, null, null, schemas);
        wrapped("cdc_split " + prefix + " snapshot", serializer,
                make(snapshot, table, "shop.orders:2", key, new Object[] {1L}, new Object[] {4096L}, low, schemas), CdcBytes::split);
        wrapped("cdc_split " + prefix + " snapshot open", serializer, start, CdcBytes::split);

        String states = source + "assigners.state.";
        Object pending = make(states + "PendingSplitsStateSerializer", serializer);
        List<Object> arguments = new ArrayList<>(List.of(List.of(other), List.of(start), Map.of("shop.orders:3", start),
                Map.of("shop.orders:3", low), true));
        if (!before22) arguments.set(4, Class.forName(source + "assigners.AssignerStatus").getEnumConstants()[2]);
        if (!oldest) {
            arguments.addAll(List.of(List.of(table), true, true));
        }
        Object state = make(states + "SnapshotPendingSplitsState", arguments.toArray());
        wrapped("cdc_enumerator " + prefix + " snapshot", pending, state, CdcBytes::pending);
        wrapped("cdc_enumerator " + prefix + " hybrid", pending, make(states + "HybridPendingSplitsState", state, false), CdcBytes::pending);
        wrapped("bytes_enumerator " + prefix + " stream", pending, make(states + "BinlogPendingSplitsState", true), CdcBytes::pending);
    }

    // ---- the other databases, on flink-cdc-base

    static void base(String database, String factory) throws Exception {
        String source = root + ".connectors.base.source.";
        Object offsets = make(root + ".connectors." + factory);
        // The source makes the one subclass of the abstract serializer, and uses nothing else when it is made.
        Object serializer = field(make(source + "IncrementalSource", null, null, offsets, null), "sourceSplitSerializer");
        Object low = call(offsets, "newOffset", offset(database));
        Object high = call(offsets, "createNoStoppingOffset");
        Object table = database.equals("postgres")
                ? make("io.debezium.relational.TableId", null, "public", "orders")
                : make("io.debezium.relational.TableId", "shop", database.equals("mongodb") ? null : "dbo", "orders");
        Object done = make(source + "meta.split.FinishedSnapshotSplitInfo", table, "orders:0", null, new Object[] {4096L}, low, offsets);
        Map<Object, Object> schemas = new LinkedHashMap<>(Map.of(table, change(table)));
        wrapped("cdc_split " + prefix + " stream", serializer, stream(source, low, high, List.of(done), schemas, 1), CdcBytes::split);
        wrapped("cdc_split " + prefix + " stream plain", serializer, stream(source, low, null, List.of(), Map.of(), 0), CdcBytes::split);
        RowType key = (RowType) DataTypes.ROW(DataTypes.FIELD("id", DataTypes.BIGINT().notNull())).notNull().getLogicalType();
        Object start = make(source + "meta.split.SnapshotSplit", table, "orders:1", key, new Object[] {1L}, new Object[] {4096L}, low, schemas);
        wrapped("cdc_split " + prefix + " snapshot", serializer, start, CdcBytes::split);

        String states = source + "assigner.state.";
        Object pending = make(states + "PendingSplitsStateSerializer", serializer);
        Object schemaless = call(start, "toSchemalessSnapshotSplit");
        Map<String, Object> assigned = new LinkedHashMap<>();
        assigned.put("orders:1", schemaless);
        Map<String, Object> finished = new LinkedHashMap<>();
        finished.put("orders:1", low);
        List<Object> arguments = new ArrayList<>(Arrays.asList(List.of(table), List.of(schemaless), assigned, schemas, finished, true,
                List.of(table), true, true));
        try {
            arguments.set(5, Class.forName(source + "assigner.AssignerStatus").getEnumConstants()[1]);
            Object bound = call(states + "ChunkSplitterState$ChunkBound", "middleOf", 12288L);
            arguments.add(new HashMap<>(Map.of("orders:1", 17L)));
            arguments.add(make(states + "ChunkSplitterState", table, bound, 4));
        } catch (ClassNotFoundException older) {
            // Until 2.4 a flag is where the status is now; 3.3 began the other two.
        }
        Object snapshot = make(states + "SnapshotPendingSplitsState", arguments.toArray());
        wrapped("cdc_enumerator " + prefix + " snapshot", pending, snapshot, CdcBytes::pending);
        wrapped("cdc_enumerator " + prefix + " hybrid", pending, make(states + "HybridPendingSplitsState", snapshot, true), CdcBytes::pending);
    }

    static Object stream(String source, Object low, Object high, List<?> done, Map<?, ?> schemas, int total) throws Exception {
        String name = source + "meta.split.StreamSplit";
        for (Object[] more : new Object[][] {{true, true}, {true}, {}}) {
            Object[] arguments = Arrays.copyOf(new Object[] {"stream-split", low, high, done, schemas, total}, 6 + more.length);
            System.arraycopy(more, 0, arguments, 6, more.length);
            try {
                return make(name, arguments);
            } catch (NoSuchMethodException older) {
                // An older version has fewer flags.
            }
        }
        throw new NoSuchMethodException(name);
    }

    static Map<String, String> offset(String database) {
        Map<String, String> map = new HashMap<>();
        switch (database) {
            case "postgres":
                map.put("lsn", "23876504");
                map.put("lsn_proc", "23876504");
                map.put("txId", "744");
                map.put("ts_usec", "1700000000000001");
                break;
            case "db2":
            case "sqlserver":
                map.put("change_lsn", "00000027:00000ac0:0002");
                map.put("commit_lsn", "00000027:00000ac0:0003");
                map.put("event_serial_no", "1");
                break;
            case "oracle":
                map.put("scn", "2868546");
                map.put("commit_scn", "2868547");
                map.put("lcr_position", null);
                break;
            default:
                map.put("timestamp", "7301443180000000001");
                map.put("resumeToken", "{\"_data\": \"826553\"}");
        }
        return map;
    }
}
