import java.util.*;

/** Prints the buffer of an asynchronous sink. */
public class QueuesBytes extends Printing {
    public static void main(String[] args) throws Exception {
        String version = args[0];
        if (version.startsWith("kinesis")) {
            kinesis(version);
            return;
        }
        Object request = make("org.apache.flink.connector.base.sink.writer.RequestEntryWrapper", "abc", 3L);
        Object buffer = make("org.apache.flink.connector.base.sink.writer.BufferedRequestState", List.of(request, request));
        wrapped("async_writer " + version, new Texts(), buffer, value -> map("requests", ((List<?>) call(value, "getBufferedRequestEntries")).size(),
                "data", "0000000000000003616263".repeat(2)));
        wrapped("async_writer " + version + " empty", new Texts(), make("org.apache.flink.connector.base.sink.writer.BufferedRequestState", List.of()),
                value -> map("requests", 0, "data", ""));
    }

    /** The sink of Kinesis: the bytes and the key of a record. */
    static void kinesis(String version) throws Exception {
        List<Object> requests = new ArrayList<>();
        for (String key : new String[] {"a", "b"}) {
            Object record = call(call("software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry", "builder"), "partitionKey", key);
            record = call(call(record, "data", call("software.amazon.awssdk.core.SdkBytes", "fromUtf8String", "order " + key)), "build");
            requests.add(make("org.apache.flink.connector.base.sink.writer.RequestEntryWrapper", record, 7L));
        }
        Object buffer = make("org.apache.flink.connector.base.sink.writer.BufferedRequestState", requests);
        Object writer = make("org.apache.flink.connector.kinesis.sink.KinesisStreamsStateSerializer");
        wrapped("async_writer " + version, writer, buffer,
                value -> map("requests", ((List<?>) call(value, "getBufferedRequestEntries")).size(), "data", records()));
    }

    /** Each record: the length of its data, the data, the length of its key, the key. */
    static String records() throws Exception {
        java.io.ByteArrayOutputStream data = new java.io.ByteArrayOutputStream();
        java.io.DataOutputStream out = new java.io.DataOutputStream(data);
        for (String key : new String[] {"a", "b"}) {
            out.writeLong(7);
            out.writeBytes("order " + key);
            out.writeInt(1);
            out.writeBytes(key);
        }
        return hex(data.toByteArray());
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
}
