package golden;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** What the records of the job hold, in plain Java and without Avro. */
final class AvroValues {
    private AvroValues() {}

    /** So many different records; the events after them leave the state alone. */
    static final int COUNT = 7;

    private static final BigInteger DIGITS_38 = BigInteger.TEN.pow(38).subtract(BigInteger.ONE);
    private static final String[] GRADES = {"LOW", "MIDDLE", "HIGH"};

    /** Without lone surrogates, which UTF-8 cannot hold. */
    static String text(long n) {
        return Strings.awkward(n % 9 < 4 ? n % 9 : n % 9 + 2);
    }

    static Fields place(long n) {
        return new Fields().with("city", text(n)).with("zip", n % 2 == 0 ? null : (int) (n * 1_000_003));
    }

    /** The n-th record: 0 is empty, 1 has the extremes, the others are ordinary. */
    static Fields everything(long number) {
        int n = (int) number;
        boolean none = n == 0;
        boolean extreme = n == 1;
        Instant at = extreme
                ? Instant.parse("1900-01-01T00:00:00.000001Z")
                : Instant.ofEpochSecond(n * 86_399L, n * 1_001_000L);
        LocalDateTime local = extreme
                ? LocalDateTime.parse("2200-12-31T23:59:59.999999")
                : LocalDateTime.of(2024, 2, 29, n, 1, 2, n * 3_004_000);
        LocalTime time = extreme ? LocalTime.parse("23:59:59.999999") : LocalTime.of(n, n, n, n * 5_006_000);
        Fields out = new Fields();
        out.with("flag", n % 2 == 1);
        out.with("small", extreme ? Integer.MIN_VALUE : n).with("big", extreme ? Long.MIN_VALUE : -n * 10_000_000_000L);
        out.with("real", extreme ? Float.NaN : n * 0.5f).with("wide", extreme ? Double.NEGATIVE_INFINITY : n / 3.0);
        out.with("text", none ? "" : text(n)).with("raw", none ? new byte[0] : new byte[] {0, (byte) -n, 127});
        out.with("nothing", null);
        out.with("day", extreme ? LocalDate.of(1582, 10, 4) : LocalDate.ofEpochDay(n * 11_000L));
        out.with("time_ms", time.truncatedTo(ChronoUnit.MILLIS)).with("time_us", time);
        out.with("at_ms", at.truncatedTo(ChronoUnit.MILLIS)).with("at_us", at).with("at_ns", at);
        out.with("local_ms", local.truncatedTo(ChronoUnit.MILLIS)).with("local_us", local).with("local_ns", local);
        out.with("price", decimal(extreme ? -9_999_999_999L : n * 199L, 2));
        out.with("huge", extreme ? new BigDecimal(DIGITS_38.negate(), 10) : decimal(n, 10));
        out.with("beyond", extreme ? new BigDecimal(DIGITS_38.shiftLeft(60), 5) : decimal(-n, 5));
        out.with("fee", decimal(extreme ? -999_999_999_999L : n, 3));
        out.with("wide_fee", extreme ? new BigDecimal(DIGITS_38, 4) : decimal(-n, 4));
        out.with("any_scale", none ? null : extreme ? new BigDecimal("1E+9") : decimal(-n, n));
        out.with("id", new UUID(n, ~n)).with("fixed_id", new UUID(~n, n));
        out.with("span", new Fields().with("months", (long) n).with("days", extreme ? 0xFFFFFFFFL : n * 2L)
                .with("milliseconds", n * 3L));
        out.with("grade", GRADES[n % 3]).with("digest", new byte[] {(byte) n, -1, 0, 1});
        out.with("tags", none ? Collections.emptyList() : Arrays.asList("", "tag " + n));
        Map<String, Object> counts = new LinkedHashMap<>();
        Map<String, Object> days = new LinkedHashMap<>();
        for (int i = 0; i < n; i++) {
            counts.put("count " + i, (long) i * n);
            days.put("", Arrays.asList(LocalDate.ofEpochDay(i), LocalDate.ofEpochDay(-n)));
        }
        out.with("counts", counts);
        out.with("grid", none
                ? Collections.emptyList()
                : Arrays.asList(Arrays.asList(n, null), Collections.emptyList(), Arrays.asList(-n)));
        out.with("days", days);
        List<Object> places = new ArrayList<>();
        for (int i = 0; i < n % 3; i++) {
            places.add(place(n + i));
        }
        out.with("place", place(n)).with("places", places);
        out.with("maybe", n % 2 == 0 ? null : "maybe " + n).with("maybe_last", n % 2 == 1 ? null : "maybe last " + n);
        out.with("maybe_price", n % 3 == 0 ? null : decimal(n, 2));
        out.with("maybe_at", n % 3 == 1 ? null : Instant.ofEpochMilli(n));
        out.with("alone", new Fields().with("long", (long) n));
        out.with("either", n % 2 == 0 ? new Fields().with("int", n) : new Fields().with("string", "text " + n));
        out.with("choice", choice(n));
        return out.with("chain", n < 2 ? null : chain(n));
    }

    /** The branch that is taken, by its name; none is null. */
    private static Fields choice(int n) {
        switch (n) {
            case 1: return new Fields().with("boolean", true);
            case 2: return new Fields().with("Place", place(9));
            case 3: return new Fields().with("Grade", "HIGH");
            case 4: return new Fields().with("Digest", new byte[] {4, 3, 2, 1});
            case 5: return new Fields().with("array", Arrays.asList(5, 6));
            case 6: return new Fields().with("map", Collections.singletonMap("key", "value"));
            default: return new Fields();
        }
    }

    /** What is in a type that is inside itself is JSON. */
    private static Fields chain(int n) {
        String next = "null";
        for (int i = 0; i < n - 1; i++) {
            next = "{\"n\":" + i + ",\"next\":" + next + "}";
        }
        return new Fields().with("n", n - 1).with("next", next);
    }

    private static BigDecimal decimal(long unscaled, int scale) {
        return BigDecimal.valueOf(unscaled, scale);
    }
}
