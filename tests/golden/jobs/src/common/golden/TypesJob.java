package golden;

import static org.apache.flink.api.common.typeinfo.Types.BIG_DEC;
import static org.apache.flink.api.common.typeinfo.Types.BIG_INT;
import static org.apache.flink.api.common.typeinfo.Types.BOOLEAN;
import static org.apache.flink.api.common.typeinfo.Types.BYTE;
import static org.apache.flink.api.common.typeinfo.Types.CHAR;
import static org.apache.flink.api.common.typeinfo.Types.DOUBLE;
import static org.apache.flink.api.common.typeinfo.Types.EITHER;
import static org.apache.flink.api.common.typeinfo.Types.ENUM;
import static org.apache.flink.api.common.typeinfo.Types.FLOAT;
import static org.apache.flink.api.common.typeinfo.Types.INSTANT;
import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.LIST;
import static org.apache.flink.api.common.typeinfo.Types.LOCAL_DATE;
import static org.apache.flink.api.common.typeinfo.Types.LOCAL_DATE_TIME;
import static org.apache.flink.api.common.typeinfo.Types.LOCAL_TIME;
import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.MAP;
import static org.apache.flink.api.common.typeinfo.Types.OBJECT_ARRAY;
import static org.apache.flink.api.common.typeinfo.Types.POJO;
import static org.apache.flink.api.common.typeinfo.Types.PRIMITIVE_ARRAY;
import static org.apache.flink.api.common.typeinfo.Types.ROW;
import static org.apache.flink.api.common.typeinfo.Types.ROW_NAMED;
import static org.apache.flink.api.common.typeinfo.Types.SHORT;
import static org.apache.flink.api.common.typeinfo.Types.SQL_DATE;
import static org.apache.flink.api.common.typeinfo.Types.SQL_TIME;
import static org.apache.flink.api.common.typeinfo.Types.SQL_TIMESTAMP;
import static org.apache.flink.api.common.typeinfo.Types.STRING;
import static org.apache.flink.api.common.typeinfo.Types.TUPLE;
import static org.apache.flink.api.common.typeinfo.Types.VALUE;
import static org.apache.flink.api.common.typeinfo.Types.VOID;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.BasicArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.BasicTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.java.tuple.Tuple0;
import org.apache.flink.api.java.tuple.Tuple1;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.api.java.typeutils.runtime.NullableSerializer;
import org.apache.flink.api.java.typeutils.runtime.Tuple0Serializer;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.types.BooleanValue;
import org.apache.flink.types.ByteValue;
import org.apache.flink.types.CharValue;
import org.apache.flink.types.DoubleValue;
import org.apache.flink.types.Either;
import org.apache.flink.types.FloatValue;
import org.apache.flink.types.IntValue;
import org.apache.flink.types.LongValue;
import org.apache.flink.types.NullValue;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.types.ShortValue;
import org.apache.flink.types.StringValue;

/** One state for each type; key n has the n-th value. */
final class TypesJob extends StatesJob {
    TypesJob() {
        super("types", "types");
    }

    private static StateSpec value(String name, Object type, Object... values) {
        if (type == null) {
            return null;
        }
        return StateSpec.<Object>value(name, type, e -> e.number < values.length ? values[(int) e.number] : null);
    }

    /** A map state whose n-th key has the n-th map. */
    private static StateSpec map(String name, Object keyType, Object valueType, Map<?, ?>... maps) {
        return StateSpec.<Object, Object>map(name, keyType, valueType, e -> {
            if (e.number >= maps.length) {
                return null;
            }
            return new LinkedHashMap<Object, Object>(maps[(int) e.number]);
        });
    }

    private static OperatorSpec operator(String name, StateSpec... states) {
        return new OperatorSpec("types-" + name, name, INT, e -> (int) e.number, states);
    }

    private static <T> List<T> listOf(Object... items) {
        @SuppressWarnings("unchecked")
        List<T> out = new ArrayList<>((List<T>) Arrays.asList(items));
        return out;
    }

