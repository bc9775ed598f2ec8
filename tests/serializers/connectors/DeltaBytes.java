import java.util.*;
import org.apache.flink.core.fs.Path;

/** Prints what Delta Lake's source and sink keep. */
public class DeltaBytes extends Printing {
    static final String FLINK = "io.delta.flink.";
    static final String APP = "0b2d6c0e-3f49-4b6c-9a51-8d1c2f3e4a5b";

    public static void main(String[] args) throws Exception {
        String version = args[0], state = FLINK + "source.internal.state.", files = "org.apache.flink.connector.file.src.";
        Object splits = field(state + "DeltaSourceSplitSerializer", "INSTANCE");
        Object position = make(files + "util.CheckpointedPosition", 15L, 2L);
        Map<String, String> partition = new LinkedHashMap<>();
        partition.put("day", "2024-01-01");
        partition.put("note", null);
        Object split = make(state + "DeltaSourceSplit", partition, "1", new Path("s3://b/t/day=1/f\u00e91.parquet"), 0L, 1000L, new String[] {"h1"}, position);
        Object plain = make(state + "DeltaSourceSplit", Map.of(), "2", new Path("s3://b/t/f2.parquet"), 0L, 500L, new String[0], null);
        wrapped("delta_split " + version, splits, split, DeltaBytes::split);
        wrapped("delta_split " + version + " no partition", splits, plain, DeltaBytes::split);
        Object states = make(state + "DeltaPendingSplitsCheckpointSerializer", splits);
        for (boolean monitors : new boolean[] {true, false}) {
            Object pending = make(files + "PendingSplitsCheckpoint", monitors ? List.of(split, plain) : List.of(),
                    monitors ? List.of(new Path("s3://b/t/f0.parquet")) : List.of());
            wrapped("delta_enumerator " + version + (monitors ? "" : " empty"), states,
                    make(state + "DeltaEnumeratorStateCheckpoint", new Path("s3://b/t"), 42L, monitors, pending), DeltaBytes::state);
        }

        String sink = FLINK + "sink.internal.";
        wrapped("delta_bucket " + version, make(sink + "writer.DeltaWriterBucketStateSerializer"),
                make(sink + "writer.DeltaWriterBucketState", "day=2024-01-01", new Path("/out/day=2024-01-01"), APP),
                value -> map("bucket_id", call(value, "getBucketId"), "path", call(value, "getBucketPath").toString(), "app_id", call(value, "getAppId")));
        String common = "org.apache.flink.streaming.api.functions.sink.filesystem.OutputStreamBasedPartFileWriter$OutputStreamBasedPendingFileRecoverable";
        Object recoverable = make("org.apache.flink.core.fs.local.LocalRecoverable", new java.io.File("/out/b1/part-0"), new java.io.File("/out/b1/.part-0.tmp"), 4711L);
        LinkedHashMap<String, String> day = new LinkedHashMap<>(Map.of("day", "2024-01-01"));
        Object file = make("org.apache.flink.streaming.api.functions.sink.filesystem.DeltaPendingFile", day, "part-0.parquet",
                make(common, recoverable), 50L, 4711L, 1_700_000_000_123L);
        Object committables = make(sink + "committables.DeltaCommittableSerializer",
                make(common + "Serializer", field("org.apache.flink.core.fs.local.LocalRecoverableSerializer", "INSTANCE")));
        wrapped("delta_committable " + version, committables, make(sink + "committables.DeltaCommittable", file, APP, 7L), DeltaBytes::committable);
    }

    static Map<String, Object> split(Object split) throws Exception {
        Object position = field(split, "readerPosition");
        return map("id", call(split, "splitId"), "path", call(split, "path").toString(), "offset", call(split, "offset"), "length", call(split, "length"),
                "modification_ms", call(split, "fileModificationTime"), "file_size", call(split, "fileSize"),
                "hosts", Arrays.asList((String[]) call(split, "hostnames")),
                "reader_offset", position == null ? null : call(position, "getOffset"),
                "reader_records", position == null ? null : call(position, "getRecordsAfterOffset"),
                "partition", pairs((Map<?, ?>) call(split, "getPartitionValues")));
    }

    static Object state(Object state) throws Exception {
        List<Object> splits = new ArrayList<>(), paths = new ArrayList<>();
        for (Object split : (Collection<?>) call(state, "getSplits")) splits.add(map("delta_split", split(split)));
        for (Object path : (Collection<?>) call(state, "getAlreadyProcessedPaths")) paths.add(path.toString());
        return map("table_path", call(state, "getDeltaTablePath").toString(), "table_version", call(state, "getSnapshotVersion"),
                "monitors_changes", call(state, "isMonitoringForChanges"), "splits", splits, "processed_paths", paths);
    }

    static Object committable(Object committable) throws Exception {
        Object file = call(committable, "getDeltaPendingFile"), recoverable = call(call(file, "getPendingFile"), "getCommitRecoverable");
        return map("app_id", call(committable, "getAppId"), "checkpoint_id", call(committable, "getCheckpointId"),
                "partition", pairs((Map<?, ?>) call(file, "getPartitionSpec")), "file_name", call(file, "getFileName"),
                "records", call(file, "getRecordCount"), "size", call(file, "getFileSize"), "modification_ms", call(file, "getLastUpdateTime"),
                "pending_file", map("file_system", "local", "path", call(recoverable, "targetFile").toString(),
                        "temporary_path", call(recoverable, "tempFile").toString(), "length", call(recoverable, "offset")));
    }

    static List<Object> pairs(Map<?, ?> map) {
        List<Object> pairs = new ArrayList<>();
        for (Map.Entry<?, ?> entry : map.entrySet()) pairs.add(Arrays.asList(entry.getKey(), entry.getValue()));
        return pairs;
    }
}
