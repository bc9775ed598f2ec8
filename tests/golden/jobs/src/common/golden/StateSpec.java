package golden;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;

/**
 * One state of a keyed operator: how the job fills it through Flink, and, next to it, the same in plain Java.
 *
 * <p>Types are a TypeInformation or a TypeSerializer. A function that gives null for an event leaves the state alone.
 */
abstract class StateSpec {
    final String name;
    final String kind;
    boolean ttl;
    Duration timeToLive = Duration.ofDays(10_000);
    String undecodable;

    /** Events that clear the state of their key and do nothing else. */
    Predicate<Event> cleared = event -> false;

    /** Events whose value takes the place of all elements of a list. */
    Predicate<Event> replaced = event -> false;

    /** The keys that an event removes from a map, after it has put its entries. */
    Function<Event, Set<?>> removed = event -> Collections.emptySet();

    StateSpec(String name, String kind) {
        this.name = name;
        this.kind = kind;
    }

    StateSpec withTtl() {
        ttl = true;
        return this;
    }

    /** What expired is in the snapshot until a compaction drops it; the model has it always. */
    StateSpec expiringAfter(Duration time) {
        timeToLive = time;
        return withTtl();
    }

    StateSpec clearedBy(Predicate<Event> events) {
        cleared = events;
        return this;
    }

    StateSpec replacedBy(Predicate<Event> events) {
        replaced = events;
        return this;
    }

    StateSpec removing(Function<Event, Set<?>> keys) {
        removed = keys;
        return this;
    }

    StateSpec undecodable(String snapshotClass) {
        undecodable = snapshotClass;
        return this;
    }

    /** Binds the state of one running operator; what comes back is called once per event. */
    abstract Update open(KeyedStateStore store);

    /** The state of one key after its events, or null if it has none. */
    abstract Object model(List<Event> events);

    interface Update {
        void apply(Event event) throws Exception;
    }

    <D extends StateDescriptor<?, ?>> D prepared(D descriptor) {
        if (ttl) {
            descriptor.enableTimeToLive(Shims.ttl(timeToLive));
        }
        return descriptor;
    }

    Update guarded(State state, Update update) {
        return event -> {
            if (cleared.test(event)) {
                state.clear();
            } else {
                update.apply(event);
            }
        };
    }

    /** The events behind the last one that cleared the state. */
    private List<Event> live(List<Event> events) {
        int first = events.size();
        while (first > 0 && !cleared.test(events.get(first - 1))) {
            first--;
        }
        return events.subList(first, events.size());
    }

    Model.State state(Function<Event, Object> key, List<Event> events) {
        Map<Object, List<Event>> byKey = new LinkedHashMap<>();
        for (Event event : events) {
            byKey.computeIfAbsent(key.apply(event), k -> new ArrayList<>()).add(event);
        }
        Model.State out = new Model.State(name, kind);
        out.ttl = ttl;
        out.undecodable = undecodable;
        for (Map.Entry<Object, List<Event>> entry : byKey.entrySet()) {
            List<Event> live = live(entry.getValue());
            Object value = live.isEmpty() ? null : model(live);
            if (value instanceof Map && kind.equals("MAP") && ((Map<?, ?>) value).isEmpty()) {
                out.emptyMapRows++;
            } else if (value != null) {
                out.rows.add(new Model.Row(entry.getKey(), null, value));
            }
        }
        return out;
    }

    static <T> StateSpec value(String name, Object type, Function<Event, T> value) {
        return value(name, type, value, value);
    }

    /** The last function gives what expected.json shows of a value that has no notation itself. */
    @SuppressWarnings("unchecked")
    static <T> StateSpec value(String name, Object type, Function<Event, T> value, Function<Event, ?> shown) {
        return new StateSpec(name, "VALUE") {
            @Override
            Update open(KeyedStateStore store) {
                ValueState<T> state = store.getState(prepared(
                        type instanceof TypeSerializer
                                ? new ValueStateDescriptor<T>(name, (TypeSerializer<T>) type)
                                : new ValueStateDescriptor<T>(name, (TypeInformation<T>) type)));
                return guarded(state, event -> {
                    T next = value.apply(event);
                    if (next != null) {
                        state.update(next);
                    }
                });
            }

            @Override
            Object model(List<Event> events) {
                Object last = null;
                for (Event event : events) {
                    Object next = shown.apply(event);
                    last = next == null ? last : next;
                }
                return last;
            }
        };
    }

    static <T> StateSpec list(String name, Object type, Function<Event, T> value) {
        return list(name, type, value, value);
    }

