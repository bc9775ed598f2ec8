package golden;

import static golden.SqlQuery.each;
import static golden.SqlQuery.map;
import static golden.SqlQuery.value;
import static golden.SqlTables.BUYS;
import static golden.SqlTables.STOCK;
import static golden.SqlTables.THINGS;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

/** The first rows of each group, and the first or the last one. */
final class SqlRankings {
    private SqlRankings() {}

    private static final String TIMERS = "user-timers";

    static List<SqlQuery> queries(Case options, boolean emitsOnce) {
        return Arrays.asList(
                top(), topOfChanges(), topOfCounts(), latest(), emitsOnce ? earliestEmitted() : earliest(), firstSeen(),
                lastSeen(options));
    }

    private static String ranked(String columns, String by, String order, String from, int n) {
        return "SELECT " + columns + " FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY " + by + " ORDER BY " + order
                + ") AS place FROM " + from + ") WHERE place <= " + n;
    }

    /** Rows are only inserted: no more than the first three are kept. */
    private static SqlQuery top() {
        return new SqlQuery("top", ranked("buy, city, amount", "city", "amount DESC, buy", "buys", 3))
                .keeps("rank", map("data-state-with-append", each(BUYS.by("city"), rows -> {
                    List<Row> sorted = new ArrayList<>(rows);
                    sorted.sort(Comparator.comparing((Row row) -> BUYS.<BigDecimal>get(row, "amount")).reversed()
                            .thenComparing(row -> BUYS.<Long>get(row, "buy")));
                    Map<Row, List<Row>> out = new LinkedHashMap<>();
                    for (Row row : sorted.subList(0, Math.min(3, sorted.size()))) {
                        out.computeIfAbsent(BUYS.only(row, "amount", "buy"), k -> new ArrayList<>())
                                .add(BUYS.only(row, "buy", "city", "amount"));
                    }
                    return out;
                })))
                .timers("rank", TIMERS);
    }

    /** Rows may go: all are kept, and how many there are of each price. */
    private static SqlQuery topOfChanges() {
        return new SqlQuery("top_changing", ranked("item, shelf, price, place", "shelf", "price DESC", "stock", 2))
                .keeps("rank",
                        map("data-state", each(SqlAggregates.stockBy("shelf"), rows -> {
                            Map<Row, List<Row>> out = new LinkedHashMap<>();
                            rows.forEach(row -> out.computeIfAbsent(STOCK.only(row, "price"), k -> new ArrayList<>())
                                    .add(STOCK.only(row, "item", "shelf", "price")));
                            return out;
                        })),
                        value("sorted-map", each(SqlAggregates.stockBy("shelf"), rows -> {
                            Map<Row, Long> out = new LinkedHashMap<>();
                            rows.forEach(row -> out.merge(STOCK.only(row, "price"), 1L, Long::sum));
                            return out;
                        })))
                .timers("rank", TIMERS);
    }

    /** Counts only grow: the first two are kept, each with its place among the same counts. */
    private static SqlQuery topOfCounts() {
        Map<Row, List<Row>> groups = BUYS.by("city", "customer");
        return new SqlQuery("top_counts", ranked("city, customer, n", "city", "n DESC",
                        "(SELECT city, customer, COUNT(*) AS n FROM buys GROUP BY city, customer)", 2))
                .keeps("rank", map("data-state-with-update", each(BUYS.by("city"), SqlRankings::firstTwo)))
                .timers("rank", TIMERS)
                .keeps("group-aggregate", value("accState", each(groups, rows -> Row.of((long) rows.size()))))
                .timers("group-aggregate", TIMERS);
    }

    private static Map<Row, Object> firstTwo(List<Row> rows) {
        Map<Row, Long> counted = new HashMap<>();
        TreeMap<Long, List<Row>> byCount = new TreeMap<>(Comparator.reverseOrder());
        Map<Row, Object> out = new LinkedHashMap<>();
        for (Row row : rows) {
            Row key = BUYS.only(row, "city", "customer");
            long n = counted.merge(key, 1L, Long::sum);
            boolean kept = out.containsKey(key);
            int size = byCount.values().stream().mapToInt(List::size).sum();
            if (!kept && size >= 2 && n <= byCount.lastKey()) {
                continue;
            }
            byCount.computeIfAbsent(n, k -> new ArrayList<>()).add(key);
            Row counts = Row.ofKind(n == 1 ? RowKind.INSERT : RowKind.UPDATE_AFTER, key.getField(0), key.getField(1), n);
            out.put(key, Tuple2.of(counts, byCount.get(n).size()));
            if (kept) {
                removed(byCount, n - 1, key);
                List<Row> others = byCount.getOrDefault(n - 1, Collections.emptyList());
                for (int i = 0; i < others.size(); i++) {
                    ((Tuple2<?, Integer>) out.get(others.get(i))).f1 = i + 1;
                }
            } else if (size == 2) {
                List<Row> last = byCount.lastEntry().getValue();
                Row gone = last.get(last.size() - 1);
                removed(byCount, byCount.lastKey(), gone);
                out.remove(gone);
            }
        }
        return out;
    }

