import java.util.*;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryRowWriter;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.DeletionFile;

/** Prints splits, enumerator state and committables of Paimon. */
public class PaimonBytes extends Printing {
    static final String FLINK = "org.apache.paimon.flink.";

    public static void main(String[] args) throws Exception {
        Object splits = make(FLINK + "source.FileStoreSourceSplitSerializer");
        Object split = make(FLINK + "source.FileStoreSourceSplit", "split-1", split(), 17L);
        wrapped("paimon_split " + args[0], splits, split, PaimonBytes::split);
        Object pending = make(FLINK + "source.PendingSplitsCheckpointSerializer", splits);
        wrapped("paimon_enumerator " + args[0], pending,
                make(FLINK + "source.PendingSplitsCheckpoint", List.of(split), 9L), PaimonBytes::pending);
        wrapped("bytes_enumerator paimon " + args[0], pending,
                make(FLINK + "source.PendingSplitsCheckpoint", List.of(), null), PaimonBytes::pending);

        ManifestCommittable committable = new ManifestCommittable(42L, 1_700_000_000_000L);
        call(committable, "addFileCommittable", message());
        Object wrapper = make(FLINK + "VersionedSerializerWrapper", make("org.apache.paimon.manifest.ManifestCommittableSerializer"));
        wrapped("paimon_manifest " + args[0], wrapper, committable, PaimonBytes::manifest);
    }

    static BinaryRow partition() {
        BinaryRow row = new BinaryRow(1);
        BinaryRowWriter writer = new BinaryRowWriter(row);
        writer.writeString(0, BinaryString.fromString("2024-01-01"));
        writer.complete();
        return row;
    }

    static DataFileMeta file(String name) throws Exception {
        Object empty = field("org.apache.paimon.stats.SimpleStats", "EMPTY_STATS");
        Object[] head = {name, 1024L, 50L, partition(), partition(), empty, empty, 1L, 50L, 3L, 2};
        for (java.lang.reflect.Constructor<?> constructor : DataFileMeta.class.getDeclaredConstructors()) {
            Class<?>[] types = constructor.getParameterTypes();
            if (types.length < 17 || types[4] != BinaryRow.class) continue;
            Object[] arguments = Arrays.copyOf(head, types.length);
            for (int i = head.length; i < types.length; i++) {
                if (types[i] == List.class) arguments[i] = i == 11 ? List.of() : null;
                if (types[i] == org.apache.paimon.data.Timestamp.class) arguments[i] = org.apache.paimon.data.Timestamp.fromEpochMillis(1_700_000_000_000L);
            }
            constructor.setAccessible(true);
            return (DataFileMeta) constructor.newInstance(arguments);
        }
        throw new NoSuchMethodException("DataFileMeta");
    }

    static DataSplit split() throws Exception {
        return DataSplit.builder().withSnapshot(8L).withPartition(partition()).withBucket(1).withBucketPath("/wh/t/bucket-1").withTotalBuckets(4)
                .withDataFiles(List.of(file("data-1.parquet"), file("d\u00e4ta-2.parquet")))
                .withDataDeletionFiles(Arrays.asList(new DeletionFile("/wh/t/index/i-1", 10L, 20L, 5L), null))
                .isStreaming(true).rawConvertible(false).build();
    }

    static CommitMessage message() throws Exception {
        Object increment = make("org.apache.paimon.io.DataIncrement", List.of(file("data-3.parquet")), List.of(), List.of(file("log-3.parquet")));
        Object compact = make("org.apache.paimon.io.CompactIncrement", List.of(file("data-1.parquet")), List.of(file("data-4.parquet")), List.of());
        Object index = make("org.apache.paimon.io.IndexIncrement", List.of(make("org.apache.paimon.index.IndexFileMeta", "HASH", "index-1", 40L, 10L)));
        return (CommitMessage) make("org.apache.paimon.table.sink.CommitMessageImpl", partition(), 1, 4, increment, compact, index);
    }

    static Object split(Object value) throws Exception {
        DataSplit split = (DataSplit) call(value, "split");
        List<Object> deletions = new ArrayList<>();
        for (DeletionFile file : split.deletionFiles().get()) {
            deletions.add(file == null ? null : map("path", file.path(), "offset", file.offset(), "length", file.length(), "cardinality", file.cardinality()));
        }
        return map("split_id", call(value, "splitId"), "snapshot_id", split.snapshotId(), "partition", row(split.partition()), "bucket", split.bucket(),
                "bucket_path", split.bucketPath(), "total_buckets", split.totalBuckets(), "before_files", files(split.beforeFiles()),
                "data_files", files(split.dataFiles()), "data_deletion_files", deletions, "streaming", split.isStreaming(),
                "raw_convertible", split.rawConvertible(), "records_to_skip", call(value, "recordsToSkip"));
    }

    static Object pending(Object value) throws Exception {
        List<Object> splits = new ArrayList<>();
        for (Object split : (Collection<?>) call(value, "splits")) splits.add(split(split));
        return map("splits", splits, "snapshot_id", call(value, "currentSnapshotId"));
    }

    static Object manifest(Object value) throws Exception {
        List<Object> messages = new ArrayList<>();
        for (Object message : (List<?>) call(value, "fileCommittables")) {
            Object data = call(message, "newFilesIncrement");
            Object compact = call(message, "compactIncrement");
            Object index = call(message, "indexIncrement");
            messages.add(map("partition", row((BinaryRow) call(message, "partition")), "bucket", call(message, "bucket"), "total_buckets", call(message, "totalBuckets"),
                    "new_files", files(call(data, "newFiles")), "deleted_files", files(call(data, "deletedFiles")), "changelog_files", files(call(data, "changelogFiles")),
                    "compacted_before", files(call(compact, "compactBefore")), "compacted_after", files(call(compact, "compactAfter")),
                    "compacted_changelog_files", files(call(compact, "changelogFiles")),
                    "new_index_files", indexes(call(index, "newIndexFiles")), "deleted_index_files", indexes(call(index, "deletedIndexFiles"))));
        }
        List<Object> properties = new ArrayList<>();
        return map("checkpoint_id", call(value, "identifier"), "watermark_ms", call(value, "watermark"), "log_offsets", List.of(),
                "properties", properties, "messages", messages);
    }

    static List<Object> files(Object files) throws Exception {
        List<Object> found = new ArrayList<>();
        for (Object file : (List<?>) files) {
            found.add(map("file_name", call(file, "fileName"), "file_size", call(file, "fileSize"), "row_count", call(file, "rowCount"),
                    "min_sequence_number", call(file, "minSequenceNumber"), "max_sequence_number", call(file, "maxSequenceNumber"),
                    "schema_id", call(file, "schemaId"), "level", call(file, "level")));
        }
        return found;
    }

    static List<Object> indexes(Object files) throws Exception {
        List<Object> found = new ArrayList<>();
        for (Object file : (List<?>) files) {
            found.add(map("index_type", call(file, "indexType"), "file_name", call(file, "fileName"), "file_size", call(file, "fileSize"),
                    "row_count", call(file, "rowCount")));
        }
        return found;
    }

    static String row(BinaryRow row) {
        return hex(org.apache.paimon.utils.SerializationUtils.serializeBinaryRow(row));
    }
}
