package golden;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.Conversion;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.IndexedRecord;

/** Makes Avro's values out of plain Java, by a schema. */
abstract class AvroWriting {
    /** Generic records, whose logical types nobody converts. */
    static final AvroWriting GENERIC = new AvroWriting() {
        @Override
        IndexedRecord record(Schema schema) {
            return new GenericData.Record(schema);
        }

        @Override
        Object fixed(Schema schema, byte[] bytes) {
            return new GenericData.Fixed(schema, bytes);
        }

        @Override
        Object symbol(Schema schema, String name) {
            return new GenericData.EnumSymbol(schema, name);
        }

        @Override
        Conversion<?> conversion(Schema schema) {
            return null;
        }
    };

    /** Instances of the classes of {@link AvroRecords}, with values of java.time and so on. */
    static final AvroWriting SPECIFIC = new AvroWriting() {
        @Override
        IndexedRecord record(Schema schema) {
            return AvroRecords.record(schema);
        }

        @Override
        Object fixed(Schema schema, byte[] bytes) {
            return AvroRecords.fixed(schema, bytes);
        }

        @Override
        Object symbol(Schema schema, String name) {
            return AvroRecords.Grade.valueOf(name);
        }

        @Override
        Conversion<?> conversion(Schema schema) {
            return schema.getLogicalType() == null ? null : AvroRecords.MODEL.getConversionFor(schema.getLogicalType());
        }
    };

    abstract IndexedRecord record(Schema schema);

    abstract Object fixed(Schema schema, byte[] bytes);

    abstract Object symbol(Schema schema, String name);

    abstract Conversion<?> conversion(Schema schema);

    Object of(Object value, Schema schema) {
        if (conversion(schema) != null) {
            return value;
        }
        switch (schema.getType()) {
            case RECORD:
                IndexedRecord record = record(schema);
                for (Schema.Field field : schema.getFields()) {
                    Object inner = ((Fields) value).get(field.name());
                    boolean json = field.name().equals("next");
                    record.put(field.pos(), json ? next(inner, field.schema()) : of(inner, field.schema()));
                }
                return record;
            case UNION:
                return union(value, schema);
            case ENUM:
                return symbol(schema, (String) value);
            case FIXED:
                return fixed(schema, bytes(value, schema));
            case BYTES:
                return logical(schema).equals("big-decimal")
                        ? bigDecimal((BigDecimal) value)
                        : ByteBuffer.wrap(bytes(value, schema));
            case ARRAY:
                List<Object> items = new ArrayList<>();
                for (Object item : (List<?>) value) {
                    items.add(of(item, schema.getElementType()));
                }
                return items;
            case MAP:
                Map<String, Object> entries = new LinkedHashMap<>();
                for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                    entries.put((String) entry.getKey(), of(entry.getValue(), schema.getValueType()));
                }
                return entries;
            case INT:
                if (value instanceof LocalDate) {
                    return (int) ((LocalDate) value).toEpochDay();
                }
                return value instanceof LocalTime ? (int) (((LocalTime) value).toNanoOfDay() / 1_000_000) : value;
            case LONG:
                return number(value, logical(schema));
            case STRING:
                return value.toString();
            default:
                return value;
        }
    }

    private static String logical(Schema schema) {
        String name = schema.getProp("logicalType");
        return name == null ? "" : name;
    }

    private Object union(Object value, Schema schema) {
        List<Schema> branches = schema.getTypes();
        if (value == null) {
            return null;
        }
        if (branches.size() == 2 && schema.isNullable()) {
            return of(value, branches.get(branches.get(0).getType() == Schema.Type.NULL ? 1 : 0));
        }
        if (((Fields) value).isEmpty()) {
            return null;
        }
        Map.Entry<String, Object> taken = ((Fields) value).entrySet().iterator().next();
        for (Schema branch : branches) {
            if (branch.getName().equals(taken.getKey())) {
                return of(taken.getValue(), branch);
            }
        }
        throw new IllegalArgumentException(taken.getKey());
    }

    /** The JSON of a chain, as nodes. */
    private Object next(Object json, Schema schema) {
        Schema node = schema.getTypes().get(1);
        IndexedRecord next = null;
        String[] numbers = ((String) json).split("\"n\":");
        for (int i = numbers.length - 1; i > 0; i--) {
            IndexedRecord record = record(node);
            record.put(0, Integer.parseInt(numbers[i].substring(0, numbers[i].indexOf(','))));
            record.put(1, next);
            next = record;
        }
        return next;
    }

    private static Object number(Object value, String logical) {
        if (value instanceof LocalTime) {
            return ((LocalTime) value).toNanoOfDay() / 1_000;
        }
        Object moment = value instanceof LocalDateTime ? ((LocalDateTime) value).toInstant(ZoneOffset.UTC) : value;
        if (!(moment instanceof Instant)) {
            return moment;
        }
        ChronoUnit unit = logical.endsWith("millis")
                ? ChronoUnit.MILLIS
                : logical.endsWith("micros") ? ChronoUnit.MICROS : ChronoUnit.NANOS;
        return unit.between(Instant.EPOCH, (Instant) moment);
    }

    /** As Avro 1.12 does: the digits' bytes behind their number, and the scale. Flink's Avro is older. */
    private static ByteBuffer bigDecimal(BigDecimal value) {
        byte[] digits = value.unscaledValue().toByteArray();
        byte[] out = new byte[digits.length + 2];
        out[0] = (byte) zigzag(digits.length);
        System.arraycopy(digits, 0, out, 1, digits.length);
        out[out.length - 1] = (byte) zigzag(value.scale());
        return ByteBuffer.wrap(out);
    }

    /** For numbers from -64 to 63, which make one byte. */
    private static int zigzag(int number) {
        return number << 1 ^ number >> 31;
    }

    private static byte[] bytes(Object value, Schema schema) {
        if (value instanceof BigDecimal) {
            byte[] digits = ((BigDecimal) value).unscaledValue().toByteArray();
            byte[] out = new byte[schema.getType() == Schema.Type.FIXED ? schema.getFixedSize() : digits.length];
            Arrays.fill(out, (byte) (digits[0] < 0 ? -1 : 0));
            System.arraycopy(digits, 0, out, out.length - digits.length, digits.length);
            return out;
        }
        if (value instanceof UUID) {
            UUID id = (UUID) value;
            ByteBuffer out = ByteBuffer.allocate(16);
            return out.putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).array();
        }
        if (value instanceof Fields) {
            ByteBuffer out = ByteBuffer.allocate(12).order(ByteOrder.LITTLE_ENDIAN);
            ((Fields) value).values().forEach(part -> out.putInt((int) (long) (Long) part));
            return out.array();
        }
        return (byte[]) value;
    }
}
