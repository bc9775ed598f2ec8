package zoo;

import com.google.common.collect.*;
import de.javakaffee.kryoserializers.*;
import de.javakaffee.kryoserializers.guava.*;
import de.javakaffee.kryoserializers.jodatime.*;
import java.io.ByteArrayOutputStream;
import java.io.FileWriter;
import java.io.Writer;
import java.net.URI;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.regex.Pattern;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;
import org.joda.time.*;
import org.joda.time.chrono.*;

/** Writes what the serializers of de.javakaffee:kryo-serializers write, and classes of the JDK; the columns are those of Vectors. */
public class LibraryVectors {
    private static Writer out;

    /** A serializer that nobody but the job knows. */
    public static class MapSer extends com.esotericsoftware.kryo.Serializer<Map> {
        @Override
        public void write(com.esotericsoftware.kryo.Kryo kryo, com.esotericsoftware.kryo.io.Output output, Map map) {
            output.writeInt(map.size(), true);
        }

        @Override
        public Map read(com.esotericsoftware.kryo.Kryo kryo, com.esotericsoftware.kryo.io.Input input, Class type) {
            throw new UnsupportedOperationException();
        }
    }

    /** A class with fields of types of the libraries. */
    public static class Lines {
        public ImmutableList<String> words = ImmutableList.of("a", "b");
        public List<String> view = Collections.unmodifiableList(new ArrayList<>(List.of("c")));
        public DateTime at = new DateTime(5, DateTimeZone.forID("Europe/Berlin"));
        public LocalDate day = new LocalDate(2024, 2, 29);
    }

    public static void main(String[] arguments) throws Exception {
        try (Writer file = new FileWriter(arguments[0])) {
            out = file;
            collections();
            scalars();
            joda();
            guava();
            plain();
        }
    }

    private static void collections() throws Exception {
        Class<?> s = UnmodifiableCollectionsSerializer.class;
        List<Object> array = new ArrayList<>(Arrays.asList("a", 1, null));
        Class<?> c = Class.forName("java.util.Collections$UnmodifiableCollection");
        v("unmodifiable collection", "['a',1,null]", Collections.unmodifiableCollection(array), c, s);
        v("unmodifiable random access", "['a',1,null]", Collections.unmodifiableList(array), c, s);
        v("unmodifiable list", "['a',1,null]", Collections.unmodifiableList(new LinkedList<>(array)), c, s);
        v("unmodifiable empty", "[]", Collections.unmodifiableList(new ArrayList<>()), c, s);
        v("unmodifiable set", "['x']", Collections.unmodifiableSet(new HashSet<>(Set.of("x"))), c, s);
        v("unmodifiable sorted set", "[1,2]", Collections.unmodifiableSortedSet(new TreeSet<>(Set.of(2, 1))), c, s);
        v("unmodifiable twice", "[['a',1,null],['a',1,null]]", twice(Collections.unmodifiableList(array)), c, s);
        Class<?> m = Class.forName("java.util.Collections$UnmodifiableMap");
        v("unmodifiable map", "{'k':2}", Collections.unmodifiableMap(new HashMap<>(Map.of("k", 2))), m, s);
        v("unmodifiable sorted map", "{'a':1,'b':2}", Collections.unmodifiableSortedMap(new TreeMap<>(Map.of("a", 1, "b", 2))), m, s);
        s = SynchronizedCollectionsSerializer.class;
        c = Class.forName("java.util.Collections$SynchronizedCollection");
        m = Class.forName("java.util.Collections$SynchronizedMap");
        v("synchronized collection", "['a',1,null]", Collections.synchronizedCollection(array), c, s);
        v("synchronized random access", "['a',1,null]", Collections.synchronizedList(array), c, s);
        v("synchronized list", "['a',1,null]", Collections.synchronizedList(new LinkedList<>(array)), c, s);
        v("synchronized set", "['x']", Collections.synchronizedSet(new HashSet<>(Set.of("x"))), c, s);
        v("synchronized sorted set", "[1,2]", Collections.synchronizedSortedSet(new TreeSet<>(Set.of(2, 1))), c, s);
        v("synchronized map", "{'k':2}", Collections.synchronizedMap(new HashMap<>(Map.of("k", 2))), m, s);
        v("synchronized sorted map", "{'a':1}", Collections.synchronizedSortedMap(new TreeMap<>(Map.of("a", 1))), m, s);
        Class<?> part = SubListSerializers.ArrayListSubListSerializer.class;
        v("part of an array list", "[1,null]", array.subList(1, 3), Class.forName("java.util.ArrayList$SubList"), part);
        EnumMap<TimeUnit, Object> units = new EnumMap<>(TimeUnit.class);
        units.put(TimeUnit.SECONDS, "s");
        units.put(TimeUnit.DAYS, null);
        String unit = "{'$class':'java.util.concurrent.TimeUnit','$value':";
        v("enum map", "[{'key':" + unit + "'SECONDS'},'value':'s'},{'key':" + unit + "'DAYS'},'value':null}]", units, EnumMap.class, EnumMapSerializer.class);
        v("enum set", "[" + unit + "'SECONDS'}," + unit + "'DAYS'}]", EnumSet.of(TimeUnit.DAYS, TimeUnit.SECONDS), EnumSet.class, EnumSetSerializer.class);
        v("empty list", "[]", Collections.emptyList(), Collections.EMPTY_LIST.getClass(), CollectionsEmptyListSerializer.class);
        v("empty map", "{}", Collections.emptyMap(), Collections.EMPTY_MAP.getClass(), CollectionsEmptyMapSerializer.class);
        v("singleton list", "['x']", Collections.singletonList("x"), List.class, CollectionsSingletonListSerializer.class);
        v("singleton set", "['x']", Collections.singleton("x"), Set.class, CollectionsSingletonSetSerializer.class);
        v("singleton map", "{'x':1}", Collections.singletonMap("x", 1), Map.class, CollectionsSingletonMapSerializer.class);
    }