    @SuppressWarnings("unchecked")
    static <T> StateSpec list(String name, Object type, Function<Event, T> value, Function<Event, ?> shown) {
        return new StateSpec(name, "LIST") {
            @Override
            Update open(KeyedStateStore store) {
                ListState<T> state = store.getListState(prepared(
                        type instanceof TypeSerializer
                                ? new ListStateDescriptor<T>(name, (TypeSerializer<T>) type)
                                : new ListStateDescriptor<T>(name, (TypeInformation<T>) type)));
                return guarded(state, event -> {
                    T next = value.apply(event);
                    if (next != null && replaced.test(event)) {
                        state.update(Collections.singletonList(next));
                    } else if (next != null) {
                        state.add(next);
                    }
                });
            }

            @Override
            Object model(List<Event> events) {
                List<Object> all = new ArrayList<>();
                for (Event event : events) {
                    Object next = shown.apply(event);
                    if (next != null) {
                        if (replaced.test(event)) {
                            all.clear();
                        }
                        all.add(next);
                    }
                }
                return all.isEmpty() ? null : all;
            }
        };
    }

    /** Entries with a null key are skipped by the function giving null for the whole pair; null values are put. */
    static <K, V> StateSpec map(String name, Object keyType, Object valueType, Function<Event, Map<K, V>> entries) {
        return map(name, keyType, valueType, entries, entries);
    }

    @SuppressWarnings("unchecked")
    static <K, V> StateSpec map(String name, Object keyType, Object valueType, Function<Event, Map<K, V>> entries,
            Function<Event, ? extends Map<?, ?>> shown) {
        return new StateSpec(name, "MAP") {
            @Override
            Update open(KeyedStateStore store) {
                MapState<K, V> state = store.getMapState(prepared(
                        keyType instanceof TypeSerializer
                                ? new MapStateDescriptor<K, V>(
                                        name, (TypeSerializer<K>) keyType, (TypeSerializer<V>) valueType)
                                : new MapStateDescriptor<K, V>(
                                        name, (TypeInformation<K>) keyType, (TypeInformation<V>) valueType)));
                return guarded(state, event -> {
                    Map<K, V> next = entries.apply(event);
                    if (next != null) {
                        state.putAll(next);
                    }
                    for (Object key : removed.apply(event)) {
                        state.remove((K) key);
                    }
                });
            }

            @Override
            Object model(List<Event> events) {
                Map<Object, Object> all = null;
                for (Event event : events) {
                    Map<?, ?> next = shown.apply(event);
                    if (next != null) {
                        all = all == null ? new LinkedHashMap<>() : all;
                        all.putAll(next);
                    }
                    for (Object key : removed.apply(event)) {
                        // Flink forgets a key when the last entry of its map is removed.
                        if (all != null) {
                            all.remove(key);
                            all = all.isEmpty() ? null : all;
                        }
                    }
                }
                return all;
            }
        };
    }

    static <K, V> Map<K, V> entry(K key, V value) {
        Map<K, V> out = new LinkedHashMap<>();
        out.put(key, value);
        return out;
    }

    static <T> StateSpec reducing(
            String name, TypeInformation<T> type, Function<Event, T> value, BinaryOperator<T> reduce) {
        return new StateSpec(name, "REDUCING") {
            @Override
            Update open(KeyedStateStore store) {
                ReduceFunction<T> function = reduce::apply;
                ReducingState<T> state =
                        store.getReducingState(prepared(new ReducingStateDescriptor<T>(name, function, type)));
                return guarded(state, event -> {
                    T next = value.apply(event);
                    if (next != null) {
                        state.add(next);
                    }
                });
            }

            @Override
            Object model(List<Event> events) {
                T all = null;
                for (Event event : events) {
                    T next = value.apply(event);
                    all = next == null ? all : all == null ? next : reduce.apply(all, next);
                }
                return all;
            }
        };
    }

    /** The accumulator after each event is {@code fold(accumulator, event)}; every event counts. */
    static <A> StateSpec aggregating(
            String name, TypeInformation<A> type, A initial, java.util.function.BiFunction<A, Event, A> fold) {
        return new StateSpec(name, "AGGREGATING") {
            @Override
            Update open(KeyedStateStore store) {
                AggregateFunction<Event, A, A> function = new AggregateFunction<Event, A, A>() {
                    @Override
                    public A createAccumulator() {
                        return initial;
                    }

                    @Override
                    public A add(Event event, A accumulator) {
                        return fold.apply(accumulator, event);
                    }

                    @Override
                    public A getResult(A accumulator) {
                        return accumulator;
                    }

                    @Override
                    public A merge(A a, A b) {
                        throw new UnsupportedOperationException("no merging windows here");
                    }
                };
                AggregatingState<Event, A> state = store.getAggregatingState(
                        prepared(new AggregatingStateDescriptor<Event, A, A>(name, function, type)));
                return guarded(state, state::add);
            }

            @Override
            Object model(List<Event> events) {
                A all = initial;
                for (Event event : events) {
                    all = fold.apply(all, event);
                }
                return all;
            }
        };
    }
}
