import java.io.Serializable;
import java.util.*;

/** Prints splits and enumerator state of the JDBC source. */
public class JdbcBytes extends Printing {
    public static void main(String[] args) throws Exception {
        String source = "org.apache.flink.connector.jdbc." + args[0] + "source.";
        Object offset = make(source + "split.CheckpointedOffset", 12L, 3L);
        Object split = make(source + "split.JdbcSourceSplit", "0000000001", "select * from orders where id between ? and ?",
                new Serializable[] {1L, "\u00e9"}, offset);
        Object plain = make(source + "split.JdbcSourceSplit", "0000000002", "select * from orders", null, make(source + "split.CheckpointedOffset"));
        Object splits = make(source + "split.JdbcSourceSplitSerializer");
        wrapped("jdbc_split " + args[1], splits, split, JdbcBytes::split);
        wrapped("jdbc_split " + args[1] + " plain", splits, plain, JdbcBytes::split);
        Object states = make(source + "enumerator.JdbcSourceEnumStateSerializer", splits);
        String state = source + "enumerator.JdbcSourceEnumeratorState";
        wrapped("jdbc_enumerator " + args[1], states, make(state, List.of(split), List.of(), List.of(plain), null), JdbcBytes::state);
        wrapped("bytes_enumerator jdbc " + args[1], states, make(state, List.of(), List.of(), List.of(), null), JdbcBytes::state);
    }

    static Object split(Object split) throws Exception {
        Object offset = call(split, "getCheckpointedOffset");
        Object[] parameters = (Object[]) call(split, "getParameters");
        StringJoiner text = new StringJoiner(",", "[", "]");
        if (parameters != null) for (Object p : parameters) text.add(p instanceof String ? '"' + (String) p + '"' : p.toString());
        return map("split_id", call(split, "splitId"), "sql", call(split, "getSqlTemplate"), "parameters", parameters == null ? null : text.toString(),
                "offset", call(offset, "getOffset"), "records_after_offset", call(offset, "getRecordsAfterOffset"));
    }

    static Object state(Object state) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        for (String kind : List.of("Completed", "Pending", "Remaining")) {
            List<Object> splits = new ArrayList<>();
            for (Object split : (List<?>) call(state, "get" + kind + "Splits")) splits.add(split(split));
            found.put(kind.toLowerCase() + "_splits", splits);
        }
        return found;
    }
}