    private static void scalars() throws Exception {
        registered("Arrays.asList", "['a',1]", Arrays.asList("a", 1), Arrays.asList().getClass(), ArraysAsListSerializer.class);
        registered("bit set", "[0,2,9]", bits(0, 2, 9), BitSet.class, BitSetSerializer.class);
        registered("no bits", "[]", bits(), BitSet.class, BitSetSerializer.class);
        registered("pattern", "'a+'", Pattern.compile("a+", Pattern.CASE_INSENSITIVE), Pattern.class, RegexSerializer.class);
        registered("URI", "'http://x/y?z'", URI.create("http://x/y?z"), URI.class, URISerializer.class);
        registered("UUID", "'fedcba98-7654-3210-8123-456789abcdef'", UUID.fromString("fedcba98-7654-3210-8123-456789abcdef"), UUID.class, UUIDSerializer.class);
        // Not by a default: Flink itself registers these classes before the job's defaults.
        v("BitSet beside a default", "[1]", bits(1), BitSet.class, BitSetSerializer.class);
        GregorianCalendar calendar = new GregorianCalendar(TimeZone.getTimeZone("Europe/Berlin"));
        calendar.setTimeInMillis(-1);
        calendar.setFirstDayOfWeek(Calendar.MONDAY);
        calendar.setMinimalDaysInFirstWeek(4);
        v("calendar", "{'time':{'$class':'java.util.Date','$value':'1969-12-31T23:59:59.999Z'},'zone':'Europe/Berlin','lenient':true,'firstDayOfWeek':2,'minimalDaysInFirstWeek':4}",
            calendar, Calendar.class, GregorianCalendarSerializer.class);
    }

    private static void joda() throws Exception {
        String time = "{'$class':'java.util.Date','$value':'2024-02-29T12:34:56.789Z'}";
        long millis = 1709210096789L;
        DateTime at = new DateTime(millis, DateTimeZone.forID("Europe/Berlin"));
        v("DateTime", "{'time':" + time + ",'zone':'Europe/Berlin','chronology':'ISO'}", at, DateTime.class, JodaDateTimeSerializer.class);
        v("Buddhist DateTime", "{'time':" + time + ",'zone':'UTC','chronology':'BUDDHIST'}",
            new DateTime(millis, BuddhistChronology.getInstanceUTC()), DateTime.class, JodaDateTimeSerializer.class);
        v("Interval", "{'start':{'$class':'java.util.Date','$value':'1969-12-31T23:59:59.999Z'},'end':" + time + ",'chronology':'ISO'}",
            new Interval(-1, millis, DateTimeZone.UTC), Interval.class, JodaIntervalSerializer.class);
        v("Joda LocalDate", "'2024-02-29'", new LocalDate(2024, 2, 29), LocalDate.class, JodaLocalDateSerializer.class);
        v("Joda LocalDate before 1", "'-0044-03-15'", new LocalDate(-44, 3, 15), LocalDate.class, JodaLocalDateSerializer.class);
        v("Coptic LocalDate", "{'year':1740,'month':13,'day':5,'chronology':'COPTIC'}",
            new LocalDate(1740, 13, 5, CopticChronology.getInstanceUTC()), Object.class, LocalDate.class, JodaLocalDateSerializer.class);
        v("Joda LocalTime", "'23:59:58.007'", new LocalTime(23, 59, 58, 7), LocalTime.class, JodaLocalTimeSerializer.class);
        v("Joda LocalDateTime", "'2024-02-29T12:34:56.789'", new LocalDateTime(2024, 2, 29, 12, 34, 56, 789), LocalDateTime.class, JodaLocalDateTimeSerializer.class);
        v("Joda LocalDateTime before 1", "'-0044-03-15T00:00:01'", new LocalDateTime(-44, 3, 15, 0, 0, 1), Object.class, LocalDateTime.class, JodaLocalDateTimeSerializer.class);
    }

