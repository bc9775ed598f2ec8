package zoo;

import com.esotericsoftware.kryo.serializers.JavaSerializer;
import java.io.ByteArrayOutputStream;
import java.io.FileWriter;
import java.io.Writer;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.sql.Timestamp;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.regex.Pattern;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;
import zoo.Zoo.*;

/** Writes vectors.txt: name, declared class, what to expect as JSON, the bytes of value and snapshot. */
public class Vectors {
    private static Writer out;

    public static void main(String[] arguments) throws Exception {
        try (Writer file = new FileWriter(arguments[0])) {
            out = file;
            scalars();
            collections();
            classes();
        }
    }

    private static void scalars() throws Exception {
        v("Boolean false", Boolean.class, false, "false");
        v("Byte", Byte.class, (byte) -128, "-128");
        v("Short", Short.class, (short) -2, "-2");
        v("Character", Character.class, '中', "'中'");
        v("Integer min", Integer.class, Integer.MIN_VALUE, "-2147483648");
        v("Long max", Long.class, Long.MAX_VALUE, "9223372036854775807");
        v("Long min", Long.class, Long.MIN_VALUE, "-9223372036854775808");
        v("Float", Float.class, 1.1f, "1.1");
        v("Double NaN", Double.class, Double.NaN, "'NaN'");
        v("Double -0", Double.class, -0.0, "-0.0");
        v("String 33", String.class, "abcdefghijklmnopqrstuvwxyz0123456", "'abcdefghijklmnopqrstuvwxyz0123456'");
        v("String 70", String.class, "x".repeat(70), "'" + "x".repeat(70) + "'");
        v("String mixed", String.class, "a\u0000é中😀", "'a\\u0000é中😀'");
        v("String as Object", Object.class, "x", "'x'");
        v("StringBuffer", StringBuffer.class, new StringBuffer("sb"), "'sb'");
        v("BigInteger", BigInteger.class, new BigInteger("-123456789012345678901234567890"), "-123456789012345678901234567890");
        v("BigDecimal", BigDecimal.class, new BigDecimal("-1.20E+5"), "'-1.20E+5'");
        v("BigDecimal zero", BigDecimal.class, new BigDecimal("0.000"), "'0.000'");
        v("UUID", UUID.class, UUID.fromString("fedcba98-7654-3210-8123-456789abcdef"), "'fedcba98-7654-3210-8123-456789abcdef'");
        v("Date before 1970", Date.class, new Date(-1), "'1969-12-31T23:59:59.999Z'");
        v("Timestamp", Timestamp.class, Timestamp.from(Instant.parse("1969-12-31T23:59:59.123456789Z")), "'1969-12-31T23:59:59.123456789Z'");
        v("sql.Time", java.sql.Time.class, new java.sql.Time(61_000), "'1970-01-01T00:01:01Z'");
        v("Instant", Instant.class, Instant.parse("1969-12-31T23:59:59.000000001Z"), "'1969-12-31T23:59:59.000000001Z'");
        v("Instant now", Instant.class, Instant.parse("2024-02-29T12:34:56.789Z"), "'2024-02-29T12:34:56.789Z'");
        v("Duration", Duration.class, Duration.ofMillis(-1500), "'PT-1.5S'");
        v("LocalDate", LocalDate.class, LocalDate.of(-1, 12, 31), "'-0001-12-31'");
        v("LocalTime", LocalTime.class, LocalTime.of(23, 0), "'23:00:00'");
        v("LocalTime nanos", LocalTime.class, LocalTime.of(0, 1, 2, 3_000), "'00:01:02.000003'");
        v("LocalDateTime", LocalDateTime.class, LocalDateTime.of(2024, 2, 29, 12, 30), "'2024-02-29T12:30:00'");
        v("OffsetDateTime", OffsetDateTime.class, OffsetDateTime.of(2024, 2, 29, 12, 30, 1, 0, ZoneOffset.ofHoursMinutesSeconds(-3, -30, -15)), "'2024-02-29T12:30:01-03:30:15'");
        v("OffsetTime", OffsetTime.class, OffsetTime.of(1, 2, 3, 4, ZoneOffset.ofHours(2)), "'01:02:03.000000004+02:00'");
        v("Year", Year.class, Year.of(2024), "2024");
        v("YearMonth", YearMonth.class, YearMonth.of(2024, 2), "'2024-02'");
        v("MonthDay", MonthDay.class, MonthDay.of(2, 29), "'--02-29'");
        v("Period", Period.class, Period.of(1, -2, 3), "'P1Y-2M3D'");
        v("ZoneOffset", ZoneOffset.class, ZoneOffset.ofHours(-11), "'-11:00'");
        v("ZoneId", ZoneId.class, ZoneId.of("Europe/Berlin"), "'Europe/Berlin'");
        v("DayOfWeek", DayOfWeek.class, DayOfWeek.SUNDAY, "'SUNDAY'");
        v("OptionalInt", OptionalInt.class, OptionalInt.of(-7), "-7");
        v("OptionalInt empty", OptionalInt.class, OptionalInt.empty(), "null");
        v("OptionalLong", OptionalLong.class, OptionalLong.of(7), "7");
        v("OptionalDouble", OptionalDouble.class, OptionalDouble.of(0.5), "0.5");
        v("Optional empty", Optional.class, Optional.empty(), "null");
        v("AtomicInteger", AtomicInteger.class, new AtomicInteger(300), "300");
        v("AtomicLong", AtomicLong.class, new AtomicLong(-300), "-300");
        v("AtomicBoolean", AtomicBoolean.class, new AtomicBoolean(true), "true");
        v("AtomicReference", AtomicReference.class, new AtomicReference<>("r"), "'r'");
        v("URI", URI.class, URI.create("http://x/y?z"), "'http://x/y?z'");
        v("Currency", Currency.class, Currency.getInstance("EUR"), "'EUR'");
        v("Locale", Locale.class, Locale.GERMANY, "'de_DE'");
        v("Pattern", Pattern.class, Pattern.compile("a+b"), "'a+b'");
        v("TimeZone", TimeZone.class, TimeZone.getTimeZone("Europe/Berlin"), "'Europe/Berlin'");
        v("InetSocketAddress", InetSocketAddress.class, InetSocketAddress.createUnresolved("host", 9000), "{'host':'host','port':9000}");
        v("Class", Class.class, String.class, "'java.lang.String'");
        v("wrapper class", Class.class, Integer.class, "'java.lang.Integer'");
        v("BitSet", BitSet.class, BitSet.valueOf(new long[] {1L << 63, 5}), "[63,64,66]");
        v("Color", Color.class, Color.BLUE, "'BLUE'");
        v("Op with a body", Op.class, Op.NEG, "'NEG'");
        v("null", Item.class, null, "null");
        if (two()) {
            v("URL", URL.class, new URL("http://x/"), "'http://x/'");
        }
    }

