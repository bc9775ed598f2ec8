package golden;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.types.Row;

/** One query of the SQL job, and what the operators that it becomes keep of the tables' rows. */
final class SqlQuery {
    /** Also the name of the table that it is inserted into. */
    final String name;

    final String sql;

    /** States by the kind of the operator's node in the compiled plan. */
    final Map<String, List<Model.State>> states = new LinkedHashMap<>();

    /** The operator's union list {@code watermark}: every subtask has this. */
    Long watermark;

    SqlQuery(String name, String sql) {
        this.name = name;
        this.sql = sql;
    }

    SqlQuery keeps(String node, Model.State... kept) {
        states.computeIfAbsent(node, k -> new ArrayList<>()).addAll(Arrays.asList(kept));
        return this;
    }

    /** The timers of an operator, of which those in event time are given. */
    SqlQuery timers(String node, String service, Model.State event) {
        return keeps(node, event, new Model.State("_timer_state/processing_" + service, "TIMERS"));
    }

    SqlQuery timers(String node, String service) {
        return timers(node, service, eventTimers(service));
    }

    SqlQuery watermark(long millis) {
        watermark = millis;
        return this;
    }

    static Model.State eventTimers(String service) {
        return new Model.State("_timer_state/event_" + service, "TIMERS");
    }

    /** A state with a row for each key. */
    static Model.State state(String name, String kind, Map<?, ?> rows) {
        Model.State out = new Model.State(name, kind);
        rows.forEach((key, value) -> {
            boolean nothing = value == null || value instanceof Map && ((Map<?, ?>) value).isEmpty();
            if (!nothing) {
                out.rows.add(new Model.Row(key, null, value));
            }
        });
        return out;
    }

    static Model.State value(String name, Map<?, ?> rows) {
        return state(name, "VALUE", rows);
    }

    static Model.State map(String name, Map<?, ?> rows) {
        return state(name, "MAP", rows);
    }

    /** A fold of the rows of each key. */
    static <T> Map<Row, T> each(Map<Row, List<Row>> groups, java.util.function.Function<List<Row>, T> fold) {
        Map<Row, T> out = new LinkedHashMap<>();
        groups.forEach((key, rows) -> out.put(key, fold.apply(rows)));
        return out;
    }
}
