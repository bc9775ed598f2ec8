import java.util.*;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.iceberg.*;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.types.Types;

/** Prints splits, enumerator state and committables of Iceberg. */
public class IcebergBytes extends Printing {
    static final String FLINK = "org.apache.iceberg.flink.";
    static final PartitionSpec SPEC = PartitionSpec.unpartitioned();
    static final Schema SCHEMA = new Schema(Types.NestedField.required(1, "id", Types.LongType.get()));

    public static void main(String[] args) throws Exception {
        Object splits = make(FLINK + "source.split.IcebergSourceSplitSerializer", true);
        wrapped("iceberg_split " + args[0], splits, split(1, 12L, "s3://b/data/f1.parquet", "s3://b/data/f\u00e92.parquet"), IcebergBytes::split);
        Object states = make(FLINK + "source.enumerator.IcebergEnumeratorStateSerializer", true);
        Object[] statuses = Class.forName(FLINK + "source.split.IcebergSourceSplitStatus").getEnumConstants();
        Object pending = make(FLINK + "source.split.IcebergSourceSplitState", split(0, 0L, "s3://b/data/f1.parquet"), statuses[0]);
        Object position = call(FLINK + "source.enumerator.IcebergEnumeratorPosition", "of", 8123456789L, 1_700_000_000_000L);
        String state = FLINK + "source.enumerator.IcebergEnumeratorState";
        wrapped("iceberg_enumerator " + args[0] + " splits", states, make(state, position, List.of(pending), new int[] {3, 1}), IcebergBytes::state);
        wrapped("iceberg_enumerator " + args[0] + " position", states, make(state, position, List.of(), new int[0]), IcebergBytes::state);
        wrapped("bytes_enumerator iceberg " + args[0] + " empty", states, make(state, null, List.of(), new int[0]), IcebergBytes::state);

        Object manifests = make(FLINK + "sink.DeltaManifests", manifest("s3://b/meta/m1.avro", 0), manifest("s3://b/meta/d1.avro", 1), new CharSequence[] {"s3://b/data/f1.parquet"});
        byte[] written = SimpleVersionedSerialization.writeVersionAndSerialize(
                (SimpleVersionedSerializer<Object>) field(FLINK + "sink.DeltaManifestsSerializer", "INSTANCE"), manifests);
        wrapped("iceberg_manifests " + args[0], field(FLINK + "sink.DeltaManifestsSerializer", "INSTANCE"), manifests, IcebergBytes::manifests);
        String committable = FLINK + "sink.IcebergCommittable";
        wrapped("iceberg_committable " + args[0], make(committable + "Serializer"),
                make(committable, written, "a".repeat(32), "0123456789abcdef0123456789abcdef", 42L), IcebergBytes::committable);
        wrapped("iceberg_committable " + args[0] + " empty", make(committable + "Serializer"),
                make(committable, new byte[0], "a".repeat(32), "0123456789abcdef0123456789abcdef", 42L), IcebergBytes::committable);
    }

    static Object split(int file, long record, String... paths) throws Exception {
        List<FileScanTask> tasks = new ArrayList<>();
        for (String path : paths) {
            DataFile data = DataFiles.builder(SPEC).withPath(path).withFormat(FileFormat.PARQUET).withFileSizeInBytes(100).withRecordCount(50).build();
            tasks.add((FileScanTask) make("org.apache.iceberg.BaseFileScanTask", data, new DeleteFile[0], SchemaParser.toJson(SCHEMA),
                    PartitionSpecParser.toJson(SPEC), ResidualEvaluator.unpartitioned(Expressions.alwaysTrue())));
        }
        return call(FLINK + "source.split.IcebergSourceSplit", "fromCombinedScanTask",
                make("org.apache.iceberg.BaseCombinedScanTask", tasks), file, record);
    }

    static Object manifest(String path, int content) throws Exception {
        Object[] contents = Class.forName("org.apache.iceberg.ManifestContent").getEnumConstants();
        return make("org.apache.iceberg.GenericManifestFile", path, 5511L, 0, contents[content], 7L, 7L, 8123456789L,
                List.of(), null, 1, 50L, 0, 0L, 0, 0L, null);
    }

    static Object split(Object split) throws Exception {
        List<Object> tasks = new ArrayList<>();
        for (Object task : (Collection<?>) call(call(split, "task"), "tasks")) {
            FileScanTask one = (FileScanTask) task;
            tasks.add(map("path", one.file().location(), "start", one.start(), "length", one.length(), "json", ScanTaskParser.toJson(one)));
        }
        return map("file_offset", call(split, "fileOffset"), "record_offset", call(split, "recordOffset"), "tasks", tasks);
    }

    static Object state(Object state) throws Exception {
        Object position = call(state, "lastEnumeratedPosition");
        List<Object> splits = new ArrayList<>();
        for (Object pending : (Collection<?>) call(state, "pendingSplits")) {
            Map<String, Object> split = (Map<String, Object>) split(call(pending, "split"));
            split.put("status", call(pending, "status").toString());
            splits.add(split);
        }
        List<Object> counts = new ArrayList<>();
        for (int count : (int[]) call(state, "enumerationSplitCountHistory")) counts.add(count);
        return map("snapshot_id", position == null ? null : call(position, "snapshotId"),
                "snapshot_ms", position == null ? null : call(position, "snapshotTimestampMs"), "splits", splits, "split_counts", counts);
    }

    static Object committable(Object committable) throws Exception {
        Map<String, Object> found = map("job_id", call(committable, "jobId"), "operator_id", call(committable, "operatorId"),
                "checkpoint_id", call(committable, "checkpointId"));
        byte[] written = (byte[]) call(committable, "manifest");
        if (written.length > 0) {
            Object manifests = SimpleVersionedSerialization.readVersionAndDeSerialize(
                    (SimpleVersionedSerializer<Object>) field(FLINK + "sink.DeltaManifestsSerializer", "INSTANCE"), written);
            found.putAll(manifests(manifests));
        }
        return found;
    }

    static Map<String, Object> manifests(Object manifests) throws Exception {
        List<String> files = new ArrayList<>();
        for (CharSequence file : (CharSequence[]) call(manifests, "referencedDataFiles")) files.add(file.toString());
        return map("data_manifest", manifest(call(manifests, "dataManifest")), "delete_manifest", manifest(call(manifests, "deleteManifest")),
                "referenced_data_files", files);
    }

    static Object manifest(Object manifest) throws Exception {
        ManifestFile file = (ManifestFile) manifest;
        return map("path", file.path(), "length", file.length(), "avro", hex(ManifestFiles.encode(file)));
    }
}