    private static void collections() throws Exception {
        v("LinkedList", LinkedList.class, new LinkedList<>(List.of(1, 2L, (short) 3, (byte) 4)), "[1,2,3,4]");
        v("list of nulls", ArrayList.class, new ArrayList<>(Arrays.asList(null, null, null, null, null)), "[null,null,null,null,null]");
        v("list of lists", ArrayList.class, new ArrayList<>(List.of(new ArrayList<>(List.of("a")), new ArrayList<>())), "[['a'],[]]");
        v("mixed list", ArrayList.class, new ArrayList<>(Arrays.asList(1.5, 'c', true, null, new BigDecimal("1.0"), new Date(0))),
            "[1.5,'c',true,null,{'$class':'java.math.BigDecimal','$value':'1.0'},{'$class':'java.util.Date','$value':'1970-01-01T00:00:00Z'}]");
        v("LinkedHashSet", LinkedHashSet.class, new LinkedHashSet<>(List.of("b", "a")), "['b','a']");
        v("ArrayDeque", ArrayDeque.class, new ArrayDeque<>(List.of(1, 2)), "[1,2]");
        v("Vector", Vector.class, new Vector<>(List.of("v")), "['v']");
        v("CopyOnWriteArrayList", CopyOnWriteArrayList.class, new CopyOnWriteArrayList<>(List.of("v")), "['v']");
        v("TreeSet reversed", TreeSet.class, reversed(), "[3,2,1]");
        v("TreeMap", TreeMap.class, new TreeMap<>(Map.of("b", 1, "a", 2)), "{'a':2,'b':1}");
        v("ConcurrentSkipListMap", ConcurrentSkipListMap.class, new ConcurrentSkipListMap<>(Map.of("a", 2)), "{'a':2}");
        v("ConcurrentHashMap", ConcurrentHashMap.class, new ConcurrentHashMap<>(Map.of("a", 2)), "{'a':2}");
        v("map of ints", LinkedHashMap.class, linked(1, "x", 2, null), "[{'key':1,'value':'x'},{'key':2,'value':null}]");
        v("map of maps", LinkedHashMap.class, linked("k", linked("l", 1L)), "{'k':{'l':1}}");
        v("empty map", HashMap.class, new HashMap<>(), "{}");
        v("EnumMap", EnumMap.class, new EnumMap<>(Map.of(Color.GREEN, 1)), "[{'key':{'$class':'zoo.Zoo$Color','$value':'GREEN'},'value':1}]");
        v("EnumSet", EnumSet.class, EnumSet.of(Color.GREEN, Color.BLUE), "[{'$class':'zoo.Zoo$Color','$value':'GREEN'},{'$class':'zoo.Zoo$Color','$value':'BLUE'}]");
        v("Arrays.asList", Object.class, Arrays.asList("a", null), "['a',null]");
        v("singleton", Object.class, Collections.singleton(5), "[5]");
        v("singletonMap", Object.class, Collections.singletonMap("a", 5), "{'a':5}");
        v("emptyMap", Object.class, Collections.emptyMap(), "{}");
        v("PriorityQueue", PriorityQueue.class, new PriorityQueue<>(List.of(3)), "[3]");
        v("short[]", short[].class, new short[] {1, -1}, "[1,-1]");
        v("char[]", char[].class, new char[] {'a'}, "['a']");
        v("float[]", float[].class, new float[] {1.5f}, "[1.5]");
        v("long[]", long[].class, new long[] {Long.MIN_VALUE}, "[-9223372036854775808]");
        v("boolean[]", boolean[].class, new boolean[] {true, false}, "[true,false]");
        v("byte[]", byte[].class, new byte[] {0, -1}, "'AP8='");
        v("int[][]", int[][].class, new int[][] {{1}, null, {}}, "[[1],null,[]]");
        v("String[][]", String[][].class, new String[][] {{"a", null}}, "[['a',null]]");
        v("Object[]", Object[].class, new Object[] {1, "a", new int[] {5}}, "[1,'a',[5]]");
        v("Date[]", Date[].class, new Date[] {new Date(0), null}, "[{'$class':'java.util.Date','$value':'1970-01-01T00:00:00Z'},null]");
        v("Item[]", Item[].class, new Item[] {new Item(1, "a"), null}, "[{'$class':'zoo.Zoo$Item','n':1,'s':'a'},null]");
        v("SimpleEntry", Object.class, new AbstractMap.SimpleEntry<>("k", 1), "{'key':'k','value':1}");
        if (two()) {
            v("List.of", Object.class, List.of(1, 2, 3), "[1,2,3]");
            v("List.of one", Object.class, List.of("a"), "['a']");
            v("Set.of", Object.class, Set.of("a"), "['a']");
            v("Map.of", Object.class, Map.of("a", 1), "{'a':1}");
        }
        ArrayList<Object> twice = new ArrayList<>(List.of("x"));
        v("shared list", ArrayList.class, new ArrayList<>(List.of(twice, twice)), "[['x'],['x']]");
        ArrayList<Object> circle = new ArrayList<>();
        circle.add(circle);
        v("list in itself", ArrayList.class, circle, "[{'$ref':0}]");
    }

