package golden;

import static golden.SqlQuery.each;
import static golden.SqlQuery.map;
import static golden.SqlQuery.value;
import static golden.SqlTables.BUYS;
import static golden.SqlTables.CUSTOMERS;
import static golden.SqlTables.LIMITS;
import static golden.SqlTables.PAYMENTS;
import static golden.SqlTables.STOCK;
import static golden.SqlTables.THINGS;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.types.Row;

/** Joins: what an operator keeps of each side depends on which keys are unique, and on which side rows stay alone. */
final class SqlJoins {
    private SqlJoins() {}

    private static final String NODE = "join";
    private static final String[] SOLD = {"buy", "customer", "amount", "stamp"};

    /**
     * The queries.
     *
     * @param lazy whether interval joins clean up half an interval late, as they did before Flink 1.18
     */
    static List<SqlQuery> queries(boolean lazy) {
        return Arrays.asList(inner(), left(), full(), onKeys(), interval(lazy ? (1_000 + 60_000) / 2 : 0));
    }

    /** Rows of the left side may be the same; of the right there is one for each key. */
    private static SqlQuery inner() {
        return new SqlQuery("inner_join", "SELECT b.*, c.city, c.since"
                        + " FROM (SELECT buy, customer, amount, CAST(stamp AS TIMESTAMP_LTZ(3)) FROM buys) b"
                        + " JOIN customers c ON b.customer = c.id")
                .keeps(NODE,
                        map("left-records", each(BUYS.by("customer"), rows -> counts(rows, BUYS.only(SOLD)))),
                        value("right-records", each(CUSTOMERS.by("id"), rows -> rows.get(0))));
    }

    private static Map<Row, Integer> counts(List<Row> rows, Function<Row, Row> columns) {
        Map<Row, Integer> out = new LinkedHashMap<>();
        rows.forEach(row -> out.merge(columns.apply(row), 1, Integer::sum));
        return out;
    }

    /** Rows of the left side by their own key, each with the number of its partners. */
    private static SqlQuery left() {
        Map<Row, List<Row>> right = each(BUYS.by("city"), rows -> {
            List<Row> out = new ArrayList<>(rows);
            out.removeIf(row -> BUYS.<BigDecimal>get(row, "amount").compareTo(BigDecimal.TEN) <= 0);
            return out;
        });
        return new SqlQuery("left_join", "SELECT c.*, b.buy, b.amount FROM customers c"
                        + " LEFT JOIN buys b ON c.city = b.city AND b.amount > 10")
                .keeps(NODE,
                        map("left-records", each(CUSTOMERS.by("city"), rows -> {
                            Map<Row, Object> out = new LinkedHashMap<>();
                            rows.forEach(row -> out.put(
                                    CUSTOMERS.only(row, "id"), Tuple2.of(row, partners(CUSTOMERS.only(row, "city"), right))));
                            return out;
                        })),
                        map("right-records", each(right, rows -> counts(rows, BUYS.only("buy", "city", "amount")))));
    }

    /** Null is no partner of null. */
    private static int partners(Row key, Map<Row, List<Row>> others) {
        return key.getField(0) == null ? 0 : others.getOrDefault(key, Collections.emptyList()).size();
    }

    /** No keys at all: rows are the keys of a map. */
    private static SqlQuery full() {
        String[] left = {"id", "i32", "big_money", "str", "ts9", "ints", "r"};
        Map<Row, List<Row>> stock = SqlAggregates.stockBy("item");
        return new SqlQuery("full_join", "SELECT t.*, s.* FROM (SELECT " + String.join(", ", left) + " FROM things) t"
                        + " FULL JOIN stock s ON t.i32 = s.item")
                .keeps(NODE,
                        map("left-records", each(THINGS.by("i32"), rows -> {
                            Map<Row, Object> out = new LinkedHashMap<>();
                            rows.forEach(row -> out.put(
                                    THINGS.only(row, left), Tuple2.of(1, partners(THINGS.only(row, "i32"), stock))));
                            return out;
                        })),
                        map("right-records", each(stock, rows -> {
                            Map<Row, Object> out = new LinkedHashMap<>();
                            rows.forEach(row -> out.put(
                                    row, Tuple2.of(1, partners(STOCK.only(row, "item"), THINGS.by("i32")))));
                            return out;
                        })));
    }

