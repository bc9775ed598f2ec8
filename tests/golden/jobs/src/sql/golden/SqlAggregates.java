package golden;

import static golden.SqlQuery.each;
import static golden.SqlQuery.map;
import static golden.SqlQuery.value;
import static golden.SqlTables.STOCK;
import static golden.SqlTables.THINGS;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

/** Aggregates of groups, of insertions and of changes. Accumulators are in the order of the select list. */
final class SqlAggregates {
    private SqlAggregates() {}

    private static final String NODE = "group-aggregate";
    private static final String TIMERS = "user-timers";

    static List<SqlQuery> queries(boolean hasArrays) {
        List<SqlQuery> out = new ArrayList<>(Arrays.asList(
                extremes(), keys(), sums(), distincts(), collections(), retractions(), lists(), firsts()));
        if (hasArrays) {
            out.add(arrays());
        }
        return out;
    }

    /** MIN and MAX of every type that can be compared. */
    private static SqlQuery extremes() {
        return new SqlQuery("extremes", "SELECT k, COUNT(*), " + SqlTypes.each(SqlTypes.ORDERED, "MIN(%s), MAX(%s)")
                        + " FROM things GROUP BY k")
                .keeps(NODE, value("accState", each(THINGS.by("k"), rows -> {
                    List<Object> out = new ArrayList<>(Collections.singletonList((long) rows.size()));
                    for (SqlTypes.Column column : SqlTypes.ORDERED) {
                        TreeSet<?> sorted = new TreeSet<Object>(THINGS.values(rows, column.name));
                        out.add(sorted.isEmpty() ? null : sorted.first());
                        out.add(sorted.isEmpty() ? null : sorted.last());
                    }
                    return Row.of(out.toArray());
                })))
                .timers(NODE, TIMERS);
    }

    /** A key of many types. */
    private static SqlQuery keys() {
        String columns = SqlTypes.each(SqlTypes.GROUPED, "%s");
        return new SqlQuery("keys", "SELECT " + columns + ", COUNT(*) FROM things GROUP BY " + columns)
                .keeps(NODE, value("accState", each(THINGS.by(columns.split(", ")), rows -> Row.of((long) rows.size()))))
                .timers(NODE, TIMERS);
    }

    private static SqlQuery sums() {
        return new SqlQuery("sums", "SELECT k, SUM(i32), SUM(money), AVG(i16), AVG(f64), AVG(big_money), COUNT(vc), LISTAGG(vc),"
                        + " SUM(i8) FILTER (WHERE b) FROM things GROUP BY k")
                .keeps(NODE, value("accState", each(THINGS.by("k"), rows -> Row.of(
                        // A sum of INT is an INT, and goes round.
                        THINGS.<Integer>values(rows, "i32").stream().reduce(Integer::sum).orElse(null),
                        THINGS.<BigDecimal>values(rows, "money").stream().reduce(BigDecimal::add).orElse(null),
                        THINGS.<Short>values(rows, "i16").stream().mapToLong(Short::longValue).sum(),
                        (long) THINGS.values(rows, "i16").size(),
                        THINGS.<Double>values(rows, "f64").stream().reduce(0.0, (a, b) -> a + b),
                        (long) THINGS.values(rows, "f64").size(),
                        THINGS.<BigDecimal>values(rows, "big_money").stream().reduce(BigDecimal.ZERO, BigDecimal::add),
                        (long) THINGS.values(rows, "big_money").size(),
                        (long) THINGS.values(rows, "vc").size(),
                        ",",
                        THINGS.values(rows, "vc").isEmpty() ? null : String.join(",", THINGS.values(rows, "vc")),
                        THINGS.<Byte>values(chosen(rows), "i8").stream().reduce((a, b) -> (byte) (a + b)).orElse(null)))))
                .timers(NODE, TIMERS);
    }

    private static List<Row> chosen(List<Row> rows) {
        return rows.stream().filter(row -> Boolean.TRUE.equals(THINGS.get(row, "b"))).collect(Collectors.toList());
    }