    private static void classes() throws Exception {
        v("Item", Item.class, new Item(3, "s"), "{'n':3,'s':'s'}");
        v("Item as Object", Object.class, new Item(3, null), "{'n':3,'s':null}");
        v("Leaf", Leaf.class, leaf(), LEAF);
        v("empty Leaf", Leaf.class, new Leaf(), "{'id':0,'name':null,'tags':null,'counts':null,'letter':'\\u0000','price':null,"
            + "'uid':null,'color':null,'op':null,'at':null,'day':null,'when':null,'ints':null,'raw':null,'items':null,'any':null,"
            + "'boxed':null,'ratio':0.0,'ok':false}");
        Base base = leaf();
        v("Leaf as Base", Base.class, base, LEAF);
        v("Shadowing", Shadowing.class, new Shadowing(), "{'x_Shadowed':1,'s':'outer','x':'inner'}");
        v("raw Box", Box.class, new Box<>("a", new ArrayList<>(List.of("b", "c"))), "{'value':'a','list':['b','c']}");
        StringBox strings = new StringBox();
        strings.value = "a";
        strings.list = new ArrayList<>(Arrays.asList("b", null));
        strings.extra = 1;
        v("StringBox", StringBox.class, strings, "{'value':'a','list':['b',null],'extra':1}");
        v("Holder", Holder.class, holder(), HOLDER);
        v("empty Holder", Holder.class, new Holder(), null);
        Node first = new Node();
        first.v = 1;
        first.next = new Node();
        first.next.v = 2;
        v("Node", Node.class, first, "{'v':1,'next':{'$class':'zoo.Zoo$Node','v':2,'next':null}}");
        Node loop = new Node();
        loop.next = loop;
        v("Node in itself", Node.class, loop, "{'v':0,'next':{'$ref':0}}");
        Drawing drawing = new Drawing();
        Circle circle = new Circle();
        circle.radius = 2.5;
        Square square = new Square();
        square.side = 3;
        square.fill = Color.GREEN;
        drawing.main = circle;
        drawing.shapes = new ArrayList<>(List.of(square, circle));
        String c = "{'$class':'zoo.Zoo$Circle','radius':2.5}";
        String s = "{'$class':'zoo.Zoo$Square','side':3,'fill':{'$class':'zoo.Zoo$Color','$value':'GREEN'}}";
        v("Drawing", Drawing.class, drawing, "{'main':" + c + ",'shapes':[" + s + "," + c + "]}");
        v("Shape", Shape.class, square, "{'side':3,'fill':{'$class':'zoo.Zoo$Color','$value':'GREEN'}}");
        Named named = new Named();
        named.add("n");
        v("Named", Named.class, named, "['n']");
        Table table = new Table();
        table.put("t", 1);
        v("Table", Table.class, table, "{'t':1}");
        v("Point", Point.class, new Point(1, 2, "p", 3L, new ArrayList<>(List.of("t")), Color.RED),
            "{'x':1,'y':2,'label':'p','any':3,'tags':['t'],'color':{'$class':'zoo.Zoo$Color','$value':'RED'}}");
        v("list of Items", ArrayList.class, new ArrayList<>(List.of(new Item(1, "a"), new Item(2, "a"))),
            "[{'$class':'zoo.Zoo$Item','n':1,'s':'a'},{'$class':'zoo.Zoo$Item','n':2,'s':'a'}]");
        Inner inner = new Zoo().new Inner();
        inner.z = 9;
        v("Inner", Inner.class, inner, "{'z':9}");
        Registered registered = new Registered();
        registered.a = 5;
        v("Registered", Object.class, new ArrayList<>(List.of(registered, new java.io.File("f"))), null);
        v("exception", Object.class, new ArrayList<>(List.of(new RegisteredLater(4))), "[{'$class':'zoo.Vectors$RegisteredLater','b':4}]");
    }

