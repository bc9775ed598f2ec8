import java.util.*;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** Prints splits and enumerator state of older versions of Iceberg and Paimon, by reflection alone. */
public class LakesBytes extends Printing {
    public static void main(String[] args) throws Exception {
        if (args[0].equals("iceberg")) iceberg(args[1]);
        else paimon(args[1]);
    }

    static void iceberg(String version) throws Exception {
        String source = "org.apache.iceberg.flink.source.";
        Object split = call(source + "split.IcebergSourceSplit", "fromCombinedScanTask",
                make("org.apache.iceberg.BaseCombinedScanTask", List.of(task("s3://b/data/f1.parquet"))), 0, 12L);
        wrapped("bytes_split iceberg " + version, field(source + "split.IcebergSourceSplitSerializer", "INSTANCE"), split,
                value -> map("file_offset", call(value, "fileOffset"), "record_offset", call(value, "recordOffset")));
        Object states = field(source + "enumerator.IcebergEnumeratorStateSerializer", "INSTANCE");
        Object position = call(source + "enumerator.IcebergEnumeratorPosition", "of", 8123456789L, 1_700_000_000_000L);
        Object status = Class.forName(source + "split.IcebergSourceSplitStatus").getEnumConstants()[0];
        manifests(version);
        Object pending = make(source + "split.IcebergSourceSplitState", split, status);
        String state = source + "enumerator.IcebergEnumeratorState";
        wrapped("iceberg_enumerator " + version + " position", states, make(state, position, List.of()), LakesBytes::position);
        wrapped("bytes_enumerator iceberg " + version + " splits", states, make(state, position, List.of(pending)), LakesBytes::position);
    }

    /** What the old sink's committer keeps of a checkpoint; of version 1 only the manifest of data files. */
    static void manifests(String version) throws Exception {
        Object serializer = field("org.apache.iceberg.flink.sink.DeltaManifestsSerializer", "INSTANCE");
        Object manifests = make("org.apache.iceberg.flink.sink.DeltaManifests", manifest("s3://b/meta/m1.avro", 0), manifest("s3://b/meta/d1.avro", 1),
                new CharSequence[] {"s3://b/data/f1.parquet"});
        wrapped("iceberg_manifests " + version, serializer, manifests, LakesBytes::manifests);
        Object plain = make("org.apache.iceberg.flink.sink.DeltaManifests", manifest("s3://b/meta/m2.avro", 0), null, new CharSequence[0]);
        wrapped("iceberg_manifests " + version + " no deletes", serializer, plain, LakesBytes::manifests);
        wrapped("iceberg_manifests " + version + " version 1", new SimpleVersionedSerializer<Object>() {
            @Override
            public int getVersion() {
                return 1;
            }

            @Override
            public byte[] serialize(Object value) throws java.io.IOException {
                try {
                    return (byte[]) call("org.apache.iceberg.ManifestFiles", "encode", call(value, "dataManifest"));
                } catch (Exception e) {
                    throw new java.io.IOException(e);
                }
            }

            @Override
            public Object deserialize(int version, byte[] data) throws java.io.IOException {
                return ((SimpleVersionedSerializer<?>) serializer).deserialize(version, data);
            }
        }, plain, LakesBytes::manifests);
    }

    static Object manifest(String path, int content) throws Exception {
        Object[] contents = Class.forName("org.apache.iceberg.ManifestContent").getEnumConstants();
        return make("org.apache.iceberg.GenericManifestFile", path, 5511L, 0, contents[content], 7L, 7L, 8123456789L, 1, 50L, 0, 0L, 0, 0L, List.of(), null);
    }

