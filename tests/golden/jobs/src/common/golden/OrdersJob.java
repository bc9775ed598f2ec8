package golden;

import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.POJO;
import static org.apache.flink.api.common.typeinfo.Types.STRING;
import static org.apache.flink.api.common.typeinfo.Types.TUPLE;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** The README's example: what a coffee shop knows about its customers and its sales per hour. */
final class OrdersJob extends StatesJob {
    private static final long HOUR = 3_600_000;
    private static final long REMINDER_AFTER = 14L * 24 * HOUR;

    OrdersJob() {
        super("orders", "orders");
    }

    @Override
    List<OperatorSpec> operators() {
        return Collections.singletonList(
                new OperatorSpec("orders-by-customer", "orders by customer", STRING, Order::customer,
                        StateSpec.<Order>value("last-order", POJO(Order.class), Order::of),
                        StateSpec.<String, Long>map("cents-by-product", STRING, LONG, new Totals()),
                        StateSpec.<Long>list("order-ids", LONG, e -> 1000 + e.number),
                        StateSpec.<String>value("voucher", STRING, e -> Order.of(e).voucher).withTtl())
                        // Reminds of unpaid orders.
                        .withTimers(
                                e -> Order.of(e).status == Order.Status.NEW
                                        ? Collections.singleton(e.ts + REMINDER_AFTER)
                                        : Collections.emptySet(),
                                e -> Collections.emptySet()));
    }

    /** The total after each order, worked out from the input, so that the job's map state is put and never read. */
    private static final class Totals implements java.util.function.Function<Event, Map<String, Long>> {
        private final Map<Long, Map<String, Long>> entries = new LinkedHashMap<>();

        Totals() {
            Map<Tuple2<String, String>, Long> totals = new LinkedHashMap<>();
            for (Event event : Feeds.events("orders", 1)) {
                Order order = Order.of(event);
                long total = totals.merge(Tuple2.of(Order.customer(event), order.product), order.cents(), Long::sum);
                entries.put(event.number, StateSpec.entry(order.product, total));
            }
        }

        @Override
        public Map<String, Long> apply(Event event) {
            return entries.get(event.number);
        }
    }

    @Override
    void more(StreamExecutionEnvironment env, DataStream<Event> events, Case options) {
        events.keyBy(e -> Order.of(e).product, STRING)
                .window(Shims.tumbling(HOUR))
                .aggregate(new Windows.CountAndSum(), TUPLE(INT, LONG), LONG)
                .name("sales per hour")
                .uid("sales-per-hour");
    }

    @Override
    public List<Model.Operator> model(Case options) {
        List<Model.Operator> out = super.model(options);
        out.add(new Model.Operator("sales-per-hour", "sales per hour", options.parallelism).with(Windows.aligned(
                "AGGREGATING", HOUR, HOUR, Feeds.seen("orders", 1), e -> Order.of(e).product, Tuple2.of(0, 0L),
                (a, e) -> Tuple2.of(a.f0 + 1, a.f1 + e.number))));
        return out;
    }
}