    public static class RegisteredLater {
        public int b;

        RegisteredLater(int b) {
            this.b = b;
        }
    }

    private static final String LEAF = "{'id':-5,'name':'leaf','tags':['a','b',null],'counts':{'k':1099511627776,'n':null},"
        + "'letter':'é','price':{'$class':'java.math.BigDecimal','$value':'12.50'},"
        + "'uid':{'$class':'java.util.UUID','$value':'00000000-0000-0001-0000-000000000002'},"
        + "'color':{'$class':'zoo.Zoo$Color','$value':'GREEN'},'op':{'$class':'zoo.Zoo$Op','$value':'ADD'},"
        + "'at':{'$class':'java.time.Instant','$value':'1970-01-01T00:00:01Z'},"
        + "'day':{'$class':'java.time.LocalDate','$value':'2024-02-29'},"
        + "'when':{'$class':'java.util.Date','$value':'1970-01-01T00:00:00.005Z'},'ints':[1,-1],"
        + "'raw':{'$class':'[B','$value':'AQI='},'items':[{'$class':'zoo.Zoo$Item','n':1,'s':'a'},null],"
        + "'any':['x'],'boxed':7,'ratio':0.1,'ok':true}";

    private static Leaf leaf() {
        Leaf leaf = new Leaf();
        leaf.id = -5;
        leaf.name = "leaf";
        leaf.tags = new ArrayList<>(Arrays.asList("a", "b", null));
        leaf.counts = linked("k", 1L << 40, "n", null);
        leaf.letter = 'é';
        leaf.price = new BigDecimal("12.50");
        leaf.uid = new UUID(1, 2);
        leaf.color = Color.GREEN;
        leaf.op = Op.ADD;
        leaf.at = Instant.ofEpochSecond(1);
        leaf.day = LocalDate.of(2024, 2, 29);
        leaf.when = new Date(5);
        leaf.ints = new int[] {1, -1};
        leaf.raw = new byte[] {1, 2};
        leaf.items = new Item[] {new Item(1, "a"), null};
        leaf.any = new ArrayList<>(List.of("x"));
        leaf.boxed = 7;
        leaf.ratio = 0.1;
        leaf.ok = true;
        return leaf;
    }