    private static void guava() throws Exception {
        Class<?> list = ImmutableListSerializer.class;
        Class<?> map = ImmutableMapSerializer.class;
        v("ImmutableList", "['a',1,2]", ImmutableList.of("a", 1, 2), ImmutableList.class, list);
        v("ImmutableList of none", "[]", ImmutableList.of(), ImmutableList.class, list);
        v("ImmutableList of one", "['a']", ImmutableList.of("a"), ImmutableList.class, list);
        v("ImmutableSet", "['b','a']", ImmutableSet.of("b", "a"), ImmutableSet.class, ImmutableSetSerializer.class);
        v("ImmutableSet of one", "['b']", ImmutableSet.of("b"), ImmutableSet.class, ImmutableSetSerializer.class);
        v("ImmutableSortedSet", "[1,2]", ImmutableSortedSet.of(2, 1), ImmutableSortedSet.class, ImmutableSortedSetSerializer.class);
        v("ImmutableMap", "{'a':1,'b':2}", ImmutableMap.of("a", 1, "b", 2), ImmutableMap.class, map);
        v("ImmutableMap of one", "{'a':1}", ImmutableMap.of("a", 1), ImmutableMap.class, map);
        v("ImmutableSortedMap", "{'a':1,'b':2}", ImmutableSortedMap.of("b", 2, "a", 1), ImmutableSortedMap.class, ImmutableSortedMapSerializer.class);
        v("ImmutableListMultimap", "{'a':[1,2]}", ImmutableListMultimap.of("a", 1, "a", 2), Object.class,
            ImmutableMultimap.class, ImmutableMultimapSerializer.class, ImmutableMap.class, map, ImmutableList.class, list);
        v("ImmutableSetMultimap", "{'a':[1,2]}", ImmutableSetMultimap.of("a", 1, "a", 2), Object.class,
            ImmutableMultimap.class, ImmutableMultimapSerializer.class, ImmutableMap.class, map, ImmutableSet.class, ImmutableSetSerializer.class);
        v("ImmutableTable", "{'r':{'c':1,'d':2},'s':{'c':3}}",
            ImmutableTable.builder().put("r", "c", 1).put("r", "d", 2).put("s", "c", 3).build(), ImmutableTable.class, ImmutableTableSerializer.class);
        // What a field declares decides nothing here: the library always writes the classes of what it holds.
        v("fields", "{'at':{'$class':'org.joda.time.DateTime','time':{'$class':'java.util.Date','$value':'1970-01-01T00:00:00.005Z'},'zone':'Europe/Berlin','chronology':'ISO'},"
            + "'day':{'$class':'org.joda.time.LocalDate','$value':'2024-02-29'},'view':['c'],'words':['a','b']}",
            new Lines(), Lines.class, ImmutableList.class, list, DateTime.class, JodaDateTimeSerializer.class,
            LocalDate.class, JodaLocalDateSerializer.class, Class.forName("java.util.Collections$UnmodifiableCollection"), UnmodifiableCollectionsSerializer.class);
    }

