import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toList;

import java.util.*;

/** Values of Flink CDC's classes as JSON has them. */
class CdcValues extends Printing {
    /** The package of the version: com.ververica.cdc until 3.0, then org.apache.flink.cdc. */
    static String root;

    static String prefix;

    static Object new_offset(String type, String... pairs) throws Exception {
        Map<String, String> map = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) map.put(pairs[i], pairs[i + 1]);
        return make(type, map);
    }

    /** A table of two columns, as the connector's schemas describe it. */
    static Object change(Object table) throws Exception {
        Object id = ((io.debezium.relational.ColumnEditor) io.debezium.relational.Column.editor())
                .name("id").type("BIGINT").jdbcType(-5).optional(false).position(1).create();
        Object created = io.debezium.relational.Table.editor().tableId((io.debezium.relational.TableId) table)
                .addColumns((io.debezium.relational.Column) id).setPrimaryKeyNames("id").create();
        Object[] types = Class.forName("io.debezium.relational.history.TableChanges$TableChangeType").getEnumConstants();
        return make("io.debezium.relational.history.TableChanges$TableChange", types[0], created);
    }

    static Object split(Object split) throws Exception {
        boolean snapshot = split.getClass().getName().endsWith("SnapshotSplit");
        Map<String, Object> found = map("kind", snapshot ? "snapshot" : "stream", "split_id", call(split, "splitId"));
        if (snapshot) {
            found.put("table", quoted(call(split, "getTableId")));
            found.put("key_type", call(call(split, "getSplitKeyType"), "asSerializableString"));
            found.put("split_start", row(call(split, "getSplitStart")));
            found.put("split_end", row(call(split, "getSplitEnd")));
            found.put("high_watermark", offset(call(split, "getHighWatermark")));
        } else {
            found.put("start", offset(call(split, "getStartingOffset")));
            found.put("end", offset(call(split, "getEndingOffset")));
            List<Object> finished = new ArrayList<>();
            for (Object info : (List<?>) call(split, "getFinishedSnapshotSplitInfos")) {
                finished.add(map("table", quoted(call(info, "getTableId")), "split_id", call(info, "getSplitId"),
                        "split_start", row(call(info, "getSplitStart")), "split_end", row(call(info, "getSplitEnd")),
                        "high_watermark", offset(call(info, "getHighWatermark"))));
            }
            found.put("finished_splits", finished);
            try {
                found.put("finished_splits_in_all", call(split, "getTotalFinishedSplitSize"));
            } catch (NoSuchMethodException older) {
                found.put("finished_splits_in_all", finished.size());
            }
            for (String flag : List.of("isSuspended", "isSnapshotCompleted")) {
                try {
                    found.put(flag.equals("isSuspended") ? "suspended" : "snapshot_completed", call(split, flag));
                } catch (NoSuchMethodException older) {
                    // The version has no such flag.
                }
            }
        }
        found.put("tables", tables(call(split, "getTableSchemas")));
        return found;
    }

    static Object pending(Object state) throws Exception {
        String name = state.getClass().getSimpleName();
        if (name.startsWith("Binlog")) return map("kind", "stream", "stream_split_assigned", call(state, "isBinlogSplitAssigned"));
        if (name.startsWith("Hybrid")) {
            Map<String, Object> found = (Map<String, Object>) pending(call(state, "getSnapshotPendingSplits"));
            found.put("kind", "hybrid");
            String mysql = state.getClass().getName().contains(".mysql.") ? "isBinlogSplitAssigned" : "isStreamSplitAssigned";
            found.put("stream_split_assigned", call(state, mysql));
            return found;
        }
        Map<String, Object> found = map("kind", "snapshot");
        found.put("processed_tables", all(call(state, "getAlreadyProcessedTables")));
        List<Object> remaining = new ArrayList<>();
        for (Object split : (Collection<?>) call(state, "getRemainingSplits")) remaining.add(schemaless(split));
        found.put("remaining_splits", remaining);
        List<Object> assigned = new ArrayList<>();
        for (Object split : ((Map<?, ?>) call(state, "getAssignedSplits")).values()) assigned.add(schemaless(split));
        found.put("assigned_splits", assigned);
        List<Object> offsets = new ArrayList<>();
        for (Map.Entry<?, ?> e : ((Map<?, ?>) call(state, "getSplitFinishedOffsets")).entrySet()) {
            offsets.add(map("split_id", e.getKey(), "offset", offset(e.getValue())));
        }
        found.put("finished_offsets", offsets);
        try {
            found.put("status", call(state, "getSnapshotAssignerStatus").toString());
        } catch (NoSuchMethodException flag) {
            found.put("status", (boolean) call(state, "isAssignerFinished") ? "INITIAL_ASSIGNING_FINISHED" : "INITIAL_ASSIGNING");
        }
        try {
            found.put("remaining_tables", all(call(state, "getRemainingTables")));
            found.put("table_ids_case_sensitive", call(state, "isTableIdCaseSensitive"));
            found.put("tables", tables(call(state, "getTableSchemas")));
        } catch (NoSuchMethodException older) {
            // Version 3 of MySQL's began the first two, version 4 the last.
        }
        try {
            List<Object> finished = new ArrayList<>();
            for (Map.Entry<?, ?> e : ((Map<?, ?>) call(state, "getSplitFinishedCheckpointIds")).entrySet()) {
                finished.add(map("split_id", e.getKey(), "checkpoint_id", e.getValue()));
            }
            found.put("finished_checkpoints", finished);
        } catch (NoSuchMethodException older) {
            // Version 7 of the base began them.
        }
        try {
            Object chunks = call(state, "getChunkSplitterState");
            Object table = call(chunks, "getCurrentSplittingTableId");
            if (table != null) {
                found.put("splitting_table", quoted(table));
                found.put("next_chunk_start", row(new Object[] {call(call(chunks, "getNextChunkStart"), "getValue")}));
                found.put("next_chunk_id", call(chunks, "getNextChunkId"));
            }
        } catch (NoSuchMethodException older) {
            // Version 5 of MySQL's and version 8 of the base began it.
        }
        return found;
    }

    private static Object schemaless(Object split) throws Exception {
        Map<String, Object> found = (Map<String, Object>) split(split);
        found.keySet().removeAll(Set.of("tables", "kind"));
        return found;
    }

    static String row(Object row) {
        if (row == null) return null;
        return Arrays.stream((Object[]) row).map(v -> v instanceof String ? '"' + (String) v + '"' : v.toString()).collect(joining(",", "[", "]"));
    }

    static String quoted(Object table) {
        return ((io.debezium.relational.TableId) table).toString();
    }

    static List<String> all(Object tables) {
        return ((Collection<?>) tables).stream().map(CdcValues::quoted).collect(toList());
    }

    static List<String> tables(Object schemas) {
        return ((Map<?, ?>) schemas).keySet().stream().map(CdcValues::quoted).collect(toList());
    }

    static Object offset(Object offset) throws Exception {
        if (offset == null) return null;
        try {
            return new TreeMap<>((Map<?, ?>) call(offset, "getOffset"));
        } catch (NoSuchMethodException older) {
            return map("file", call(offset, "getFilename"), "position", call(offset, "getPosition")); // no map in 2.0.0
        }
    }
}
