package golden;

import static org.apache.flink.table.api.DataTypes.BIGINT;
import static org.apache.flink.table.api.DataTypes.DATE;
import static org.apache.flink.table.api.DataTypes.DECIMAL;
import static org.apache.flink.table.api.DataTypes.INT;
import static org.apache.flink.table.api.DataTypes.STRING;
import static org.apache.flink.table.api.DataTypes.TIMESTAMP;
import static org.apache.flink.table.api.DataTypes.TIMESTAMP_LTZ;

import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.TableDescriptor;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

/** The tables of the SQL job, with all of their rows. */
final class SqlTables {
    private SqlTables() {}

    /** 2023-11-14T22:13:20Z. */
    private static final long EPOCH = Feeds.EPOCH;

    /** The watermark of buys behind the last of them. */
    static final long WATERMARK = EPOCH + 17 * 2_100 - 5_000;

    private static final String[] KEYS = {"red", "gr\u00fcn"};

    static final SqlTable THINGS = new SqlTable("things", thingsSchema(), things(), false);
    static final SqlTable CUSTOMERS = new SqlTable("customers",
            Schema.newBuilder()
                    .column("id", INT().notNull()).column("city", STRING()).column("since", DATE()).primaryKey("id")
                    .build(),
            customers(), false);
    static final SqlTable LIMITS = new SqlTable("limits",
            Schema.newBuilder()
                    .column("customer", INT().notNull()).column("most", DECIMAL(20, 2)).primaryKey("customer").build(),
            Arrays.asList(
                    Row.of(1, SqlTypes.dec("100.00")),
                    Row.of(3, SqlTypes.dec("-123456789012345678.99")),
                    Row.of(9, null)),
            false);
    static final SqlTable BUYS = new SqlTable("buys",
            Schema.newBuilder()
                    .column("buy", BIGINT()).column("customer", INT()).column("city", STRING())
                    .column("amount", DECIMAL(10, 2)).column("stamp", TIMESTAMP_LTZ(3))
                    .columnByExpression("p", "PROCTIME()").watermark("stamp", "stamp - INTERVAL '5' SECOND").build(),
            buys(), false);
    static final SqlTable PAYMENTS = new SqlTable("payments",
            Schema.newBuilder()
                    .column("payment", INT()).column("customer", INT()).column("stamp", TIMESTAMP_LTZ(3))
                    .watermark("stamp", "stamp - INTERVAL '1' DAY").build(),
            payments(), false);
    static final SqlTable STOCK = new SqlTable("stock",
            Schema.newBuilder()
                    .column("item", INT()).column("shelf", STRING()).column("price", DECIMAL(10, 2))
                    .column("units", BIGINT()).column("seen", TIMESTAMP(6)).build(),
            stock(), true);

    private static final List<SqlTable> ALL = Arrays.asList(THINGS, CUSTOMERS, LIMITS, BUYS, PAYMENTS, STOCK);

    static void create(TableEnvironment env) {
        for (SqlTable table : ALL) {
            env.createTemporaryTable(table.name, TableDescriptor.forConnector("golden")
                    .schema(table.schema).option(TableFactory.CHANGES, table.changes).build());
        }
    }

    static SqlTable named(String name) {
        return ALL.stream().filter(table -> table.name.equals(name)).findFirst().get();
    }

    private static Schema thingsSchema() {
        Schema.Builder out = Schema.newBuilder().column("id", INT().notNull()).column("k", STRING());
        SqlTypes.ALL.forEach(column -> out.column(column.name, column.type));
        return out.column("rt", TIMESTAMP(3)).watermark("rt", "rt - INTERVAL '5' SECOND").build();
    }

    /** Never twice the same time, and not quite in order. */
    private static List<Row> things() {
        List<Row> out = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            Row row = new Row(SqlTypes.ALL.size() + 3);
            row.setField(0, i);
            row.setField(1, i == 5 ? null : KEYS[i * i % 3]);
            for (int c = 0; c < SqlTypes.ALL.size(); c++) {
                row.setField(c + 2, SqlTypes.ALL.get(c).value(i, c));
            }
            row.setField(SqlTypes.ALL.size() + 2, time(i * 1_700 - (i % 4 == 3 ? 2_000 : 0)));
            out.add(row);
        }
        return out;
    }

    private static LocalDateTime time(long millis) {
        return LocalDateTime.ofInstant(Instant.ofEpochMilli(EPOCH + millis), ZoneOffset.UTC);
    }

    private static List<Row> customers() {
        return Arrays.asList(
                Row.of(1, "Oslo", LocalDate.of(2020, 1, 1)),
                Row.of(2, "Lima", null),
                Row.of(3, "Oslo", LocalDate.of(2021, 5, 6)),
                Row.of(4, null, LocalDate.of(2022, 7, 8)));
    }

    private static List<Row> buys() {
        List<Row> out = new ArrayList<>();
        Object[] customers = {1, 2, 1, 7, null, 3, 1};
        String[] cities = {"Oslo", "Lima", "Rome", null};
        for (int i = 0; i < 18; i++) {
            // The eleventh is the ninth again.
            int n = i == 10 ? 8 : i;
            out.add(Row.of((long) n, customers[n % 7], cities[n % 4], SqlTypes.dec((n * 17) % 50 + ".25"),
                    Instant.ofEpochMilli(EPOCH + n * 2_100L)));
        }
        return out;
    }

    private static List<Row> payments() {
        return Arrays.asList(
                Row.of(100, 1, Instant.ofEpochMilli(EPOCH + 1_000)),
                Row.of(101, 1, Instant.ofEpochMilli(EPOCH + 60_000)),
                Row.of(102, 2, Instant.ofEpochMilli(EPOCH - 500)),
                Row.of(103, 9, Instant.ofEpochMilli(EPOCH)));
    }

    /** Insertions, updates and deletions. */
    private static List<Row> stock() {
        List<Row> out = new ArrayList<>();
        Row[] first = new Row[8];
        for (int i = 0; i < first.length; i++) {
            first[i] = Row.ofKind(RowKind.INSERT, i, i % 2 == 0 ? "top" : "floor", SqlTypes.dec((i * 7) % 5 + ".50"),
                    i == 3 ? null : i * 10L, SqlTypes.at("2024-02-29T12:30:01.00000" + i));
            out.add(first[i]);
        }
        for (int i : new int[] {1, 2, 7}) {
            out.add(with(RowKind.UPDATE_BEFORE, first[i]));
            Row after = with(RowKind.UPDATE_AFTER, first[i]);
            after.setField(2, SqlTypes.dec("9.75"));
            out.add(after);
        }
        out.add(with(RowKind.DELETE, first[4]));
        out.add(with(RowKind.DELETE, first[5]));
        return out;
    }

    private static Row with(RowKind kind, Row row) {
        Row out = Row.copy(row);
        out.setKind(kind);
        return out;
    }
}