    /** Keys and values in turn. */
    private static Map<Object, Object> mapOf(Object... pairs) {
        Map<Object, Object> out = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            out.put(pairs[i], pairs[i + 1]);
        }
        return out;
    }

    private static Object[] strings() {
        List<Object> out = new ArrayList<>(Arrays.asList(Strings.AWKWARD));
        out.add(Strings.repeat("abcdefghi ", 20));
        out.add(Strings.repeat("\u00e9\u6771", 120));
        out.add(Strings.repeat("x", 127));
        out.add(Strings.repeat("x", 126) + "\u0080");
        out.add(Strings.repeat("0123456789abcdef", 1250));
        return out.toArray();
    }

    @Override
    List<OperatorSpec> operators() {
        return Arrays.asList(numbers(), time(), extremes(), arrays(), collections(), composites(), pojos(), values(),
                operator("null-key",
                        value("map-null-key", MAP(STRING, LONG), mapOf(null, 3L, "", 4L), mapOf("x", null))));
    }

    private static OperatorSpec numbers() {
        return operator("numbers-and-text",
                value("boolean", BOOLEAN, true, false),
                value("byte", BYTE, (byte) 0, (byte) 1, (byte) -1, Byte.MIN_VALUE, Byte.MAX_VALUE),
                value("short", SHORT, (short) 0, (short) 1, (short) -1, Short.MIN_VALUE, Short.MAX_VALUE),
                value("int", INT, 0, 1, -1, Integer.MIN_VALUE, Integer.MAX_VALUE),
                value("long", LONG, 0L, 1L, -1L, Long.MIN_VALUE, Long.MAX_VALUE, 1L << 53, (1L << 53) + 1),
                value("float", FLOAT, 0f, -0f, 1.5f, Float.NaN, Float.NEGATIVE_INFINITY, Float.POSITIVE_INFINITY,
                        Float.MIN_VALUE, Float.MAX_VALUE, 0.1f),
                value("double", DOUBLE, 0.0, -0.0, 1.5, Double.NaN, Double.NEGATIVE_INFINITY,
                        Double.POSITIVE_INFINITY, Double.MIN_VALUE, Double.MAX_VALUE, 0.1),
                value("char", CHAR, 'a', '\u0000', '\uffff', '\ud800', '\u00df', '\u6771'),
                value("string", STRING, strings()),
                value("big-integer", BIG_INT, BigInteger.ZERO, BigInteger.ONE, BigInteger.ONE.negate(),
                        BigInteger.valueOf(128), BigInteger.valueOf(-128), BigInteger.ONE.shiftLeft(63),
                        BigInteger.ONE.shiftLeft(200).negate(), BigInteger.TEN.pow(50)),
                value("big-decimal", BIG_DEC, BigDecimal.ZERO, BigDecimal.ONE, BigDecimal.TEN, new BigDecimal("0.00"),
                        new BigDecimal("-12.340"), new BigDecimal("1E+5"), new BigDecimal("1E-10"),
                        new BigDecimal(BigInteger.TEN.pow(60).add(BigInteger.ONE), 30),
                        new BigDecimal(BigInteger.ONE, Integer.MAX_VALUE), new BigDecimal(BigInteger.ONE, -40),
                        new BigDecimal("0E+3"), new BigDecimal("0.0000001")),
                value("void-in-tuple", TUPLE(INT, VOID), Tuple2.of(1, null), Tuple2.of(-1, null)));
    }

    private static OperatorSpec time() {
        return operator("time",
                value("date", BasicTypeInfo.DATE_TYPE_INFO, new Date(0), new Date(-1), new Date(1_700_000_000_123L),
                        new Date(-62_135_596_800_000L)),
                value("sql-date", SQL_DATE, new java.sql.Date(0), new java.sql.Date(-86_400_000L),
                        new java.sql.Date(1_641_600_000_000L)),
                value("sql-time", SQL_TIME, new java.sql.Time(0), new java.sql.Time(86_399_999)),
                value("sql-timestamp", SQL_TIMESTAMP, timestamp(0, 0), timestamp(1_700_000_000_000L, 123_456_789),
                        timestamp(-1000, 1), timestamp(-1000, 999_999_999)),
                value("instant", INSTANT, Instant.EPOCH, Instant.parse("1969-12-31T23:59:59.999999999Z"),
                        Instant.parse("2023-11-14T22:13:20.000000001Z"), Instant.parse("9999-12-31T23:59:59.999999Z"),
                        Instant.parse("0001-01-01T00:00:00Z")),
                value("local-date", LOCAL_DATE, LocalDate.of(1970, 1, 1), LocalDate.of(1969, 12, 31),
                        LocalDate.of(2024, 2, 29), LocalDate.of(9999, 12, 31), LocalDate.of(1, 1, 1)),
                value("local-time", LOCAL_TIME, LocalTime.MIN, LocalTime.MAX, LocalTime.NOON, LocalTime.of(1, 2, 3),
                        LocalTime.of(23, 59, 59, 120_000_000), LocalTime.of(1, 2, 3, 4_000), LocalTime.of(0, 0, 0, 5)),
                value("local-date-time", LOCAL_DATE_TIME, LocalDateTime.of(1970, 1, 1, 0, 0),
                        LocalDateTime.of(1969, 12, 31, 23, 59, 59, 999_999_999),
                        LocalDateTime.of(2024, 2, 29, 1, 2, 3, 4_000), LocalDateTime.of(9999, 12, 31, 23, 59, 59),
                        LocalDateTime.of(1, 1, 1, 0, 0)),
                value("dates-with-null", LIST(BasicTypeInfo.DATE_TYPE_INFO), listOf(new Date(5), null), listOf()),
                value("timestamps-with-null", LIST(SQL_TIMESTAMP), listOf(null, timestamp(7000, 8))),
                value("instants-with-null", LIST(INSTANT), listOf(null, Instant.EPOCH, null)),
                value("local-dates-with-null", LIST(LOCAL_DATE), listOf(LocalDate.of(2000, 1, 1), null)),
                value("local-times-with-null", LIST(LOCAL_TIME), listOf(LocalTime.NOON, null)),
                value("local-date-times-with-null", LIST(LOCAL_DATE_TIME),
                        listOf(null, LocalDateTime.of(2000, 1, 1, 1, 1))));
    }

    private static java.sql.Timestamp timestamp(long secondStart, int nanos) {
        java.sql.Timestamp out = new java.sql.Timestamp(secondStart);
        out.setNanos(nanos);
        return out;
    }

    /** What does not fit a timestamp in microseconds, or a date of four digits. */
    private static OperatorSpec extremes() {
        return operator("extremes",
                value("extreme-date", BasicTypeInfo.DATE_TYPE_INFO,
                        new Date(Long.MAX_VALUE), new Date(Long.MIN_VALUE + 1)),
                value("extreme-instant", INSTANT, Instant.MAX, Instant.MIN),
                value("extreme-local-date", LOCAL_DATE, LocalDate.MAX, LocalDate.MIN, LocalDate.of(0, 1, 1),
                        LocalDate.of(-44, 3, 15), LocalDate.of(10_000, 1, 1)),
                value("extreme-local-date-time", LOCAL_DATE_TIME, LocalDateTime.MAX, LocalDateTime.MIN,
                        LocalDateTime.of(-44, 3, 15, 12, 0), LocalDateTime.of(10_000, 1, 1, 0, 0)));
    }

    private static OperatorSpec arrays() {
        return operator("arrays",
                value("bytes", PRIMITIVE_ARRAY(BYTE), new byte[0], new byte[] {0, -1, 127, -128}, Strings.bytes(300)),
                value("booleans", PRIMITIVE_ARRAY(BOOLEAN), new boolean[0], new boolean[] {true, false, true}),
                value("shorts", PRIMITIVE_ARRAY(SHORT), new short[0], new short[] {Short.MIN_VALUE, 0, 7}),
                value("ints", PRIMITIVE_ARRAY(INT), new int[0], new int[] {Integer.MIN_VALUE, 0, 7}),
                value("longs", PRIMITIVE_ARRAY(LONG), new long[0], new long[] {Long.MIN_VALUE, 0, Long.MAX_VALUE}),
                value("floats", PRIMITIVE_ARRAY(FLOAT), new float[0], new float[] {-0f, Float.NaN, 1.25f}),
                value("doubles", PRIMITIVE_ARRAY(DOUBLE), new double[0], new double[] {-0.0, Double.NaN, 1.25}),
                value("chars", PRIMITIVE_ARRAY(CHAR), new char[0], new char[] {'a', '\u0000', '\ud800'}),
                value("string-array", BasicArrayTypeInfo.STRING_ARRAY_TYPE_INFO, new String[0],
                        new String[] {"a", null, ""}, Strings.AWKWARD),
                value("boxed-int-array", BasicArrayTypeInfo.INT_ARRAY_TYPE_INFO, new Integer[0],
                        new Integer[] {1, null, -1}),
                value("boxed-double-array", BasicArrayTypeInfo.DOUBLE_ARRAY_TYPE_INFO,
                        (Object) new Double[] {null, Double.NaN}),
                value("int-arrays", OBJECT_ARRAY(PRIMITIVE_ARRAY(INT)), new int[][] {{1, 2}, null, {}}, new int[0][]),
                value("tuple-array", OBJECT_ARRAY(TUPLE(INT, STRING)), (Object) new Tuple2<?, ?>[] {Tuple2.of(1, "x"), null}),
                value("pojo-array", OBJECT_ARRAY(POJO(Address.class)),
                        (Object) new Address[] {new Address("s", null), null, new Address(null, 4)}),
                value("enum-array", OBJECT_ARRAY(ENUM(Color.class)),
                        (Object) new Color[] {Color.BLUE, null, Color.ULTRA_VIOLET}));
    }

    private static OperatorSpec collections() {
        return operator("collections",
                value("list-of-strings", LIST(STRING), listOf(), listOf("a", null, ""), listOf((Object[]) Strings.AWKWARD)),
                value("list-of-longs", LIST(LONG), listOf(1L, Long.MIN_VALUE), listOf()),
                value("list-of-lists", LIST(LIST(INT)), listOf(listOf(1, 2), listOf()), listOf()),
                value("list-of-tuples", LIST(TUPLE(STRING, LONG)), listOf(Tuple2.of("x", 1L), Tuple2.of(null, 2L))),
                value("list-of-decimals", LIST(BIG_DEC), listOf(null, new BigDecimal("1.50"), BigDecimal.ZERO)),
                value("list-of-integers", LIST(BIG_INT), listOf(null, BigInteger.TEN, BigInteger.ZERO)),
                value("map-to-longs", MAP(STRING, LONG), mapOf(), mapOf("a", 1L, "b", null)),
                value("map-to-lists", MAP(INT, LIST(STRING)), mapOf(1, listOf("a", null)), mapOf(2, null, 3, listOf())),
                value("map-of-maps", MAP(INT, MAP(STRING, DOUBLE)), mapOf(1, mapOf("x", -0.0), 2, mapOf(), 3, null)),
                value("set-of-longs", Shims.set(LONG), new HashSet<>(Arrays.asList(1L, 2L)), new HashSet<>()),
                value("set-of-strings", Shims.set(STRING), new HashSet<>(Arrays.asList("", "a", Strings.AWKWARD[3]))),
                value("padded-nullable-ints",
                        new ListSerializer<>(NullableSerializer.wrap(IntSerializer.INSTANCE, true)),
                        listOf(1, null, -1), listOf(null, null)),
                value("nullable-longs", new ListSerializer<>(NullableSerializer.wrap(LongSerializer.INSTANCE, false)),
                        listOf(1L, null, -1L), listOf(null, null)),
                map("enum-to-bytes", ENUM(Color.class), PRIMITIVE_ARRAY(BYTE),
                        mapOf(Color.RED, Strings.bytes(3), Color.BLUE, null), mapOf(Color.GREEN, new byte[0])),
                map("tuple-to-list", TUPLE(INT, STRING), LIST(LONG),
                        mapOf(Tuple2.of(1, "a"), listOf(1L), Tuple2.of(1, ""), listOf(), Tuple2.of(-1, "b"), null)),
                map("int-to-void", INT, VOID, mapOf(1, null, 2, null)),
                StateSpec.<Object>list("state-of-rows", ROW(INT, STRING),
                        e -> e.number > 5 ? null : Row.of(e.number % 2 == 0 ? null : (int) e.number, e.text)));
    }

    private static OperatorSpec composites() {
        Object[] wide = new Object[11];
        Object[] narrow = new Object[11];
        for (int i = 0; i < 11; i += 2) {
            wide[i] = i;
        }
        Arrays.fill(narrow, 7);
        Row deleted = Row.ofKind(RowKind.DELETE, 1L, null);
        return operator("composites",
                value("tuple0", Tuple0Serializer.INSTANCE, Tuple0.INSTANCE),
                value("tuple1", TUPLE(STRING), Tuple1.of("x"), Tuple1.of((String) null)),
                value("tuple2", TUPLE(INT, STRING), Tuple2.of(1, "x"), Tuple2.of(-1, "")),
                value("tuple3-nested", TUPLE(TUPLE(LONG, TUPLE(BOOLEAN, STRING)), LIST(TUPLE(INT, INT)), DOUBLE),
                        Tuple3.of(Tuple2.of(1L, Tuple2.of(true, null)), listOf(Tuple2.of(1, 2), Tuple2.of(3, 4)), -0.0),
                        Tuple3.of(Tuple2.of(2L, Tuple2.of(false, "y")), listOf(), Double.NaN)),
                value("tuple5", TUPLE(BYTE, SHORT, CHAR, FLOAT, BIG_DEC),
                        Tuple5.of((byte) 1, (short) 2, 'c', 0.5f, new BigDecimal("1.10"))),
                value("row", ROW(INT, STRING, DOUBLE), Row.of(1, "x", 0.5), Row.of(null, null, null),
                        Row.of(null, "", Double.NaN)),
                value("row-kinds", ROW_NAMED(new String[] {"id", "text"}, LONG, STRING), Row.of(1L, "x"), deleted,
                        Row.ofKind(RowKind.UPDATE_BEFORE, null, "b"), Row.ofKind(RowKind.UPDATE_AFTER, 3L, "a")),
                value("row-wide", ROW(INT, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT), Row.of(wide), Row.of(narrow),
                        Row.of(new Object[11])),
                value("row-nested", ROW(ROW(INT, STRING), LIST(STRING)), Row.of(Row.of(1, null), listOf("a")),
                        Row.of(null, null), Row.of(Row.of(null, "b"), listOf())),
                value("either", EITHER(STRING, LONG), Either.Left("left"), Either.Right(7L), Either.Left("")),
                value("either-nested", EITHER(EITHER(INT, STRING), TUPLE(INT, INT)), Either.Left(Either.Left(1)),
                        Either.Left(Either.Right("r")), Either.Right(Tuple2.of(1, 2))),
                value("enum", ENUM(Color.class), (Object[]) Color.values()));
    }

    /** In Flink 1.13 a copy of a serializer forgets the subclasses that it met: no unregistered ones there. */
    private static Shape square(String label, Long width, Address where) {
        return EnvironmentInformation.getVersion().startsWith("1.13.")
                ? new Shape(label, 4)
                : new Square(label, width, where);
    }

    private static final Shape SQUARE = square("", 0L, null);

    /**
     * A serializer that has met the unregistered subclasses of a value and so describes them in its snapshot. One that
     * meets them only while it writes a snapshot is too late for that; the job "custom" has such a state.
     */
    private static <T> TypeSerializer<T> knowing(TypeInformation<T> type, T value) {
        TypeSerializer<T> out = Shims.serializer(type);
        out.copy(value);
        return out;
    }

    private static OperatorSpec pojos() {
        Person none = new Person();
        Person all = new Person();
        all.name = Strings.AWKWARD[3];
        all.age = 41;
        all.score = -5;
        all.active = true;
        all.initial = 'Q';
        all.readings = new double[] {1.5, Double.NaN, -0.0};
        all.address = new Address("Main St", null);
        all.tags = listOf("x", null, "");
        all.counts = new LinkedHashMap<>();
        all.counts.put("one", 1L);
        all.counts.put("none", null);
        all.color = Color.GREEN;
        all.since = Instant.parse("2020-02-29T12:34:56.789012Z");
        all.balance = new BigDecimal("-1234.50");
        all.ratio = Double.POSITIVE_INFINITY;
        Person empty = new Person();
        empty.name = "";
        empty.readings = new double[0];
        empty.address = new Address(null, 0);
        empty.tags = listOf();
        empty.counts = new LinkedHashMap<>();
        empty.color = Color.RED;
        return operator("pojos",
                value("person", Person.type(), none, all, empty),
                value("address", POJO(Address.class), new Address("a", 1), new Address(null, null)),
                value("shape", knowing(POJO(Shape.class), SQUARE), new Shape("plain", 3), new Circle("round", 2.5),
                        square("boxed", 9L, new Address("s", 1)), square(null, null, null),
                        new Shape(null, 0), square("twice", 1L, new Address(null, null)), new Circle("", -0.0)),
                value("drawing", knowing(POJO(Drawing.class), new Drawing("", SQUARE, SQUARE)), new Drawing("t", new Circle("c", 1), null),
                        new Drawing(null, square("q", 5L, new Address("s", 2)), new Shape("x", 1)),
                        new Drawing("", null, square(null, null, null))),
                value("list-of-shapes", knowing(LIST(POJO(Shape.class)), Collections.singletonList(SQUARE)),
                        listOf(new Circle("c", 1), new Shape("s", 2)),
                        listOf(), listOf(square("q", 5L, null))),
                map("persons-by-name", STRING, Person.type(), mapOf("none", none, "all", all), mapOf("null", null)),
                value("basket", Shims.set(LONG) == null ? null : POJO(Basket.class), new Basket(null, null, null),
                        new Basket(listOf("a", "b"), amounts(), new HashSet<>(Arrays.asList(5L, 6L))),
                        new Basket(listOf(), new LinkedHashMap<>(), Collections.emptySet())));
    }

    private static Map<String, Integer> amounts() {
        Map<String, Integer> out = new LinkedHashMap<>();
        out.put("a", 2);
        out.put("b", -1);
        return out;
    }

    private static OperatorSpec values() {
        return operator("values",
                value("boolean-value", VALUE(BooleanValue.class), new BooleanValue(true), new BooleanValue(false)),
                value("byte-value", VALUE(ByteValue.class), new ByteValue((byte) -128), new ByteValue((byte) 127)),
                value("short-value", VALUE(ShortValue.class), new ShortValue((short) -2)),
                value("int-value", VALUE(IntValue.class), new IntValue(Integer.MIN_VALUE), new IntValue(5)),
                value("long-value", VALUE(LongValue.class), new LongValue(Long.MAX_VALUE), new LongValue(-5)),
                value("float-value", VALUE(FloatValue.class), new FloatValue(1.5f)),
                value("double-value", VALUE(DoubleValue.class), new DoubleValue(-2.25)),
                value("char-value", VALUE(CharValue.class), new CharValue('\u00df')),
                value("string-value", VALUE(StringValue.class), new StringValue("text"), new StringValue(""),
                        new StringValue(Strings.AWKWARD[3]), new StringValue(Strings.repeat("\u6771y", 90))),
                value("null-value", VALUE(NullValue.class), NullValue.getInstance()));
    }
}
