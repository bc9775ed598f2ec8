package golden;

import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import java.io.UncheckedIOException;
import org.apache.avro.Conversion;
import org.apache.avro.Conversions;
import org.apache.avro.Schema;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificFixed;
import org.apache.avro.specific.SpecificRecordBase;

/** The schema of the job, and classes for its types: what Avro's compiler makes, but without members for the fields. */
public final class AvroRecords {
    private AvroRecords() {}

    static final Schema EVERYTHING = parse();

    static final SpecificData MODEL = model();

    private static Schema parse() {
        try (InputStream text = AvroRecords.class.getResourceAsStream("/everything.avsc")) {
            return new Schema.Parser().parse(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static SpecificData model() {
        SpecificData model = new SpecificData();
        model.addLogicalTypeConversion(new TimeConversions.DateConversion());
        model.addLogicalTypeConversion(new TimeConversions.TimeMillisConversion());
        model.addLogicalTypeConversion(new TimeConversions.TimeMicrosConversion());
        model.addLogicalTypeConversion(new TimeConversions.TimestampMillisConversion());
        model.addLogicalTypeConversion(new TimeConversions.TimestampMicrosConversion());
        model.addLogicalTypeConversion(new TimeConversions.LocalTimestampMillisConversion());
        model.addLogicalTypeConversion(new TimeConversions.LocalTimestampMicrosConversion());
        model.addLogicalTypeConversion(new Conversions.DecimalConversion());
        return model;
    }

    static Schema field(String name) {
        return EVERYTHING.getField(name).schema();
    }

    static IndexedRecord record(Schema schema) {
        switch (schema.getName()) {
            case "Everything": return new Everything();
            case "Place": return new Place();
            case "Node": return new Node();
            default: throw new IllegalArgumentException(schema.getName());
        }
    }

    static SpecificFixed fixed(Schema schema, byte[] bytes) {
        SpecificFixed out;
        switch (schema.getName()) {
            case "Fee": out = new Fee(); break;
            case "WideFee": out = new WideFee(); break;
            case "FixedId": out = new FixedId(); break;
            case "Span": out = new Span(); break;
            case "Digest": out = new Digest(); break;
            default: throw new IllegalArgumentException(schema.getName());
        }
        out.bytes(bytes);
        return out;
    }

    public abstract static class AvroRecord extends SpecificRecordBase {
        private final Object[] values = new Object[getSchema().getFields().size()];

        @Override
        public Object get(int field) {
            return values[field];
        }

        @Override
        public void put(int field, Object value) {
            values[field] = value;
        }

        @Override
        public SpecificData getSpecificData() {
            return MODEL;
        }

        @Override
        public Conversion<?> getConversion(int field) {
            return AvroWriting.SPECIFIC.conversion(getSchema().getFields().get(field).schema());
        }
    }

    public static class Everything extends AvroRecord {
        public static final Schema SCHEMA$ = EVERYTHING;
        public static final SpecificData MODEL$ = MODEL;

        @Override
        public Schema getSchema() {
            return SCHEMA$;
        }
    }

    /** As Avro's compiler would make it; {@code AvroTypeInfo} wants the fields to be there. */
    public static class Place extends SpecificRecordBase {
        public static final Schema SCHEMA$ = field("place");
        public static final SpecificData MODEL$ = MODEL;

        public CharSequence city;
        public Integer zip;

        @Override
        public Schema getSchema() {
            return SCHEMA$;
        }

        @Override
        public SpecificData getSpecificData() {
            return MODEL$;
        }

        @Override
        public Object get(int field) {
            return field == 0 ? city : zip;
        }

        @Override
        public void put(int field, Object value) {
            if (field == 0) {
                city = (CharSequence) value;
            } else {
                zip = (Integer) value;
            }
        }
    }

    public static class Node extends AvroRecord {
        public static final Schema SCHEMA$ = field("chain").getTypes().get(1);
        public static final SpecificData MODEL$ = MODEL;

        @Override
        public Schema getSchema() {
            return SCHEMA$;
        }
    }

    public enum Grade {
        LOW, MIDDLE, HIGH;

        public static final Schema SCHEMA$ = field("grade");
    }

    public abstract static class AvroFixed extends SpecificFixed {
        @Override
        public void writeExternal(ObjectOutput out) throws IOException {
            out.write(bytes());
        }

        @Override
        public void readExternal(ObjectInput in) throws IOException {
            in.readFully(bytes());
        }
    }

    public static class Fee extends AvroFixed {
        public static final Schema SCHEMA$ = field("fee");

        @Override
        public Schema getSchema() {
            return SCHEMA$;
        }
    }

    public static class WideFee extends AvroFixed {
        public static final Schema SCHEMA$ = field("wide_fee");

        @Override
        public Schema getSchema() {
            return SCHEMA$;
        }
    }

    public static class FixedId extends AvroFixed {
        public static final Schema SCHEMA$ = field("fixed_id");

        @Override
        public Schema getSchema() {
            return SCHEMA$;
        }
    }

    public static class Span extends AvroFixed {
        public static final Schema SCHEMA$ = field("span");

        @Override
        public Schema getSchema() {
            return SCHEMA$;
        }
    }

    public static class Digest extends AvroFixed {
        public static final Schema SCHEMA$ = field("digest");

        @Override
        public Schema getSchema() {
            return SCHEMA$;
        }
    }
}