    /** Joined by what is unique on both sides. */
    private static SqlQuery onKeys() {
        Map<Row, List<Row>> customers = CUSTOMERS.by("id");
        Map<Row, List<Row>> limits = LIMITS.by("customer");
        return new SqlQuery("key_join", "SELECT c.*, l.most FROM customers c FULL JOIN limits l ON c.id = l.customer")
                .keeps(NODE,
                        value("left-records", each(customers,
                                rows -> Tuple2.of(rows.get(0), partners(CUSTOMERS.only(rows.get(0), "id"), limits)))),
                        value("right-records", each(limits,
                                rows -> Tuple2.of(rows.get(0), partners(LIMITS.only(rows.get(0), "customer"), customers)))));
    }

    /** Both sides stay for a while; a flag says whether a row has found a partner. */
    private static SqlQuery interval(long late) {
        String[] left = {"buy", "customer", "amount", "stamp"};
        String[] right = {"payment", "customer", "stamp"};
        Map<Row, List<Row>> buys = BUYS.by("customer");
        Map<Row, List<Row>> payments = PAYMENTS.by("customer");
        Model.State timers = SqlQuery.eventTimers("user-timers");
        // Each side registers one timer for what it keeps, by the first row of a key.
        Map<Row, Long> leftTimer = each(payments, rows -> millis(PAYMENTS, rows.get(0)) + 1_000 + late + 1);
        Map<Row, Long> rightTimer = each(buys, rows -> millis(BUYS, rows.get(0)) + 60_000 + late + 1);
        leftTimer.forEach((key, at) -> timers.rows.add(new Model.Row(key, null, at)));
        rightTimer.forEach((key, at) -> timers.rows.add(new Model.Row(key, null, at)));
        return new SqlQuery("interval_join", "SELECT b.buy, b.amount, p.payment FROM buys b FULL JOIN payments p"
                        + " ON b.customer = p.customer"
                        + " AND p.stamp BETWEEN b.stamp - INTERVAL '1' SECOND AND b.stamp + INTERVAL '1' MINUTE")
                .keeps("interval-join",
                        map("IntervalJoinLeftCache", cache(BUYS, left, buys, (buy, payment) -> met(buy, payment), payments)),
                        map("IntervalJoinRightCache",
                                cache(PAYMENTS, right, payments, (payment, buy) -> met(buy, payment), buys)),
                        value("IntervalJoinLeftTimerState", leftTimer),
                        value("IntervalJoinRightTimerState", rightTimer))
                .timers("interval-join", "user-timers", timers);
    }

    private interface Met {
        boolean test(long own, long other);
    }

    private static boolean met(long buy, long payment) {
        return payment >= buy - 1_000 && payment <= buy + 60_000;
    }

    private static Map<Row, Map<Long, List<Object>>> cache(
            SqlTable table, String[] columns, Map<Row, List<Row>> own, Met met, Map<Row, List<Row>> others) {
        SqlTable otherTable = table == BUYS ? PAYMENTS : BUYS;
        Map<Row, Map<Long, List<Object>>> out = new LinkedHashMap<>();
        own.forEach((key, rows) -> {
            Map<Long, List<Object>> byTime = new LinkedHashMap<>();
            for (Row row : rows) {
                boolean partner = key.getField(0) != null
                        && others.getOrDefault(key, Collections.emptyList()).stream()
                                .anyMatch(other -> met.test(millis(table, row), millis(otherTable, other)));
                byTime.computeIfAbsent(millis(table, row), t -> new ArrayList<>())
                        .add(Tuple2.of(table.only(row, columns), partner));
            }
            out.put(key, byTime);
        });
        return out;
    }

    static long millis(SqlTable table, Row row) {
        return table.<Instant>get(row, "stamp").toEpochMilli();
    }
}
