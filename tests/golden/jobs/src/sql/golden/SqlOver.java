package golden;

import static golden.SqlQuery.each;
import static golden.SqlQuery.map;
import static golden.SqlQuery.value;
import static golden.SqlTables.BUYS;
import static golden.SqlTables.WATERMARK;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import org.apache.flink.types.Row;

/** Aggregates of the rows around each row. */
final class SqlOver {
    private SqlOver() {}

    private static final String NODE = "over-aggregate";
    private static final String[] SEEN = {"buy", "city", "amount", "stamp"};

    static List<SqlQuery> queries() {
        return Arrays.asList(rows(), range(), all());
    }

    /** What one key has at the end. */
    private static final class Window {
        final TreeMap<Long, List<Row>> input = new TreeMap<>();
        final TreeSet<Long> timers = new TreeSet<>();
        Row accumulators;
        Long lastTriggering;
        Long count;
        Long cleanup;
    }

    private static List<Row> past(List<Row> rows) {
        List<Row> out = new ArrayList<>(rows);
        out.removeIf(row -> SqlJoins.millis(BUYS, row) > WATERMARK);
        return out;
    }

    private static BigDecimal sum(List<Row> rows) {
        return BUYS.<BigDecimal>values(rows, "amount").stream().reduce(BigDecimal.ZERO, BigDecimal::add);
    }

    private static void keep(Window window, List<Row> rows) {
        for (Row row : rows) {
            window.input.computeIfAbsent(SqlJoins.millis(BUYS, row), t -> new ArrayList<>()).add(BUYS.only(row, SEEN));
        }
    }

    private static void wait(Window window, List<Row> rows) {
        for (Row row : rows.subList(past(rows).size(), rows.size())) {
            window.timers.add(SqlJoins.millis(BUYS, row));
        }
    }

    /** The last three rows that the watermark has passed stay, with what waits for it. */
    private static SqlQuery rows() {
        Map<Row, Window> windows = each(BUYS.by("city"), rows -> {
            Window out = new Window();
            int past = past(rows).size();
            int kept = Math.min(3, past);
            keep(out, rows.subList(past - kept, rows.size()));
            wait(out, rows);
            List<Row> last = rows.subList(past - kept, past);
            out.accumulators = Row.of((long) kept, sum(last), (long) kept);
            out.count = (long) kept;
            out.lastTriggering = SqlJoins.millis(BUYS, rows.get(past - 1));
            return out;
        });
        SqlQuery out = new SqlQuery("over_rows", "SELECT buy, SUM(amount) OVER (PARTITION BY city ORDER BY stamp"
                + " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM buys");
        out.keeps(NODE, value("processedCountState", of(windows, window -> window.count)));
        return kept(out, windows);
    }

    private static SqlQuery kept(SqlQuery out, Map<Row, Window> windows) {
        Model.State timers = SqlQuery.eventTimers("user-timers");
        windows.forEach((key, window) -> window.timers.forEach(at -> timers.rows.add(new Model.Row(key, null, at))));
        return out.keeps(NODE,
                        value("accState", of(windows, window -> window.accumulators)),
                        map("inputState", of(windows, window -> window.input)),
                        value("lastTriggeringTsState", of(windows, window -> window.lastTriggering)))
                .timers(NODE, "user-timers", timers);
    }

    private static <T> Map<Row, T> of(Map<Row, Window> windows, Function<Window, T> part) {
        Map<Row, T> out = new LinkedHashMap<>();
        windows.forEach((key, window) -> out.put(key, part.apply(window)));
        return out;
    }

    /** Rows go when a later one no longer sees them; timers to clean up are never taken back. */
    private static SqlQuery range() {
        long size = 9_000;
        Map<Row, Window> windows = each(BUYS.by("city"), rows -> {
            Window out = new Window();
            List<Row> past = past(rows);
            long last = SqlJoins.millis(BUYS, past.get(past.size() - 1));
            List<Row> kept = new ArrayList<>(rows);
            kept.removeIf(row -> SqlJoins.millis(BUYS, row) < last - size);
            keep(out, kept);
            wait(out, rows);
            long inside = kept.size() - (rows.size() - past.size());
            out.accumulators = Row.of(inside, inside);
            out.lastTriggering = last;
            for (Row row : rows) {
                long at = SqlJoins.millis(BUYS, row);
                if (out.cleanup == null || out.cleanup < at + size + 1) {
                    out.cleanup = at + size * 3 / 2 + 1;
                    if (out.cleanup > WATERMARK) {
                        out.timers.add(out.cleanup);
                    } else {
                        out.lastTriggering = Math.max(out.lastTriggering, out.cleanup);
                    }
                }
            }
            return out;
        });
        SqlQuery out = new SqlQuery("over_range", "SELECT buy, COUNT(amount) OVER (PARTITION BY city ORDER BY stamp"
                + " RANGE BETWEEN INTERVAL '9' SECOND PRECEDING AND CURRENT ROW) FROM buys");
        out.keeps(NODE, value("cleanupTsState", of(windows, window -> window.cleanup)));
        return kept(out, windows);
    }

    /** All rows so far, in processing time. */
    private static SqlQuery all() {
        return new SqlQuery("over_all", "SELECT buy, SUM(amount) OVER (PARTITION BY city ORDER BY p),"
                        + " MAX(customer) OVER (PARTITION BY city ORDER BY p) FROM buys")
                .keeps(NODE, value("accState", each(BUYS.by("city"), rows -> Row.of(
                        (long) rows.size(), sum(rows),
                        BUYS.<Integer>values(rows, "customer").stream().reduce(Math::max).orElse(null)))))
                .timers(NODE, "user-timers");
    }
}
