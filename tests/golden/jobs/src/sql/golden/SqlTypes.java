package golden;

import static org.apache.flink.table.api.DataTypes.*;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.Period;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.table.types.DataType;
import org.apache.flink.types.Row;

/** A column of each type of SQL, and what stands in it. */
final class SqlTypes {
    private SqlTypes() {}

    static final class Column {
        final String name;
        final DataType type;
        final List<Object> values;

        Column(String name, DataType type, Object... values) {
            this.name = name;
            this.type = type;
            this.values = Arrays.asList(values);
        }

        /** What row i has: null in every fifth row, in other rows of each column. */
        Object value(int i, int position) {
            return (i + position) % 5 == 4 ? null : values.get(i % values.size());
        }
    }

    /** MIN and MAX know all of these. */
    static final List<Column> ORDERED = Arrays.asList(
            new Column("b", BOOLEAN(), true, false),
            new Column("i8", TINYINT(), (byte) 7, Byte.MIN_VALUE, Byte.MAX_VALUE, (byte) -1),
            new Column("i16", SMALLINT(), Short.MAX_VALUE, (short) -2, Short.MIN_VALUE, (short) 300),
            new Column("i32", INT(), 1, 2, 3, Integer.MIN_VALUE, 2, 1, Integer.MAX_VALUE),
            new Column("i64", BIGINT(), 10_000_000_000L, Long.MIN_VALUE, -1L, Long.MAX_VALUE),
            new Column("f32", FLOAT(), 1.5f, -0.25f, 3.4028235e38f, 1e-45f),
            new Column("f64", DOUBLE(), 0.1, -1e300, 4.9e-324, 1234.5),
            new Column("money", DECIMAL(10, 2), dec("0.01"), dec("-99999999.99"), dec("99999999.99"), dec("12.30")),
            new Column("big_money", DECIMAL(30, 5), dec("0.00001"), dec("-1234567890123456789012345.00000"),
                    dec("9999999999999999999999999.99999"), dec("-1.50000")),
            new Column("vc", VARCHAR(20), "seven77", "eight888", "", "\u6771\u4eac\u90fd"),
            new Column("str", STRING(), "s", Strings.repeat("long ", 9), "\ud83d\ude80", "", "\u0000"),
            new Column("d", DATE(), LocalDate.of(2024, 2, 29), LocalDate.of(1969, 12, 31), LocalDate.of(1, 1, 1),
                    LocalDate.of(9999, 12, 31)),
            new Column("t", TIME(0), LocalTime.of(23, 59, 59), LocalTime.MIDNIGHT, LocalTime.of(7, 5)),
            new Column("ts0", TIMESTAMP(0), at("2024-02-29T12:30:01"), at("1969-12-31T23:59:59"), at("9999-12-31T23:59:59")),
            new Column("ts3", TIMESTAMP(3), at("2024-02-29T12:30:01.123"), at("1969-12-31T23:59:59.999"), at("0001-01-01T00:00")),
            new Column("ts6", TIMESTAMP(6), at("2024-02-29T12:30:01.123456"), at("1969-12-31T23:59:59.999999")),
            new Column("ts9", TIMESTAMP(9), at("2024-02-29T12:30:01.123456789"), at("1969-12-31T23:59:59.000000001")),
            new Column("ltz0", TIMESTAMP_LTZ(0), instant("2024-02-29T12:30:01Z"), instant("1969-12-31T23:59:59Z")),
            new Column("ltz3", TIMESTAMP_LTZ(3), instant("2024-02-29T12:30:01.001Z"), instant("1969-12-31T23:59:59.999Z")),
            new Column("ltz6", TIMESTAMP_LTZ(6), instant("2024-02-29T12:30:01.000001Z"), instant("1900-01-01T00:00:00.000001Z")),
            new Column("ltz9", TIMESTAMP_LTZ(9), instant("2024-02-29T12:30:01.000000999Z"), instant("1969-12-31T00:00:00.5Z")));

    /** These can be grouped by, but not compared. */
    static final List<Column> OTHERS = Arrays.asList(
            new Column("ch", CHAR(3), "abc", "xyz", "\u00e4\u6771\ud83d\ude80"),
            new Column("bin", BINARY(4), new byte[] {0, -1, 2, 127}, new byte[] {1, 2, 3, 4}),
            new Column("vbin", VARBINARY(12), new byte[0], Strings.bytes(7), Strings.bytes(8), Strings.bytes(12)),
            new Column("octets", BYTES(), Strings.bytes(20), new byte[] {-128}),
            new Column("ym", INTERVAL(YEAR(), MONTH()), Period.ofMonths(14), Period.ofMonths(-1)),
            new Column("ds", INTERVAL(DAY(), SECOND(3)), Duration.ofMillis(-1), Duration.ofMillis(90_061_001)),
            new Column("ints", ARRAY(INT()), new Integer[] {1, null, -3}, new Integer[0]),
            new Column("lists", ARRAY(ARRAY(STRING())), new String[][] {{"a", null, "longer than eight"}, null, {}}, new String[0][]),
            new Column("counts", MAP(STRING(), BIGINT()), map("one", 1L, "none", null), Collections.emptyMap()),
            new Column("places", MAP(INT(), ROW(FIELD("x", DOUBLE()), FIELD("y", DECIMAL(20, 1)))),
                    map(1, Row.of(0.5, dec("-1.5")), 2, null), map(3, Row.of(null, dec("1234567890123456789.0")))),
            new Column("bag", MULTISET(STRING()), map("x", 2, "y", 1), map("only", 1)),
            new Column("r", ROW(FIELD("flag", BOOLEAN()), FIELD("name", STRING()), FIELD("at", TIMESTAMP(9)),
                            FIELD("inside", ROW(FIELD("n", SMALLINT()), FIELD("days", ARRAY(DATE()))))),
                    Row.of(true, "nested", at("2024-01-01T00:00:00.000000001"),
                            Row.of((short) 5, new LocalDate[] {LocalDate.of(2000, 1, 1), null})),
                    Row.of(null, null, null, null)));

    /** Can only be passed on. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private static final Column OPAQUE = new Column("opaque",
            RAW(Tuple2.class, (TypeSerializer) Shims.serializer(Types.TUPLE(Types.STRING, Types.LONG))),
            Tuple2.of("left", 1L), Tuple2.of("", -1L));

    static final List<Column> ALL = new ArrayList<>();

    /** Keys of a group: what has no other types inside. */
    static final List<Column> GROUPED = new ArrayList<>(ORDERED);

    static {
        ALL.addAll(ORDERED);
        ALL.addAll(OTHERS);
        ALL.add(OPAQUE);
        GROUPED.addAll(OTHERS.subList(0, 6));
    }

    /** The names of columns, each in a text; {@code %s} is the name. */
    static String each(List<Column> columns, String text) {
        return columns.stream().map(column -> text.replace("%s", column.name)).collect(Collectors.joining(", "));
    }

    static BigDecimal dec(String text) {
        return new BigDecimal(text);
    }

    static LocalDateTime at(String iso) {
        return LocalDateTime.parse(iso);
    }

    private static Instant instant(String iso) {
        return Instant.parse(iso);
    }

    private static Map<Object, Object> map(Object... pairs) {
        Map<Object, Object> out = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            out.put(pairs[i], pairs[i + 1]);
        }
        return out;
    }
}
