package golden;

import static golden.SqlTables.BUYS;
import static golden.SqlTables.WATERMARK;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.types.Row;

/** Aggregates of windows that are still open: of windowing functions, and in the older way of grouping by windows. */
final class SqlWindows {
    private SqlWindows() {}

    private static final String TIMERS = "window-timers";
    private static final String ACCUMULATORS = "window-aggs";

    static List<SqlQuery> queries(boolean hasSessions) {
        List<SqlQuery> out = new ArrayList<>(Arrays.asList(tumbling(), hopping(), oldSessions(), oldHops()));
        if (hasSessions) {
            out.add(sessions());
        }
        return out;
    }

    private static String windowed(String columns, String key, String window) {
        return "SELECT " + key + ", window_start, " + columns + " FROM TABLE(" + window + ") GROUP BY " + key
                + ", window_start, window_end";
    }

    private static BigDecimal sum(List<Row> rows) {
        return BUYS.<BigDecimal>values(rows, "amount").stream().reduce(BigDecimal.ZERO, BigDecimal::add);
    }

    /** The rows by the end of the window of that size that they are in. */
    private static TreeMap<Long, List<Row>> byEnd(List<Row> rows, long size) {
        TreeMap<Long, List<Row>> out = new TreeMap<>();
        for (Row row : rows) {
            long end = (SqlJoins.millis(BUYS, row) / size + 1) * size;
            out.computeIfAbsent(end, e -> new ArrayList<>()).add(row);
        }
        return out;
    }

    /** Windows are told by their end. */
    private static SqlQuery tumbling() {
        Model.State accumulators = new Model.State(ACCUMULATORS, "VALUE");
        Model.State cities = new Model.State("distinctAcc_0", "MAP");
        Model.State nowhere = new Model.State("distinctAcc_0_null_state", "VALUE");
        Model.State timers = SqlQuery.eventTimers(TIMERS);
        BUYS.by("customer").forEach((key, all) -> byEnd(all, 8_000).forEach((end, rows) -> {
            if (end - 1 <= WATERMARK) {
                return;
            }
            Map<Object, Long> seen = new LinkedHashMap<>();
            BUYS.values(rows, "city").forEach(city -> seen.put(city, 1L));
            Instant last = BUYS.get(rows.get(rows.size() - 1), "stamp");
            accumulators.rows.add(new Model.Row(
                    key, end, Row.of((long) rows.size(), sum(rows), last, (long) seen.size(), null)));
            if (!seen.isEmpty()) {
                cities.rows.add(new Model.Row(key, end, seen));
            }
            if (BUYS.values(rows, "city").size() < rows.size()) {
                nowhere.rows.add(new Model.Row(key, end, 1L));
            }
            timers.rows.add(new Model.Row(key, end, end - 1));
        }));
        return new SqlQuery("tumbling", windowed("COUNT(*), SUM(amount), MAX(stamp), COUNT(DISTINCT city)", "customer",
                        "TUMBLE(TABLE buys, DESCRIPTOR(stamp), INTERVAL '8' SECOND)"))
                .keeps("window-aggregate", accumulators, cities, nowhere)
                .timers("window-aggregate", TIMERS, timers)
                .watermark(WATERMARK);
    }

    /** Windows share slices, and a slice stays until the last window with it is closed. */
    private static SqlQuery hopping() {
        long slide = 4_000;
        long size = 12_000;
        Model.State accumulators = new Model.State(ACCUMULATORS, "VALUE");
        Model.State timers = SqlQuery.eventTimers(TIMERS);
        long closed = (WATERMARK + 1) / slide * slide;
        BUYS.by("city").forEach((key, all) -> {
            TreeMap<Long, List<Row>> slices = byEnd(all, slide);
            TreeSet<Long> open = new TreeSet<>(slices.tailMap(closed, false).keySet());
            // A window that was not empty has registered the next one when it closed.
            if (!slices.subMap(closed - size, false, closed, true).isEmpty()) {
                open.add(closed + slide);
            }
            open.forEach(end -> timers.rows.add(new Model.Row(key, end, end - 1)));
            slices.forEach((end, rows) -> {
                if (end + size - slide > closed) {
                    long least = BUYS.<Long>values(rows, "buy").stream().reduce(Math::min).get();
                    accumulators.rows.add(new Model.Row(
                            key, end, Row.of(sum(rows), (long) rows.size(), least, (long) rows.size())));
                }
            });
        });
        return new SqlQuery("hopping", windowed("AVG(amount), MIN(buy)", "city",
                        "HOP(TABLE buys, DESCRIPTOR(stamp), INTERVAL '4' SECOND, INTERVAL '12' SECOND)"))
                .keeps("window-aggregate", accumulators)
                .timers("window-aggregate", TIMERS, timers)
                .watermark(WATERMARK);
    }

