import java.util.*;

/** Prints splits and enumerator state of the MongoDB source. */
public class MongodbBytes extends Printing {
    static final String SOURCE = "org.apache.flink.connector.mongodb.source.";

    public static void main(String[] args) throws Exception {
        Object split = make(SOURCE + "split.MongoScanSourceSplit", "shop.orders_0", "shop", "orders", document("{\"_id\": 1}"), document("{\"_id\": 100}"),
                document("{\"_id\": 1}"), 7);
        Object splits = field(SOURCE + "split.MongoSourceSplitSerializer", "INSTANCE");
        wrapped("mongodb_split " + args[0], splits, split, MongodbBytes::split);
        Object states = field(SOURCE + "enumerator.MongoSourceEnumStateSerializer", "INSTANCE");
        String state = SOURCE + "enumerator.MongoSourceEnumState";
        Map<String, Object> assigned = new LinkedHashMap<>(Map.of("shop.orders_0", split));
        wrapped("mongodb_enumerator " + args[0], states, make(state, List.of("shop.items"), List.of("shop.orders"), List.of(split), assigned, true),
                MongodbBytes::state);
        wrapped("bytes_enumerator mongodb " + args[0], states, make(state, List.of(), List.of("shop.orders"), List.of(), Map.of(), true), MongodbBytes::state);
    }

    static Object document(String json) throws Exception {
        return call("org.bson.BsonDocument", "parse", json);
    }

    static Object split(Object split) throws Exception {
        Map<String, Object> found = map("split_id", call(split, "splitId"), "database", call(split, "getDatabase"), "collection", call(split, "getCollection"));
        for (String part : List.of("Min", "Max", "Hint")) found.put(part.toLowerCase(), call(call(split, "get" + part), "toJson"));
        found.put("offset", call(split, "getOffset"));
        return found;
    }

    static Object state(Object state) throws Exception {
        List<Object> remaining = new ArrayList<>();
        for (Object split : (Collection<?>) call(state, "getRemainingScanSplits")) remaining.add(split(split));
        List<Object> assigned = new ArrayList<>();
        for (Object split : ((Map<?, ?>) call(state, "getAssignedScanSplits")).values()) assigned.add(split(split));
        return map("remaining_collections", call(state, "getRemainingCollections"), "processed_collections", call(state, "getAlreadyProcessedCollections"),
                "remaining_splits", remaining, "assigned_splits", assigned, "initialized", call(state, "isInitialized"));
    }
}
