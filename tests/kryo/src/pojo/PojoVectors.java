package zoo;

import java.io.ByteArrayOutputStream;
import java.io.FileWriter;
import java.io.Writer;
import java.time.Instant;
import java.util.Date;
import java.util.UUID;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;

/** Classes that one state keeps as POJOs and another by Kryo: name, the POJO's snapshot, Kryo's snapshot, Kryo's values. */
public class PojoVectors {
    private static Writer out;

    public static class Place {
        public String city;
        public double weight;

        public Place() {}

        Place(String city, double weight) {
            this.city = city;
            this.weight = weight;
        }
    }

    public static final class Code {
        public short number;

        public Code() {}

        Code(int number) {
            this.number = (short) number;
        }
    }

    public static class Base {
        public long number;
    }

    public static class Order extends Base {
        public transient int notWritten = 9;
        public Integer rating;
        public int count;
        public String name;
        public String unset;
        public Instant at;
        public Date day;
        public UUID id;
        public Place place;
        public Code code;
        public int[] steps;
        public boolean paid;

        public Order() {}

        Order(long number, Integer rating, int count, String name, Place place) {
            this.number = number;
            this.rating = rating;
            this.count = count;
            this.name = name;
            this.unset = count > 100 ? "set" : null;
            this.at = Instant.ofEpochSecond(1_700_000_000L + number, 5_000);
            this.day = new Date(86_400_000L * count);
            this.id = new UUID(0x1234567890abcdefL + number, 0x8edcba0987654321L);
            this.place = place;
            this.code = new Code(count);
            this.steps = new int[] {count, -1};
            this.paid = count % 2 == 1;
        }
    }

    /** Its type argument is nothing that a snapshot has. */
    public static class Envelope<T> {
        public T payload;
        public int size;

        public Envelope() {}

        Envelope(T payload, int size) {
            this.payload = payload;
            this.size = size;
        }
    }

    public static class Zeros {
        public int a;
        public Integer b;
    }

    public static class Sparse {
        public long count;
        public Integer discount;
        public java.time.LocalDate ended;
        public String note;
        public Place place;
        public int retries;

        public Sparse() {}

        Sparse(long count) {
            this.count = count;
        }
    }

    public enum Colour { RED, GREEN }

    public static class Painted {
        public Colour colour = Colour.GREEN;
        public int size = 3;
    }

    public static void main(String[] arguments) throws Exception {
        try (Writer file = new FileWriter(arguments[0])) {
            out = file;
            v("order", Order.class, TypeInformation.of(Order.class),
                    new Order(1, 5, 3, "first", new Place("Bern", 1.5)),
                    new Order(-2, null, 300, "", new Place("Bern", -0.5)),
                    new Order(1L << 20, 0, -7, "third", null),
                    new Order(0, -1, 0, "\u00e9", new Place(null, 0)));
            v("envelope", Envelope.class, TypeInformation.of(new TypeHint<Envelope<String>>() {}),
                    new Envelope<>("one", 11), new Envelope<>("two", -12));
            v("zeros", Zeros.class, TypeInformation.of(Zeros.class), new Zeros(), new Zeros());
            v("sparse", Sparse.class, TypeInformation.of(Sparse.class), new Sparse(300), new Sparse(-1));
            v("painted", Painted.class, TypeInformation.of(Painted.class), new Painted(), new Painted());
        }
    }

    @SuppressWarnings({"rawtypes", "unchecked"})
    private static void v(String name, Class type, TypeInformation pojo, Object... values) throws Exception {
        TypeSerializer<Object> kryo = new GenericTypeInfo(type).createSerializer(new SerializerConfigImpl());
        StringBuilder line = new StringBuilder(name);
        line.append('\t').append(hex(pojo.createSerializer(new SerializerConfigImpl()))).append('\t').append(hex(kryo));
        for (Object value : values) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            kryo.serialize(value, new DataOutputViewStreamWrapper(bytes));
            line.append('\t').append(hex(bytes));
        }
        out.write(line.append('\n').toString());
    }

    private static String hex(TypeSerializer<?> serializer) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        TypeSerializerSnapshot.writeVersionedSnapshot(new DataOutputViewStreamWrapper(bytes), serializer.snapshotConfiguration());
        return hex(bytes);
    }

    private static String hex(ByteArrayOutputStream bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes.toByteArray()) {
            text.append(String.format("%02x", b));
        }
        return text.toString();
    }
}