    private static final String BOX = "{'$class':'zoo.Zoo$Box',";
    private static final String HOLDER = "{'strings':" + BOX + "'value':'a','list':['b',null]},"
        + "'objects':" + BOX + "'value':1,'list':['o',2]},"
        + "'lists':" + BOX + "'value':['l'],'list':[['m'],['n']]},"
        + "'boxes':[" + BOX + "'value':'p','list':['q']}," + BOX + "'value':null,'list':null}],"
        + "'nested':[['r','s'],[],['t']],"
        + "'numbers':{'u':[1,2,null]},"
        + "'items':[{'key':{'$class':'zoo.Zoo$Color','$value':'RED'},'value':{'$class':'zoo.Zoo$Item','n':1,'s':'v'}}],"
        + "'some':[{'$class':'zoo.Zoo$Item','n':2,'s':'w'}],'unknown':['x',3],'array':[['y'],null],'set':[5],"
        + "'wild':" + BOX + "'value':'z','list':['z']},"
        + "'deep':{'$class':'zoo.Zoo$DeepBox','value':4,'list':[5],'more':6},"
        + "'outer':{'$class':'zoo.Zoo$Outer','pair':{'$class':'zoo.Zoo$Pair','first':'f','second':7},'t':8,'ts':[9],"
        + "'map':[{'key':10,'value':'ten'}]},"
        + "'raw':" + BOX + "'value':'raw','list':['raw']},"
        + "'colors':[{'$class':'zoo.Zoo$Color','$value':'BLUE'},null],"
        + "'maybe':{'$class':'java.util.Optional','$value':'may'},"
        + "'atomic':{'$class':'java.util.concurrent.atomic.AtomicReference','$value':'at'},"
        + "'grid':[['g',null],null],'big':12345678901234567890}";

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Holder holder() {
        Holder h = new Holder();
        h.strings = new Box<>("a", new ArrayList<>(Arrays.asList("b", null)));
        h.objects = new Box<>(1, new ArrayList<>(List.of("o", 2)));
        h.lists = new Box<>(new ArrayList<>(List.of("l")), new ArrayList<>(List.of(new ArrayList<>(List.of("m")), new ArrayList<>(List.of("n")))));
        h.boxes = new ArrayList<>(List.of(new Box<>("p", new ArrayList<>(List.of("q"))), new Box<>()));
        h.nested = new ArrayList<>(List.of(new ArrayList<>(List.of("r", "s")), new ArrayList<>(), new ArrayList<>(List.of("t"))));
        h.numbers = linked("u", new ArrayList<>(Arrays.asList(1, 2, null)));
        h.items = linked(Color.RED, new Item(1, "v"));
        h.some = new ArrayList<>(List.of(new Item(2, "w")));
        h.unknown = new ArrayList<>(List.of("x", 3));
        h.array = new List[] {new ArrayList<>(List.of("y")), null};
        h.set = new LinkedHashSet<>(List.of(5));
        h.wild = new Box<>("z", new ArrayList<>(List.of("z")));
        h.deep = new DeepBox<>();
        h.deep.value = 4L;
        h.deep.list = new ArrayList<>(List.of(5L));
        h.deep.more = 6L;
        h.outer = new Outer<>();
        h.outer.pair = new Pair<>();
        h.outer.pair.first = "f";
        h.outer.pair.second = 7L;
        h.outer.t = 8L;
        h.outer.ts = new ArrayList<>(List.of(9L));
        h.outer.map = linked(10L, "ten");
        h.raw = new Box<>("raw", new ArrayList<>(List.of("raw")));
        h.colors = new ArrayList<>(Arrays.asList(Color.BLUE, null));
        h.maybe = Optional.of("may");
        h.atomic = new AtomicReference<>("at");
        h.grid = new String[][] {{"g", null}, null};
        h.big = new BigInteger("12345678901234567890");
        return h;
    }