    /** One view for each distinct argument, beside the accumulators; a bit says which of the calls has met the value. */
    private static SqlQuery distincts() {
        SqlQuery out = new SqlQuery("distincts", "SELECT k, COUNT(DISTINCT str), COUNT(DISTINCT big_money),"
                + " COUNT(DISTINCT ltz9), COUNT(DISTINCT ints), SUM(DISTINCT i32), SUM(DISTINCT i32) FILTER (WHERE b)"
                + " FROM things GROUP BY k");
        out.keeps(NODE, value("accState", each(THINGS.by("k"), rows -> Row.of(
                (long) distinct(rows, "str").size(), (long) distinct(rows, "big_money").size(),
                (long) distinct(rows, "ltz9").size(), (long) distinct(rows, "ints").size(),
                THINGS.<Integer>values(rows, "i32").stream().distinct().reduce(Integer::sum).orElse(null),
                THINGS.<Integer>values(chosen(rows), "i32").stream().distinct().reduce(Integer::sum).orElse(null),
                null, null, null, null, null))));
        String[] columns = {"str", "big_money", "ltz9", "ints", "i32"};
        for (int i = 0; i < columns.length; i++) {
            String column = columns[i];
            Function<List<Row>, Map<Object, Long>> bits = rows -> {
                Map<Object, Long> seen = new LinkedHashMap<>();
                for (Row row : rows) {
                    Object met = comparable(THINGS.get(row, column));
                    long both = column.equals("i32") && !chosen(Collections.singletonList(row)).isEmpty() ? 3 : 1;
                    seen.merge(met, both, (a, b) -> a | b);
                }
                return seen;
            };
            out.keeps(NODE,
                    map("distinctAcc_" + i, each(THINGS.by("k"), rows -> {
                        Map<Object, Long> seen = bits.apply(rows);
                        seen.remove(null);
                        return seen;
                    })),
                    value("distinctAcc_" + i + "_null_state", each(THINGS.by("k"), rows -> bits.apply(rows).get(null))));
        }
        return out.timers(NODE, TIMERS);
    }

    /** Arrays are equal by their elements. */
    private static Object comparable(Object value) {
        return value instanceof Object[] ? Arrays.asList((Object[]) value) : value;
    }

    private static List<Object> distinct(List<Row> rows, String column) {
        return THINGS.values(rows, column).stream().map(SqlAggregates::comparable).distinct().collect(Collectors.toList());
    }

    private static SqlQuery collections() {
        SqlQuery out = new SqlQuery("collections", "SELECT k, COLLECT(t), COLLECT(r), COLLECT(counts) FROM things GROUP BY k");
        out.keeps(NODE, value("accState", each(THINGS.by("k"),
                rows -> Row.of(Row.of((Object) null), Row.of((Object) null), Row.of((Object) null)))));
        String[] columns = {"t", "r", "counts"};
        for (int i = 0; i < columns.length; i++) {
            String column = columns[i];
            out.keeps(NODE, map("agg" + i + "$map", each(THINGS.by("k"), rows -> counts(THINGS.values(rows, column)))));
        }
        return out.timers(NODE, TIMERS);
    }

    private static <N> Map<Object, Integer> counts(List<?> values) {
        Map<Object, Integer> out = new LinkedHashMap<>();
        values.forEach(value -> out.merge(value, 1, Integer::sum));
        return out;
    }

    /** A list inside of the accumulators, with nulls. */
    private static SqlQuery arrays() {
        return new SqlQuery("arrays", "SELECT k, ARRAY_AGG(ts9) FROM things GROUP BY k")
                .keeps(NODE, value("accState", each(THINGS.by("k"), rows -> Row.of(
                        Row.of(rows.stream().map(row -> THINGS.get(row, "ts9")).collect(Collectors.toList()), new ArrayList<>())))))
                .timers(NODE, TIMERS);
    }

