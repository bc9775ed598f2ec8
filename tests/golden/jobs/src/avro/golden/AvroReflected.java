package golden;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.reflect.AvroSchema;
import org.apache.avro.reflect.Nullable;
import org.apache.avro.reflect.Union;

/** A class that Avro takes the schema from by reflection. */
class AvroReflected {
    enum Mode { OFF, ON }

    @Union({Left.class, Right.class})
    interface Side {}

    static class Left implements Side {
        int left;
    }

    static class Right implements Side {
        String right;
    }

    boolean flag;
    byte tiny;
    short small;
    char letter;
    int number;
    long big;
    float real;
    double wide;
    String text;
    @Nullable String maybe;
    byte[] raw;
    int[] ints;
    List<String> tags;
    Map<String, Long> counts;
    Map<Integer, String> numbered;
    Mode mode;
    BigDecimal price;
    @AvroSchema("{\"type\": \"long\", \"logicalType\": \"timestamp-millis\"}") long at;
    @Nullable AvroReflected.Left inner;
    Side side;

    static AvroReflected of(Event event) {
        if (event.number >= AvroValues.COUNT) {
            return null;
        }
        int n = (int) event.number;
        AvroReflected out = new AvroReflected();
        out.flag = n % 2 == 1;
        out.tiny = (byte) -n;
        out.small = (short) (n * 5000);
        out.letter = (char) ('a' + n);
        out.number = -n;
        out.big = n * 10_000_000_000L;
        out.real = n / 4f;
        out.wide = n == 1 ? Double.NaN : -n / 3.0;
        out.text = AvroValues.text(n);
        out.maybe = n % 2 == 0 ? null : "maybe";
        out.raw = Strings.bytes(n);
        out.ints = new int[] {n, -n};
        out.tags = n == 0 ? Collections.emptyList() : Arrays.asList("tag", "" + n);
        out.counts = new LinkedHashMap<>(Collections.singletonMap("count", (long) n));
        out.numbered = new LinkedHashMap<>(Collections.singletonMap(n, "number " + n));
        out.mode = Mode.values()[n % 2];
        out.price = BigDecimal.valueOf(n, 2);
        out.at = n * 1000L + 7;
        if (n % 3 > 0) {
            out.inner = new Left();
            out.inner.left = n;
        }
        if (n % 2 == 0) {
            Left left = new Left();
            left.left = -n;
            out.side = left;
        } else {
            Right right = new Right();
            right.right = "right " + n;
            out.side = right;
        }
        return out;
    }

    /** What the columns show: ints for all small numbers, text for decimals, pairs for maps whose keys are no strings. */
    static Fields shown(Event event) {
        AvroReflected value = of(event);
        if (value == null) {
            return null;
        }
        Fields side = value.side instanceof Left
                ? new Fields().with("Left", new Fields().with("left", ((Left) value.side).left))
                : new Fields().with("Right", new Fields().with("right", ((Right) value.side).right));
        return new Fields().with("flag", value.flag).with("tiny", (int) value.tiny).with("small", (int) value.small)
                .with("letter", (int) value.letter).with("number", value.number).with("big", value.big)
                .with("real", value.real).with("wide", value.wide).with("text", value.text).with("maybe", value.maybe)
                .with("raw", value.raw).with("ints", value.ints).with("tags", value.tags).with("counts", value.counts)
                .with("numbered", pairs(value.numbered))
                .with("mode", value.mode).with("price", value.price.toString())
                .with("at", Instant.ofEpochMilli(value.at))
                .with("inner", value.inner == null ? null : new Fields().with("left", value.inner.left))
                .with("side", side);
    }

    private static List<Object> pairs(Map<?, ?> map) {
        List<Object> out = new ArrayList<>();
        map.forEach((key, value) -> out.add(new Fields().with("key", key).with("value", value)));
        return out;
    }
}
