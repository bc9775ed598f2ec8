import java.util.*;

/** Prints the buffer of an asynchronous sink. */
public class QueuesBytes extends Printing {
    public static void main(String[] args) throws Exception {
        String version = args[0];
        Object request = make("org.apache.flink.connector.base.sink.writer.RequestEntryWrapper", "abc", 3L);
        Object buffer = make("org.apache.flink.connector.base.sink.writer.BufferedRequestState", List.of(request, request));
        wrapped("async_writer " + version, new Texts(), buffer, value -> map("requests", ((List<?>) call(value, "getBufferedRequestEntries")).size(),
                "data", "0000000000000003616263".repeat(2)));
        wrapped("async_writer " + version + " empty", new Texts(), make("org.apache.flink.connector.base.sink.writer.BufferedRequestState", List.of()),
                value -> map("requests", 0, "data", ""));
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