    // ---- of changes

    /** The rows of the stock by a column, without those that were deleted. */
    static Map<Row, List<Row>> stockBy(String column) {
        return each(STOCK.by(column), SqlAggregates::left);
    }

    static List<Row> left(List<Row> changes) {
        List<Row> out = new ArrayList<>();
        for (Row change : changes) {
            Row row = STOCK.only(change, STOCK.allColumns());
            if (change.getKind() == RowKind.INSERT || change.getKind() == RowKind.UPDATE_AFTER) {
                out.add(row);
            } else {
                out.remove(row);
            }
        }
        return out;
    }

    /** MIN and MAX keep all values, so that they can forget some. */
    private static SqlQuery retractions() {
        SqlQuery out = new SqlQuery("retractions", "SELECT shelf, SUM(units), AVG(price), MIN(price), MAX(units), MAX(seen),"
                + " COUNT(DISTINCT price) FROM stock GROUP BY shelf");
        out.keeps(NODE, value("accState", each(stockBy("shelf"), rows -> {
            TreeSet<BigDecimal> prices = new TreeSet<>(STOCK.<BigDecimal>values(rows, "price"));
            TreeSet<Long> units = new TreeSet<>(STOCK.<Long>values(rows, "units"));
            TreeSet<java.time.LocalDateTime> seen = new TreeSet<>(STOCK.<java.time.LocalDateTime>values(rows, "seen"));
            return Row.of(
                    STOCK.<Long>values(rows, "units").stream().mapToLong(Long::longValue).sum(),
                    (long) STOCK.values(rows, "units").size(),
                    STOCK.<BigDecimal>values(rows, "price").stream().reduce(BigDecimal.ZERO, BigDecimal::add),
                    (long) rows.size(),
                    Row.of(prices.first(), (long) prices.size(), null),
                    Row.of(units.last(), (long) units.size(), null),
                    Row.of(seen.last(), (long) seen.size(), null),
                    (long) prices.size(), (long) rows.size(), null);
        })));
        String[] columns = {"price", "units", "seen"};
        for (int i = 0; i < columns.length; i++) {
            String column = columns[i];
            out.keeps(NODE, map("agg" + (i + 2) + "$map", each(stockBy("shelf"), rows -> longs(STOCK.values(rows, column)))));
        }
        return out.keeps(NODE,
                map("distinctAcc_0", each(stockBy("shelf"), rows -> longs(STOCK.values(rows, "price")))),
                new Model.State("distinctAcc_0_null_state", "VALUE"))
                .timers(NODE, TIMERS);
    }

    private static Map<Object, Long> longs(List<?> values) {
        Map<Object, Long> out = new LinkedHashMap<>();
        values.forEach(value -> out.merge(value, 1L, Long::sum));
        return out;
    }

    private static SqlQuery lists() {
        return new SqlQuery("lists", "SELECT shelf, LISTAGG(CAST(item AS STRING)), COLLECT(price) FROM stock GROUP BY shelf")
                .keeps(NODE,
                        value("accState", each(stockBy("shelf"),
                                rows -> Row.of(Row.of(null, null), Row.of((Object) null), (long) rows.size()))),
                        SqlQuery.state("agg0$list", "LIST", each(stockBy("shelf"), rows -> rows.stream()
                                .map(row -> STOCK.get(row, "item").toString()).collect(Collectors.toList()))),
                        new Model.State("agg0$retractList", "LIST"),
                        map("agg1$map", each(stockBy("shelf"), rows -> counts(STOCK.values(rows, "price")))))
                .timers(NODE, TIMERS);
    }

    /** Ordered by the clock of the run: what they keep is not in expected.json, but in test_sql.py. */
    private static SqlQuery firsts() {
        return new SqlQuery("firsts", "SELECT shelf, FIRST_VALUE(price), LAST_VALUE(units) FROM stock GROUP BY shelf");
    }
}
