package golden;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.types.Either;
import org.apache.flink.types.NullValue;
import org.apache.flink.types.Row;
import org.apache.flink.types.Value;

/** Java values in the tagged notation of expected.json (README.md of the golden data lists the tags). */
final class Json {
    private Json() {}

    static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20 || c > 0x7e) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    private static String tag(String tag, String json) {
        return "{\"" + tag + "\": " + json + "}";
    }

    private static String list(Collection<?> values) {
        List<String> parts = new ArrayList<>();
        for (Object value : values) {
            parts.add(of(value));
        }
        return "[" + String.join(", ", parts) + "]";
    }

    static String of(Object value) {
        if (value == null || value instanceof NullValue) {
            return "null";
        }
        if (value instanceof String) {
            return quote((String) value);
        }
        if (value instanceof Boolean || value instanceof Byte || value instanceof Short || value instanceof Integer
                || value instanceof Long) {
            return value.toString();
        }
        if (value instanceof Float || value instanceof Double) {
            double number = ((Number) value).doubleValue();
            return Double.isNaN(number) || Double.isInfinite(number)
                    ? tag("$float", quote(Double.toString(number)))
                    : Double.toString(number);
        }
        if (value instanceof Character) {
            return tag("$char", quote(value.toString()));
        }
        if (value instanceof BigDecimal) {
            return tag("$decimal", quote(value.toString()));
        }
        if (value instanceof BigInteger) {
            return tag("$bigint", quote(value.toString()));
        }
        if (value instanceof byte[]) {
            StringBuilder hex = new StringBuilder();
            for (byte b : (byte[]) value) {
                hex.append(String.format("%02x", b));
            }
            return tag("$bytes", quote(hex.toString()));
        }
        if (value instanceof Instant) {
            return tag("$instant", quote(value.toString()));
        }
        if (value instanceof LocalDate) {
            return tag("$localdate", quote(value.toString()));
        }
        if (value instanceof LocalTime) {
            return tag("$localtime", quote(value.toString()));
        }
        if (value instanceof LocalDateTime) {
            return tag("$localdatetime", quote(value.toString()));
        }
        if (value instanceof java.sql.Timestamp) {
            java.sql.Timestamp stamp = (java.sql.Timestamp) value;
            return tag("$sqltimestamp", "{\"epoch_ms\": " + stamp.getTime() + ", \"nanos\": " + stamp.getNanos() + "}");
        }
        if (value instanceof java.sql.Date) {
            return tag("$sqldate", Long.toString(((java.sql.Date) value).getTime()));
        }
        if (value instanceof java.sql.Time) {
            return tag("$sqltime", Long.toString(((java.sql.Time) value).getTime()));
        }
        if (value instanceof java.util.Date) {
            return tag("$date_ms", Long.toString(((java.util.Date) value).getTime()));
        }
        if (value instanceof java.util.UUID) {
            return tag("$uuid", quote(value.toString()));
        }
        if (value instanceof Class) {
            return quote(((Class<?>) value).getName());
        }
        if (value instanceof StringBuilder || value instanceof java.net.URI || value instanceof java.util.Locale
                || value instanceof java.util.Currency || value.getClass().getName().startsWith("java.time.")) {
            return quote(value.toString());
        }
        if (value instanceof Enum) {
            Enum<?> constant = (Enum<?>) value;
            return tag("$enum", "{\"class\": " + quote(constant.getDeclaringClass().getName()) + ", \"name\": "
                    + quote(constant.name()) + ", \"ordinal\": " + constant.ordinal() + "}");
        }
        if (value instanceof Tuple) {
            Tuple tuple = (Tuple) value;
            List<Object> fields = new ArrayList<>();
            for (int i = 0; i < tuple.getArity(); i++) {
                fields.add(tuple.getField(i));
            }
            return tag("$tuple", list(fields));
        }
        if (value instanceof Row) {
            Row row = (Row) value;
            List<Object> fields = new ArrayList<>();
            for (int i = 0; i < row.getArity(); i++) {
                fields.add(row.getField(i));
            }
            return tag("$row", "{\"kind\": " + quote(row.getKind().shortString()) + ", \"values\": " + list(fields) + "}");
        }
        if (value instanceof Either) {
            Either<?, ?> either = (Either<?, ?>) value;
            return either.isLeft() ? tag("$left", of(either.left())) : tag("$right", of(either.right()));
        }
        if (value instanceof TimeWindow) {
            TimeWindow window = (TimeWindow) value;
            return tag("$window", "[" + window.getStart() + ", " + window.getEnd() + "]");
        }
        if (value instanceof GlobalWindow) {
            return tag("$window", "\"global\"");
        }
        if (value instanceof Value) {
            return tag("$value", "{\"class\": " + quote(value.getClass().getSimpleName()) + ", \"toString\": "
                    + quote(value.toString()) + "}");
        }
        if (value instanceof Fields) {
            List<String> fields = new ArrayList<>();
            ((Fields) value).forEach((name, field) -> fields.add(quote(name) + ": " + of(field)));
            return "{" + String.join(", ", fields) + "}";
        }
        if (value instanceof Map) {
            List<String> pairs = new ArrayList<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                pairs.add("[" + of(entry.getKey()) + ", " + of(entry.getValue()) + "]");
            }
            return tag("$map", "[" + String.join(", ", pairs) + "]");
        }
        if (value instanceof Set) {
            return tag("$set", list((Set<?>) value));
        }
        if (value instanceof Collection) {
            return list((Collection<?>) value);
        }
        if (value.getClass().isArray()) {
            List<Object> items = new ArrayList<>();
            for (int i = 0; i < Array.getLength(value); i++) {
                items.add(Array.get(value, i));
            }
            return list(items);
        }
        return pojo(value);
    }

    /** POJOs and records: fields in the order of the source, those of superclasses first. */
    private static String pojo(Object value) {
        List<Class<?>> classes = new ArrayList<>();
        for (Class<?> c = value.getClass(); c != Object.class && !c.getName().startsWith("java."); c = c.getSuperclass()) {
            classes.add(c);
        }
        Collections.reverse(classes);
        List<String> fields = new ArrayList<>();
        for (Class<?> c : classes) {
            for (Field field : c.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) || Modifier.isTransient(field.getModifiers())) {
                    continue;
                }
                try {
                    field.setAccessible(true);
                    fields.add(quote(field.getName()) + ": " + of(field.get(value)));
                } catch (IllegalAccessException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        if (fields.isEmpty()) {
            throw new IllegalArgumentException("no notation for " + value.getClass());
        }
        return tag("$pojo", "{\"class\": " + quote(value.getClass().getName()) + ", \"fields\": {"
                + String.join(", ", fields) + "}}");
    }
}
