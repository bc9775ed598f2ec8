import java.util.*;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.SimpleVersionedStringSerializer;

/** Prints buckets and committables of a file sink whose files are on a local disk, in Hadoop's file systems or in S3. */
public class FilesBytes extends Printing {
    static final String COMMON = "org.apache.flink.streaming.api.functions.sink.filesystem.OutputStreamBasedPartFileWriter$OutputStreamBased";
    static final String SINK = "org.apache.flink.connector.file.sink.";

    public static void main(String[] args) throws Exception {
        if (args[0].equals("s3")) s3();
        else {
            source();
            files();
        }
    }

    static void files() throws Exception {
        print("local", "org.apache.flink.core.fs.local.LocalRecoverableSerializer", make("org.apache.flink.core.fs.local.LocalRecoverable",
                new java.io.File("/out/b1/part-0"), new java.io.File("/out/b1/.part-0.inprogress"), 4711L));
        String hadoop = "org.apache.hadoop.fs.Path";
        print("hadoop", "org.apache.flink.runtime.fs.hdfs.HadoopRecoverableSerializer", make("org.apache.flink.runtime.fs.hdfs.HadoopFsRecoverable",
                make(hadoop, "hdfs://nn:8020/out/b1/part-0"), make(hadoop, "hdfs://nn:8020/out/b1/.part-0.inprogress"), 4711L));
    }

    static void source() throws Exception {
        String source = "org.apache.flink.connector.file.src.";
        Object splits = field(source + "FileSourceSplitSerializer", "INSTANCE");
        Object position = make(source + "util.CheckpointedPosition", 15L, 2L);
        Path path = new Path("hdfs://nn:8020/in/a \u00e9.csv");
        Object split = make(source + "FileSourceSplit", "0000000001", path, 10L, 20L, 1_700_000_000_000L, 99L, new String[] {"h1", "h2"}, position);
        wrapped("file_split 1.20", splits, split, FilesBytes::split);
        wrapped("file_split 1.20 new", splits, make(source + "FileSourceSplit", "0000000002", new Path("/in/b.csv"), 0L, 5L, 7L, 5L, new String[0], null),
                FilesBytes::split);
        wrapped("file_enumerator 1.20", make(source + "PendingSplitsCheckpointSerializer", splits),
                make(source + "PendingSplitsCheckpoint", List.of(split), List.of(path)),
                value -> map("splits", List.of(map("file_split", split(((Collection<?>) call(value, "getSplits")).iterator().next()))),
                        "processed_paths", List.of(((Collection<?>) call(value, "getAlreadyProcessedPaths")).iterator().next().toString())));
    }

    static Object split(Object split) throws Exception {
        Object position = field(split, "readerPosition");
        return map("id", call(split, "splitId"), "path", call(split, "path").toString(), "offset", call(split, "offset"), "length", call(split, "length"),
                "modification_ms", call(split, "fileModificationTime"), "file_size", call(split, "fileSize"),
                "hosts", Arrays.asList((String[]) call(split, "hostnames")),
                "reader_offset", position == null ? null : call(position, "getOffset"),
                "reader_records", position == null ? null : call(position, "getRecordsAfterOffset"));
    }

    /** Of S3 alone, because its classes are in another artifact. */
    static void s3() throws Exception {
        List<Object> parts = List.of(make("com.amazonaws.services.s3.model.PartETag", 1, "etag-1"), make("com.amazonaws.services.s3.model.PartETag", 2, "\u00e9tag-2"));
        String s3 = "org.apache.flink.fs.s3.common.writer.S3Recoverable";
        print("s3", s3 + "Serializer", make(s3, "out/b1/part-0", "upload-7", parts, 10485760L, "out/b1/_tmp_part-0", 77L));
        print("s3 whole", s3 + "Serializer", make(s3, "out/b1/part-0", "upload-7", List.of(), 0L, null, 0L));
    }

    static void print(String system, String serializer, Object recoverable) throws Exception {
        Object inner = field(serializer, "INSTANCE");
        Object inProgress = make(COMMON + "InProgressFileRecoverableSerializer", inner);
        Object pending = make(COMMON + "PendingFileRecoverableSerializer", inner);
        Object one = make(COMMON + "InProgressFileRecoverable", recoverable);
        Object done = make(COMMON + "PendingFileRecoverable", recoverable);
        Object buckets = make(SINK + "writer.FileWriterBucketStateSerializer", inProgress, SimpleVersionedStringSerializer.INSTANCE);
        wrapped("file_bucket " + system, buckets,
                make(SINK + "writer.FileWriterBucketState", "b1", new Path("/out/b1"), 1_700_000_000_000L, one, Map.of()),
                value -> map("bucket_id", field(value, "bucketId"), "path", field(value, "bucketPath").toString(),
                        "creation_ms", field(value, "inProgressFileCreationTime"),
                        "in_progress_file", file(call(field(value, "inProgressFileRecoverable"), "getResumeRecoverable"))));
        Object committables = make(SINK + "FileSinkCommittableSerializer", pending, inProgress);
        wrapped("file_committable " + system, committables, make(SINK + "FileSinkCommittable", "b1", done),
                value -> map("bucket_id", call(value, "getBucketId"), "pending_file", file(call(call(value, "getPendingFile"), "getCommitRecoverable")), "file_to_clean_up", null));
        wrapped("file_committable clean " + system, committables, make(SINK + "FileSinkCommittable", "b1", one),
                value -> map("bucket_id", call(value, "getBucketId"), "pending_file", null, "file_to_clean_up", file(call(call(value, "getInProgressFileToCleanup"), "getResumeRecoverable"))));
    }

    static Object file(Object recoverable) throws Exception {
        if (!recoverable.getClass().getSimpleName().startsWith("S3")) {
            String system = recoverable.getClass().getSimpleName().startsWith("Local") ? "local" : "hadoop";
            return map("file_system", system, "path", call(recoverable, "targetFile").toString(),
                    "temporary_path", call(recoverable, "tempFile").toString(), "length", call(recoverable, "offset"));
        }
        List<Object> parts = new ArrayList<>();
        for (Object part : (List<?>) call(recoverable, "parts")) {
            parts.add(map("number", call(part, "getPartNumber"), "etag", call(part, "getETag")));
        }
        return map("file_system", "s3", "path", call(recoverable, "getObjectName"), "upload_id", call(recoverable, "uploadId"),
                "parts", parts, "length", call(recoverable, "numBytesInParts"),
                "incomplete_object", call(recoverable, "incompleteObjectName"), "incomplete_length", call(recoverable, "incompleteObjectLength"));
    }
}