    private static SqlQuery sessions() {
        return sessions("window-aggregate", "sessions", windowed("COUNT(*), SUM(amount)", "customer",
                        "SESSION(TABLE buys PARTITION BY customer, DESCRIPTOR(stamp), INTERVAL '6' SECOND)"))
                .watermark(WATERMARK);
    }

    private static SqlQuery oldSessions() {
        return sessions("group-window-aggregate", "old_sessions", "SELECT customer, SESSION_START(stamp, INTERVAL '6' SECOND),"
                + " COUNT(*), SUM(amount) FROM buys GROUP BY customer, SESSION(stamp, INTERVAL '6' SECOND)");
    }

    /** What a session has stays under the window that its first row opened. */
    private static SqlQuery sessions(String node, String name, String sql) {
        long gap = 6_000;
        Model.State accumulators = new Model.State(ACCUMULATORS, "VALUE");
        Model.State mapping = new Model.State("session-window-mapping", "MAP");
        Model.State timers = SqlQuery.eventTimers(TIMERS);
        BUYS.by("customer").forEach((key, all) -> {
            List<List<Row>> sessions = new ArrayList<>();
            long end = Long.MIN_VALUE;
            for (Row row : all) {
                if (SqlJoins.millis(BUYS, row) > end) {
                    sessions.add(new ArrayList<>());
                }
                sessions.get(sessions.size() - 1).add(row);
                end = SqlJoins.millis(BUYS, row) + gap;
            }
            for (List<Row> rows : sessions) {
                long first = SqlJoins.millis(BUYS, rows.get(0));
                TimeWindow home = new TimeWindow(first, first + gap);
                TimeWindow session = new TimeWindow(first, SqlJoins.millis(BUYS, rows.get(rows.size() - 1)) + gap);
                if (session.maxTimestamp() > WATERMARK) {
                    accumulators.rows.add(new Model.Row(key, home, Row.of((long) rows.size(), sum(rows))));
                    mapping.rows.add(new Model.Row(key, null, StateSpec.entry(session, home)));
                    timers.rows.add(new Model.Row(key, session, session.maxTimestamp()));
                }
            }
        });
        return new SqlQuery(name, sql).keeps(node, accumulators, mapping).timers(node, TIMERS, timers);
    }

    /** Hops of the older way have panes instead of slices. */
    private static SqlQuery oldHops() {
        long slide = 4_000;
        long size = 8_000;
        Model.State accumulators = new Model.State(ACCUMULATORS, "VALUE");
        Model.State timers = SqlQuery.eventTimers(TIMERS);
        BUYS.by("customer").forEach((key, all) -> {
            TreeSet<Long> ends = new TreeSet<>();
            byEnd(all, slide).forEach((end, rows) -> {
                if (end + size - slide - 1 > WATERMARK) {
                    BigDecimal most = BUYS.<BigDecimal>values(rows, "amount").stream().reduce(BigDecimal::max).get();
                    accumulators.rows.add(new Model.Row(
                            key, new TimeWindow(end - slide, end), Row.of((long) rows.size(), most)));
                }
                ends.add(end);
                ends.add(end + slide);
            });
            ends.tailSet(WATERMARK + 1, false).forEach(end ->
                    timers.rows.add(new Model.Row(key, new TimeWindow(end - size, end), end - 1)));
        });
        return new SqlQuery("old_hops", "SELECT customer, HOP_START(stamp, INTERVAL '4' SECOND, INTERVAL '8' SECOND), COUNT(*),"
                        + " MAX(amount) FROM buys GROUP BY customer, HOP(stamp, INTERVAL '4' SECOND, INTERVAL '8' SECOND)")
                .keeps("group-window-aggregate", accumulators)
                .timers("group-window-aggregate", TIMERS, timers);
    }
}
