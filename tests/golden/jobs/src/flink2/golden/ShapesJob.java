package golden;

import static org.apache.flink.api.common.typeinfo.Types.DOUBLE;
import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.POJO;
import static org.apache.flink.api.common.typeinfo.Types.STRING;
import static org.apache.flink.api.common.typeinfo.Types.TUPLE;
import static org.apache.flink.api.common.typeinfo.Types.VOID;

import com.example.shop.Address;
import com.example.shop.Basket;
import com.example.shop.Customer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.typeutils.NullableListTypeInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * The shapes of the benchmarks' generator, of which {@code shapes_input.py} writes the rows: event n is row n.
 *
 * <p>The functions are maps and not process functions, whose operators would have queues of timers beside the states.
 */
final class ShapesJob implements Job {
    /** Resource with one JSON array for each row: shape, row number, key, value. */
    private static final String INPUT = "/shapes.jsonl";

    /** Flink's own type for a list in a POJO, which it extracts for a List of classes, but not of tuples. */
    private static final TypeInformation<Basket> BASKET = POJO(
            Basket.class,
            Map.of(
                    "address", POJO(Address.class),
                    "items", new NullableListTypeInfo<>(TUPLE(STRING, INT, DOUBLE)),
                    "opened", LONG));

    private static final List<String> TEXT_SHAPES = Arrays.asList("pojo", "map", "list", "nested");

    /** The rows of each shape, in order. */
    private static final class Rows {
        static final Map<String, List<JsonNode>> BY_SHAPE = read();

        private static Map<String, List<JsonNode>> read() {
            Map<String, List<JsonNode>> out = new LinkedHashMap<>();
            ObjectMapper json = new ObjectMapper();
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(
                    ShapesJob.class.getResourceAsStream(INPUT), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    JsonNode row = json.readTree(line);
                    out.computeIfAbsent(row.get(0).textValue(), shape -> new ArrayList<>()).add(row);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return out;
        }
    }

    private static JsonNode row(String shape, Event event) {
        return Rows.BY_SHAPE.get(shape).get((int) event.number);
    }

    private static Long longKey(Event event) {
        return row("long-long", event).get(2).longValue();
    }

    private static String textKey(Event event) {
        return row("pojo", event).get(2).textValue();
    }

    private static Object value(String shape, Event event) {
        JsonNode value = row(shape, event).get(3);
        switch (shape) {
            case "long-long":
                return value.longValue();
            case "pojo":
                Customer customer = new Customer();
                customer.active = value.get("active").booleanValue();
                customer.balance = value.get("balance").doubleValue();
                customer.name = value.get("name").textValue();
                customer.orders = value.get("orders").intValue();
                customer.updated = value.get("updated").longValue();
                return customer;
            case "map":
                Map<String, Long> map = new LinkedHashMap<>();
                value.forEach(pair -> map.put(pair.get(0).textValue(), pair.get(1).isNull() ? null : pair.get(1).longValue()));
                return map;
            case "list":
                List<Long> list = new ArrayList<>();
                value.forEach(element -> list.add(element.longValue()));
                return list;
            default:
                return basket(value);
        }
    }

    private static Basket basket(JsonNode value) {
        Basket basket = new Basket();
        JsonNode address = value.get("address");
        if (!address.isNull()) {
            basket.address = new Address();
            basket.address.city = address.get("city").textValue();
            basket.address.number = address.get("number").intValue();
            basket.address.street = address.get("street").textValue();
        }
        basket.items = new ArrayList<>();
        value.get("items").forEach(item -> basket.items.add(Tuple3.of(
                item.get("f0").textValue(), item.get("f1").intValue(), item.get("f2").doubleValue())));
        basket.opened = value.get("opened").longValue();
        return basket;
    }

    @Override
    public void build(StreamExecutionEnvironment env, Case options) {
        DataStream<Event> events = StatesJob.source(env, "shapes", options);
        events.keyBy(ShapesJob::longKey, LONG).map(new Counters()).returns(VOID).name("Counters").uid("counters");
        events.keyBy(ShapesJob::textKey, STRING).map(new Customers()).returns(VOID).name("Customers").uid("customers");
    }

    static final class Counters extends RichMapFunction<Event, Void> {
        private static final long serialVersionUID = 1L;

        private transient ValueState<Long> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("long-long", LONG));
        }

        @Override
        public Void map(Event event) throws IOException {
            state.update((Long) value("long-long", event));
            return null;
        }
    }

    static final class Customers extends RichMapFunction<Event, Void> {
        private static final long serialVersionUID = 1L;

        private transient ValueState<Customer> pojo;
        private transient MapState<String, Long> map;
        private transient ListState<Long> list;
        private transient ValueState<Basket> nested;

        @Override
        public void open(OpenContext context) {
            pojo = getRuntimeContext().getState(new ValueStateDescriptor<>("pojo", POJO(Customer.class)));
            map = getRuntimeContext().getMapState(new MapStateDescriptor<>("map", STRING, LONG));
            list = getRuntimeContext().getListState(new ListStateDescriptor<>("list", LONG));
            nested = getRuntimeContext().getState(new ValueStateDescriptor<>("nested", BASKET));
        }

        @Override
        @SuppressWarnings("unchecked")
        public Void map(Event event) throws Exception {
            pojo.update((Customer) value("pojo", event));
            map.putAll((Map<String, Long>) value("map", event));
            list.update((List<Long>) value("list", event));
            nested.update((Basket) value("nested", event));
            return null;
        }
    }

    @Override
    public List<Model.Operator> model(Case options) {
        Model.Operator counters = new Model.Operator("counters", "Counters", options.parallelism);
        counters.states.add(state("long-long", "VALUE"));
        Model.Operator customers = new Model.Operator("customers", "Customers", options.parallelism);
        for (String shape : TEXT_SHAPES) {
            customers.states.add(state(shape, shape.equals("map") ? "MAP" : shape.equals("list") ? "LIST" : "VALUE"));
        }
        return Arrays.asList(new Model.Operator("shapes", "Source: shapes", 1), counters, customers);
    }

    private static Model.State state(String shape, String kind) {
        Model.State out = new Model.State(shape, kind);
        for (Event event : Feeds.events("shapes", 1)) {
            Object key = shape.equals("long-long") ? longKey(event) : textKey(event);
            out.rows.add(new Model.Row(key, null, value(shape, event)));
        }
        return out;
    }
}