    private static void removed(TreeMap<Long, List<Row>> byCount, long count, Row key) {
        byCount.get(count).remove(key);
        if (byCount.get(count).isEmpty()) {
            byCount.remove(count);
        }
    }

    /** The last row by its time, with every type in it. */
    private static SqlQuery latest() {
        String columns = String.join(", ", THINGS.columns.subList(0, THINGS.columns.size() - 1));
        return new SqlQuery("latest", ranked(columns, "k", "rt DESC", "things", 1))
                .keeps("deduplicate", value("deduplicate-state", each(THINGS.by("k"), rows -> {
                    Row last = null;
                    RowKind kind = RowKind.INSERT;
                    for (Row row : rows) {
                        if (last == null || time(row).compareTo(time(last)) >= 0) {
                            kind = last == null ? RowKind.INSERT : RowKind.UPDATE_AFTER;
                            last = row;
                        }
                    }
                    Row out = THINGS.only(last, THINGS.allColumns());
                    out.setKind(kind);
                    return out;
                })))
                .timers("deduplicate", TIMERS);
    }

    private static java.time.LocalDateTime time(Row row) {
        return THINGS.get(row, "rt");
    }

    private static final String[] BOUGHT = {"buy", "customer", "city", "amount", "stamp"};
    private static final String EARLIEST = ranked("buy, amount", "customer, city", "stamp ASC", "buys", 1);

    private static SqlQuery earliest() {
        return new SqlQuery("earliest", EARLIEST)
                .keeps("deduplicate", value("deduplicate-state",
                        each(BUYS.by("customer", "city"), rows -> BUYS.only(rows.get(0), BOUGHT))))
                .timers("deduplicate", TIMERS);
    }

    /** Since Flink 2 the first row waits for the watermark, and only that it was is remembered. */
    private static SqlQuery earliestEmitted() {
        Model.State waiting = new Model.State("waiting-to-emit-on-timer", "VALUE");
        Model.State emitted = new Model.State("already-emitted-state-boolean", "VALUE");
        Model.State timers = SqlQuery.eventTimers(TIMERS);
        BUYS.by("customer", "city").forEach((key, rows) -> {
            long at = SqlJoins.millis(BUYS, rows.get(0));
            if (at <= SqlTables.WATERMARK) {
                emitted.rows.add(new Model.Row(key, null, true));
            } else {
                waiting.rows.add(new Model.Row(key, null, BUYS.only(rows.get(0), BOUGHT)));
                timers.rows.add(new Model.Row(key, null, at));
            }
        });
        return new SqlQuery("earliest", EARLIEST)
                .keeps("deduplicate", waiting, emitted)
                .timers("deduplicate", TIMERS, timers);
    }

    private static SqlQuery firstSeen() {
        return new SqlQuery("first_seen", ranked("buy, amount", "customer", "p ASC", "buys", 1))
                .keeps("deduplicate", value("deduplicate-state", each(BUYS.by("customer"), rows -> true)))
                .timers("deduplicate", TIMERS);
    }

    /**
     * The time attribute of processing time is null in state, though its type does not allow it.
     *
     * <p>The operator changes the kind of a row behind its update: a heap holds the row itself, RocksDB its bytes.
     */
    private static SqlQuery lastSeen(Case options) {
        return new SqlQuery("last_seen", ranked("buy, p", "customer", "p DESC", "buys", 1))
                .keeps("deduplicate", value("deduplicate-state", each(BUYS.by("customer"), rows -> {
                    Row last = BUYS.only(rows.get(rows.size() - 1), "buy", "customer");
                    Row out = Row.of(last.getField(0), last.getField(1), null);
                    out.setKind(options.backend.equals("hashmap") && rows.size() > 1 ? RowKind.UPDATE_AFTER : RowKind.INSERT);
                    return out;
                })))
                .timers("deduplicate", TIMERS);
    }
}