    static Map<String, Object> manifests(Object manifests) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        for (String[] names : new String[][] {{"data_manifest", "dataManifest"}, {"delete_manifest", "deleteManifest"}}) {
            Object manifest = call(manifests, names[1]);
            found.put(names[0], manifest == null ? null : map("path", call(manifest, "path"), "length", call(manifest, "length"),
                    "avro", hex((byte[]) call("org.apache.iceberg.ManifestFiles", "encode", manifest))));
        }
        List<String> files = new ArrayList<>();
        for (CharSequence file : (CharSequence[]) call(manifests, "referencedDataFiles")) files.add(file.toString());
        found.put("referenced_data_files", files);
        return found;
    }

    static Object task(String path) throws Exception {
        Object spec = call("org.apache.iceberg.PartitionSpec", "unpartitioned");
        Object schema = make("org.apache.iceberg.Schema", List.of(call("org.apache.iceberg.types.Types$NestedField", "required", 1, "id",
                call("org.apache.iceberg.types.Types$LongType", "get"))));
        Object builder = call("org.apache.iceberg.DataFiles", "builder", spec);
        builder = call(call(call(builder, "withPath", path), "withFileSizeInBytes", 100L), "withRecordCount", 50L);
        Object format = Class.forName("org.apache.iceberg.FileFormat").getField("PARQUET").get(null);
        Object data = call(call(builder, "withFormat", format), "build");
        Object none = java.lang.reflect.Array.newInstance(Class.forName("org.apache.iceberg.DeleteFile"), 0);
        Object always = call("org.apache.iceberg.expressions.Expressions", "alwaysTrue");
        return make("org.apache.iceberg.BaseFileScanTask", data, none, call("org.apache.iceberg.SchemaParser", "toJson", schema),
                call("org.apache.iceberg.PartitionSpecParser", "toJson", spec),
                call("org.apache.iceberg.expressions.ResidualEvaluator", "unpartitioned", always));
    }

    static Object position(Object state) throws Exception {
        Object position = call(state, "lastEnumeratedPosition");
        return map("snapshot_id", call(position, "snapshotId"), "snapshot_ms", call(position, "snapshotTimestampMs"), "splits", List.of());
    }

    // ---- Paimon 0.8

    static void paimon(String version) throws Exception {
        String source = "org.apache.paimon.flink.source.";
        Object row = field("org.apache.paimon.data.BinaryRow", "EMPTY_ROW");
        Object builder = call("org.apache.paimon.table.source.DataSplit", "builder");
        builder = call(call(call(call(builder, "withSnapshot", 8L), "withPartition", row), "withBucket", 1), "withBucketPath", "/wh/t/bucket-1");
        Object data = call(call(call(builder, "withDataFiles", List.of(file(row))), "rawConvertible", true), "build");
        Object split = make(source + "FileStoreSourceSplit", "split-1", data, 17L);
        Object splits = make(source + "FileStoreSourceSplitSerializer");
        wrapped("bytes_split paimon " + version, splits, split, value -> map("split_id", call(value, "splitId")));
        Object pending = make(source + "PendingSplitsCheckpointSerializer", splits);
        wrapped("bytes_enumerator paimon " + version, pending, make(source + "PendingSplitsCheckpoint", List.of(split), 9L),
                value -> map("snapshot_id", call(value, "currentSnapshotId")));
        Object committable = make("org.apache.paimon.manifest.ManifestCommittable", 42L, 1_700_000_000_000L);
        String io = "org.apache.paimon.io.";
        Object increment = make(io + "DataIncrement", List.of(file(row)), List.of(), List.of());
        Object compact = make(io + "CompactIncrement", List.of(), List.of(), List.of());
        call(committable, "addFileCommittable", make("org.apache.paimon.table.sink.CommitMessageImpl", row, 1, increment, compact));
        Object wrapper = make("org.apache.paimon.flink.VersionedSerializerWrapper", make("org.apache.paimon.manifest.ManifestCommittableSerializer"));
        wrapped("bytes_manifest paimon " + version, wrapper, committable, value -> map("checkpoint_id", call(value, "identifier")));
    }

    static Object file(Object row) throws Exception {
        Object none = call("org.apache.paimon.data.BinaryArray", "fromLongArray", (Object) new Long[0]);
        Object empty = make("org.apache.paimon.stats.BinaryTableStats", row, row, none);
        return make("org.apache.paimon.io.DataFileMeta", "data-1.parquet", 1024L, 50L, row, row, empty, empty, 1L, 50L, 3L, 2, 0L, null);
    }
}