    /** Classes of the JDK, and defaults of Kryo's own serializers. */
    private static void plain() throws Exception {
        v("List.of one", "['a']", List.of("a"), Object.class);
        v("List.of three", "[1,2,3]", List.of(1, 2, 3), Object.class);
        v("part of List.of", "[2]", List.of(1, 2, 3).subList(1, 2), Object.class);
        v("Map.of one", "{'a':1}", Map.of("a", 1), Object.class);
        v("Set.of one", "['a']", Set.of("a"), Object.class);
        v("Set.of none", "[]", Set.of(), Object.class);
        v("keys of a tree", "['a']", new TreeMap<>(Map.of("a", 1)).keySet(), Object.class);
        v("values of a tree", "[1]", new TreeMap<>(Map.of("a", 1)).values(), Object.class);
        v("unmodifiable without a serializer", "['a']", Collections.unmodifiableList(new ArrayList<>(List.of("a"))), Object.class);
        v("checked list", "['a']", Collections.checkedList(new ArrayList<>(List.of("a")), String.class), Object.class);
        v("Guava without a serializer", "['a','b']", ImmutableList.of("a", "b"), Object.class);
        v("Guava map without a serializer", "{'a':1}", ImmutableMap.of("a", 1), Object.class);
        v("Map.entry", "{'key':'k','value':1}", Map.entry("k", 1), Object.class);
        v("file", "{'path':'/a/b'}", new java.io.File("/a/b"), Object.class);
        v("summary", "{'count':2,'max':5,'min':3,'sum':8}", summary(), Object.class);
        v("atomic array", "{'array':[1,2]}", new AtomicIntegerArray(new int[] {1, 2}), Object.class);
        v("array of references", "{'array':['a',null]}", new AtomicReferenceArray<>(new String[] {"a", null}), Object.class);
        LongSummaryStatistics longs = new LongSummaryStatistics();
        longs.accept(7L);
        v("summary of longs", "{'count':1,'max':7,'min':7,'sum':7}", longs, Object.class);
        DoubleSummaryStatistics doubles = new DoubleSummaryStatistics();
        doubles.accept(1.5);
        v("summary of doubles", "{'count':1,'max':1.5,'min':1.5,'simpleSum':1.5,'sum':1.5,'sumCompensation':0.0}", doubles, Object.class);
        v("random", "{'haveNextNextGaussian':false,'nextNextGaussian':0.0,'seed':{'$class':'java.util.concurrent.atomic.AtomicLong','$value':25214903912}}", new Random(5), Object.class);
        v("entry of a map", "{'hash':107,'key':'k','next':null,'value':1}", new HashMap<>(Map.of("k", 1)).entrySet().iterator().next(), Object.class);
        v("month", "'MARCH'", java.time.Month.MARCH, Object.class);
        v("nulls first", "{'nullFirst':true,'real':null}", Comparator.nullsFirst(null), Object.class);
        Class<?> collection = com.esotericsoftware.kryo.serializers.CollectionSerializer.class;
        v("Kryo's own as default", "['a']", new ArrayList<>(List.of("a")), Object.class, Collection.class, collection);
        v("a default for throwables", "", new IllegalStateException("x"), Object.class, Throwable.class, collection);
        for (Map<?, ?> map : List.of(new HashMap<>(), new TreeMap<>(), new LinkedHashMap<>(), new java.util.concurrent.ConcurrentHashMap<>())) {
            v("unknown " + map.getClass().getSimpleName(), "", map, Object.class, Map.class, MapSer.class);
        }
    }

    private static IntSummaryStatistics summary() {
        IntSummaryStatistics summary = new IntSummaryStatistics();
        summary.accept(3);
        summary.accept(5);
        return summary;
    }

    private static List<Object> twice(Object value) {
        return new ArrayList<>(Arrays.asList(value, value));
    }

    private static BitSet bits(int... set) {
        BitSet found = new BitSet();
        for (int bit : set) {
            found.set(bit);
        }
        return found;
    }

    /** By a default for the class that the column has, unless the value is of no such class. */
    private static void v(String name, String expected, Object value, Class<?> above, Class<?> serializer) throws Exception {
        Class<?> declared = above.isInstance(value) && java.lang.reflect.Modifier.isPublic(above.getModifiers()) ? above : Object.class;
        v(name, expected, value, declared, above, serializer);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void v(String name, String expected, Object value, Class<?> declared, Class<?>... defaults) throws Exception {
        SerializerConfigImpl config = new SerializerConfigImpl();
        for (int i = 0; i < defaults.length; i += 2) {
            config.addDefaultKryoSerializer((Class) defaults[i], (Class) defaults[i + 1]);
        }
        write(name, expected, value, declared, config);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void registered(String name, String expected, Object value, Class<?> type, Class<?> serializer) throws Exception {
        SerializerConfigImpl config = new SerializerConfigImpl();
        config.registerTypeWithKryoSerializer((Class) type, (Class) serializer);
        write(name, expected, value, Object.class, config);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void write(String name, String expected, Object value, Class<?> declared, SerializerConfigImpl config) throws Exception {
        TypeSerializer<Object> serializer = new GenericTypeInfo<>((Class) declared).createSerializer(config);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            serializer.serialize(value, new DataOutputViewStreamWrapper(bytes));
        } catch (RuntimeException | Error e) {
            System.err.println(name + " is not written: " + e);
            return;
        }
        ByteArrayOutputStream snapshot = new ByteArrayOutputStream();
        TypeSerializerSnapshot.writeVersionedSnapshot(
                new DataOutputViewStreamWrapper(snapshot), serializer.snapshotConfiguration());
        out.write(String.join("\t", name, declared.getName(), expected.replace('\'', '"'), hex(bytes), hex(snapshot)) + "\n");
    }

    private static String hex(ByteArrayOutputStream bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes.toByteArray()) {
            text.append(String.format("%02x", b));
        }
        return text.toString();
    }
}
