import java.util.*;

/** Prints the buffer of an asynchronous sink. */
public class QueuesBytes extends Printing {
    public static void main(String[] args) throws Exception {
        String version = args[0];
        if (args.length > 1) {
            sink(args[0] + " " + args[1]);
            return;
        }
        Object request = make("org.apache.flink.connector.base.sink.writer.RequestEntryWrapper", "abc", 3L);
        Object buffer = make("org.apache.flink.connector.base.sink.writer.BufferedRequestState", List.of(request, request));
        wrapped("async_writer " + version, new Texts(), buffer, value -> map("requests", ((List<?>) call(value, "getBufferedRequestEntries")).size(),
                "data", "0000000000000003616263".repeat(2)));
        wrapped("async_writer " + version + " empty", new Texts(), make("org.apache.flink.connector.base.sink.writer.BufferedRequestState", List.of()),
                value -> map("requests", 0, "data", ""));
    }

    /** A sink with its own class of requests. */
    static void sink(String name) throws Exception {
        String connector = "org.apache.flink.connector.", sdk = "software.amazon.awssdk.", models = sdk + "services.";
        String serializer = name.startsWith("kinesis") ? "kinesis.sink.KinesisStreamsStateSerializer"
                : name.startsWith("firehose") ? "firehose.sink.KinesisFirehoseStateSerializer" : "dynamodb.sink.DynamoDbWriterStateSerializer";
        Object writer = make(connector + serializer);
        java.io.ByteArrayOutputStream data = new java.io.ByteArrayOutputStream();
        java.io.DataOutputStream out = new java.io.DataOutputStream(data);
        List<Object> requests = new ArrayList<>();
        for (String key : new String[] {"a", "b"}) {
            Object content = call(sdk + "core.SdkBytes", "fromUtf8String", "order " + key), request;
            if (name.startsWith("kinesis")) {
                request = call(call(models + "kinesis.model.PutRecordsRequestEntry", "builder"), "partitionKey", key);
                request = call(call(request, "data", content), "build");
            } else if (name.startsWith("firehose")) {
                request = call(call(call(models + "firehose.model.Record", "builder"), "data", content), "build");
            } else {
                Object attribute = call(models + "dynamodb.model.AttributeValue", "fromS", "order " + key);
                request = call(call(connector + "dynamodb.sink.DynamoDbWriteRequest", "builder"), "setItem", Map.of("id", attribute));
                Object put = Class.forName(connector + "dynamodb.sink.DynamoDbWriteRequestType").getEnumConstants()[0];
                request = call(call(request, "setType", put), "build");
            }
            requests.add(make(connector + "base.sink.writer.RequestEntryWrapper", request, 7L));
            out.writeLong(7);
            call(writer, "serializeRequestToStream", request, out);
        }
        wrapped("async_writer " + name, writer, make(connector + "base.sink.writer.BufferedRequestState", requests),
                value -> map("requests", ((List<?>) call(value, "getBufferedRequestEntries")).size(), "data", hex(data.toByteArray())));
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