    private static TreeSet<Integer> reversed() {
        TreeSet<Integer> set = new TreeSet<>(Collections.reverseOrder());
        set.addAll(List.of(1, 2, 3));
        return set;
    }

    @SuppressWarnings("unchecked")
    private static <K, V> LinkedHashMap<K, V> linked(Object... pairs) {
        LinkedHashMap<K, V> map = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            map.put((K) pairs[i], (V) pairs[i + 1]);
        }
        return map;
    }

    private static boolean two() {
        return org.apache.flink.runtime.util.EnvironmentInformation.getVersion().startsWith("2");
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void v(String name, Class declared, Object value, String json) throws Exception {
        SerializerConfigImpl config = new SerializerConfigImpl();
        if (name.equals("Registered")) {
            config.registerKryoType(Registered.class);
            config.registerTypeWithKryoSerializer(java.io.File.class, JavaSerializer.class);
        }
        TypeSerializer<Object> serializer = new GenericTypeInfo<Object>(declared).createSerializer(config);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        String failure = "";
        try {
            serializer.serialize(value, new DataOutputViewStreamWrapper(bytes));
        } catch (Throwable t) {
            while (t.getCause() != null) t = t.getCause();
            System.err.println("left out: " + name + ": " + t);
            return;
        }
        ByteArrayOutputStream snapshot = new ByteArrayOutputStream();
        TypeSerializerSnapshot.writeVersionedSnapshot(new DataOutputViewStreamWrapper(snapshot), serializer.snapshotConfiguration());
        String expected = json == null ? "" : json.replace('\'', '"');
        out.write(String.join("\t", name, declared.getName(), expected, hex(bytes), name.equals("Registered") ? hex(snapshot) : "") + "\n");
    }

    private static String hex(ByteArrayOutputStream bytes) {
        return HexFormat.of().formatHex(bytes.toByteArray());
    }
}
