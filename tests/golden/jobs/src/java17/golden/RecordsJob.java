package golden;

import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.POJO;

import java.math.BigDecimal;
import java.util.Collections;
import java.util.List;

/** Java records, which Flink 1.19 and later write like POJOs. */
final class RecordsJob extends StatesJob {
    /** All but the primitive component may be null. */
    public record Payment(String id, long cents, Integer parts, Payer payer, BigDecimal fee) {}

    /** Nested in {@link Payment}. */
    public record Payer(String name, boolean company) {}

    RecordsJob() {
        super("records", "small");
    }

    private static Payment payment(Event e) {
        Payer payer = e.number % 3 == 0 ? null : new Payer(e.number % 3 == 1 ? null : e.name, e.number % 2 == 0);
        return new Payment(e.text, e.number * 7, e.number % 4 == 0 ? null : (int) e.number, payer,
                e.number % 5 == 0 ? null : BigDecimal.valueOf(e.number, 2));
    }

    @Override
    List<OperatorSpec> operators() {
        return Collections.singletonList(new OperatorSpec("payments", "payments", INT, e -> (int) (e.number % 11),
                StateSpec.<Payment>value("last", POJO(Payment.class), RecordsJob::payment),
                StateSpec.<Payment>list("all", POJO(Payment.class), RecordsJob::payment)));
    }
}
