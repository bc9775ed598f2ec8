package golden;

import static org.apache.flink.api.common.typeinfo.Types.INT;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.Period;
import java.time.YearMonth;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Currency;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;

/** One state for each of many generic types; key n has the n-th value. */
final class KryoJob extends StatesJob {
    KryoJob() {
        super("kryo", "types");
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static StateSpec kryo(Class<?> type, Object... values) {
        String name = type.getSimpleName().replace("[]", "-array");
        return StateSpec.<Object>value(type.getName().startsWith("java.sql.") ? "sql " + name : name, generic(type),
                e -> e.number < values.length ? values[(int) e.number] : null);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static TypeSerializer<Object> generic(Class<?> type) {
        // The environment of these jobs allows no generic types; a serializer is not asked.
        return new GenericTypeInfo(type).createSerializer(new SerializerConfigImpl());
    }

    private static OperatorSpec operator(String name, StateSpec... states) {
        return new OperatorSpec(name, name, INT, e -> (int) e.number, states);
    }

    @Override
    List<OperatorSpec> operators() {
        return Arrays.asList(scalars(), times(), collections(), classes());
    }

    private static OperatorSpec scalars() {
        return operator("kryo-scalars",
                kryo(Boolean.class, true, false),
                kryo(Byte.class, (byte) -128, (byte) 127),
                kryo(Short.class, (short) -1, Short.MAX_VALUE),
                kryo(Character.class, 'a', '\u4e2d'),
                kryo(Integer.class, 0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE),
                kryo(Long.class, 0L, -1L, Long.MIN_VALUE, Long.MAX_VALUE),
                kryo(Float.class, 1.5f, -0.0f),
                kryo(Double.class, 0.1, -0.0, Double.NaN, Double.NEGATIVE_INFINITY),
                kryo(String.class, "", "a", "\u00e9\u4e2d", Strings.repeat("x", 80)),
                kryo(StringBuilder.class, new StringBuilder("builder")),
                kryo(BigInteger.class, BigInteger.ZERO, BigInteger.ONE.shiftLeft(100).negate()),
                kryo(BigDecimal.class, new BigDecimal("0.00"), new BigDecimal("-1E+5"), new BigDecimal("12.345")),
                kryo(UUID.class, new UUID(1, -2), new UUID(Long.MIN_VALUE, Long.MAX_VALUE)),
                kryo(URI.class, URI.create("http://a/b?c#d")),
                kryo(Locale.class, Locale.GERMANY, Locale.JAPANESE),
                kryo(Currency.class, Currency.getInstance("EUR")),
                kryo(Class.class, String.class));
    }

    private static OperatorSpec times() {
        return operator("kryo-times",
                kryo(Date.class, new Date(0), new Date(-1), new Date(1_700_000_000_000L)),
                kryo(java.sql.Date.class, new java.sql.Date(86_400_000)),
                kryo(java.sql.Time.class, new java.sql.Time(3_600_000)),
                kryo(java.sql.Timestamp.class, java.sql.Timestamp.from(Instant.ofEpochSecond(-1, 5_000))),
                kryo(Instant.class, Instant.ofEpochSecond(-1, 999_999_000), Instant.ofEpochSecond(5)),
                kryo(LocalDate.class, LocalDate.of(2024, 2, 29), LocalDate.of(1582, 10, 15)),
                kryo(LocalTime.class, LocalTime.of(0, 0, 1), LocalTime.of(23, 59, 59, 999_999_999)),
                kryo(LocalDateTime.class, LocalDateTime.of(2024, 2, 29, 12, 30, 1)),
                kryo(OffsetDateTime.class, OffsetDateTime.of(2024, 2, 29, 1, 2, 3, 0, ZoneOffset.ofHours(-5))),
                kryo(YearMonth.class, YearMonth.of(2024, 2)),
                kryo(MonthDay.class, MonthDay.of(2, 29)),
                kryo(Period.class, Period.of(1, 2, 3), Period.ZERO),
                kryo(ZoneOffset.class, ZoneOffset.UTC, ZoneOffset.ofHoursMinutes(5, 30)));
    }

    private static OperatorSpec collections() {
        LinkedHashMap<Object, Object> map = new LinkedHashMap<>();
        map.put("a", 1L);
        map.put("b", null);
        return operator("kryo-collections",
                kryo(ArrayList.class, new ArrayList<>(), new ArrayList<>(Arrays.asList("a", 1, null, 2L, 0.5))),
                kryo(LinkedList.class, new LinkedList<>(Arrays.asList(1, 2))),
                kryo(ArrayDeque.class, new ArrayDeque<>(Arrays.asList("x", "y"))),
                kryo(Vector.class, new Vector<>(Arrays.asList(true, false))),
                kryo(HashSet.class, new HashSet<>(Arrays.asList(1, 2, 3))),
                kryo(LinkedHashSet.class, new LinkedHashSet<>(Arrays.asList(1, 2))),
                kryo(TreeSet.class, new TreeSet<>(Arrays.asList(3, 1, 2))),
                kryo(HashMap.class, new HashMap<>(map), new HashMap<>(Collections.singletonMap(1, "x"))),
                kryo(LinkedHashMap.class, map),
                kryo(TreeMap.class, new TreeMap<>(Collections.singletonMap("k", new BigDecimal("1.0")))),
                kryo(ConcurrentHashMap.class, new ConcurrentHashMap<>(Collections.singletonMap("k", 1))),
                kryo(int[].class, new int[] {}, new int[] {1, -1, Integer.MIN_VALUE}),
                kryo(long[].class, new long[] {Long.MIN_VALUE, 1}),
                kryo(double[].class, new double[] {0.5, -1}),
                kryo(byte[].class, new byte[] {0, -1}),
                kryo(String[].class, (Object) new String[] {"a", null}));
    }

    private static OperatorSpec classes() {
        return operator("kryo-classes",
                kryo(Fleet.Truck.class, Fleet.truck(0), Fleet.truck(1), Fleet.truck(2), Fleet.truck(3)),
                kryo(Fleet.Car.class, Fleet.car(1), Fleet.car(2)),
                kryo(Fleet.Vehicle.class, Fleet.car(3), Fleet.car(4)),
                kryo(Fleet.Fuel.class, Fleet.Fuel.DIESEL, Fleet.Fuel.HYDROGEN),
                kryo(Object.class, "text", 5, 6L, Fleet.Fuel.ELECTRIC, Fleet.truck(5), new Date(7)),
                StateSpec.<Object>list("Trucks", generic(Fleet.Truck.class), e -> Fleet.truck(e.number)),
                StateSpec.<Object, Object>map("cars by fuel", generic(Fleet.Fuel.class), generic(Fleet.Car.class),
                        e -> StateSpec.entry(Fleet.Fuel.values()[(int) (e.number % 3)], Fleet.car(e.number))));
    }
}
