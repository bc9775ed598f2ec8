import co.elastic.clients.elasticsearch.core.bulk.DeleteOperation;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.*;

/** Prints the buffer of Elasticsearch 8's sink. */
public class ElasticBytes extends Printing {
    static final String SINK = "org.apache.flink.connector.elasticsearch.sink.";

    public static void main(String[] args) throws Exception {
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(data);
        List<Object> requests = new ArrayList<>();
        for (String id : new String[] {"order-1", "order-22"}) {
            Object operation = make(SINK + "Operation", DeleteOperation.of(delete -> delete.index("orders").id(id)));
            Object writer = make(SINK + "OperationSerializer");
            long size = ((Integer) call(writer, "size", operation)).longValue();
            requests.add(make("org.apache.flink.connector.base.sink.writer.RequestEntryWrapper", operation, size));
            out.writeLong(size);
            call(writer, "serialize", operation, out);
        }
        Object buffer = make("org.apache.flink.connector.base.sink.writer.BufferedRequestState", requests);
        wrapped("async_writer elasticsearch " + args[0], make(SINK + "Elasticsearch8AsyncSinkSerializer"), buffer,
                value -> map("requests", ((List<?>) call(value, "getBufferedRequestEntries")).size(), "data", hex(data.toByteArray())));
    }
}
