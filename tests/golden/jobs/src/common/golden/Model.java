package golden;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a snapshot must hold, as computed from the job's input. */
final class Model {
    private Model() {}

    static final class Row {
        final Object key;
        final Object namespace;
        final Object value;

        /** A null namespace stands for the void namespace. */
        Row(Object key, Object namespace, Object value) {
            this.key = key;
            this.namespace = namespace;
            this.value = value;
        }
    }

    static final class State {
        final String name;
        final String kind;
        boolean ttl;
        int emptyMapRows;

        /** The elements' order in a list depends on hash codes in Flink. */
        boolean unordered;

        /** Snapshot class of a serializer that only the user has. */
        String undecodable;

        final List<Row> rows = new ArrayList<>();

        State(String name, String kind) {
            this.name = name;
            this.kind = kind;
        }

        /** Without rows where those are in a file of their own. */
        String json(String indent, boolean emptyMaps, boolean withRows) {
            StringBuilder out = new StringBuilder("{\"name\": " + Json.quote(name) + ", \"kind\": " + Json.quote(kind)
                    + ", \"ttl\": " + ttl);
            if (emptyMaps && emptyMapRows > 0) {
                out.append(", \"empty_map_rows\": ").append(emptyMapRows);
            }
            if (unordered) {
                out.append(", \"unordered\": true");
            }
            if (undecodable != null) {
                out.append(", \"undecodable\": ").append(Json.quote(undecodable));
            }
            return out + (withRows ? ", \"rows\": " + rowsJson(indent) : "") + "}";
        }

        private String rowsJson(String indent) {
            StringBuilder out = new StringBuilder("[");
            String separator = "\n";
            for (Row row : rows) {
                out.append(separator).append(indent).append(" {\"key\": ").append(Json.of(row.key));
                if (row.namespace != null) {
                    out.append(", \"namespace\": ").append(Json.of(row.namespace));
                }
                out.append(", \"value\": ").append(Json.of(row.value)).append("}");
                separator = ",\n";
            }
            return out.append("]").toString();
        }
    }

    static final class OperatorState {
        final String name;
        final String mode;

        /** One list of values (or, for broadcast state, one map) per subtask. */
        final List<Object> subtasks = new ArrayList<>();

        OperatorState(String name, String mode) {
            this.name = name;
            this.mode = mode;
        }

        String json() {
            List<String> parts = new ArrayList<>();
            for (int i = 0; i < subtasks.size(); i++) {
                String body;
                if (subtasks.get(i) instanceof Map) {
                    List<Object> pairs = new ArrayList<>();
                    for (Map.Entry<?, ?> entry : ((Map<?, ?>) subtasks.get(i)).entrySet()) {
                        pairs.add(new Object[] {entry.getKey(), entry.getValue()});
                    }
                    body = "\"entries\": " + Json.of(pairs);
                } else {
                    body = "\"values\": " + Json.of(subtasks.get(i));
                }
                parts.add("{\"subtask\": " + i + ", " + body + "}");
            }
            return "{\"name\": " + Json.quote(name) + ", \"mode\": " + Json.quote(mode) + ", \"subtasks\": ["
                    + String.join(", ", parts) + "]}";
        }
    }

    static final class Operator {
        final String uid;
        final String name;
        final int parallelism;
        final List<State> states = new ArrayList<>();
        final List<OperatorState> operatorStates = new ArrayList<>();
        final List<Integer> finishedSubtasks = new ArrayList<>();

        Operator(String uid, String name, int parallelism) {
            this.uid = uid;
            this.name = name;
            this.parallelism = parallelism;
        }

        Operator finished(Integer... subtasks) {
            finishedSubtasks.addAll(Arrays.asList(subtasks));
            return this;
        }

        Operator with(List<State> more) {
            states.addAll(more);
            return this;
        }

        String json(Case job, boolean withRows) {
            List<String> keyed = new ArrayList<>();
            for (State state : states) {
                keyed.add("\n   " + state.json("   ", job.keepsEmptyMaps(), withRows));
            }
            List<String> operator = new ArrayList<>();
            for (OperatorState state : operatorStates) {
                operator.add("\n   " + state.json());
            }
            return "{\"uid\": " + Json.of(uid) + ", \"name\": " + Json.of(name) + ", \"parallelism\": " + parallelism
                    + ", \"max_parallelism\": " + job.maxParallelism
                    + (finishedSubtasks.isEmpty() ? "" : ", \"finished_subtasks\": " + Json.of(finishedSubtasks)) + ",\n  \"states\": [" + String.join(",", keyed)
                    + "],\n  \"operator_states\": [" + String.join(",", operator) + "]}";
        }
    }

    /** The rows of several cases: an object of operators by uid, each of the rows of its states by name. */
    static String rowsJson(List<Operator> operators) {
        List<String> parts = new ArrayList<>();
        for (Operator operator : operators) {
            List<String> states = new ArrayList<>();
            for (State state : operator.states) {
                states.add("\n  " + Json.quote(state.name) + ": " + state.rowsJson("  "));
            }
            parts.add("\n " + Json.quote(operator.uid) + ": {" + String.join(",", states) + "}");
        }
        return "{" + String.join(",", parts) + "\n}\n";
    }

    /** What a case must hold. If {@code rows} is not null, it names the file with the rows. */
    static String json(Case job, String flinkVersion, String snapshot, List<Operator> operators, String rows) {
        Map<String, Object> head = new LinkedHashMap<>();
        head.put("case", job.name);
        head.put("job", job.job);
        head.put("flink_version", flinkVersion);
        head.put("kind", job.kind);
        head.put("compression", job.compression);
        head.put("parallelism", job.parallelism);
        head.put("max_parallelism", job.maxParallelism);
        head.put("storage", job.storage);
        if (!job.backend.equals("hashmap")) {
            head.put("backend", job.backend);
        }
        if (job.changelog != null) {
            head.put("changelog", job.changelog);
        }
        head.put("restored_from", job.from);
        head.put("snapshot", snapshot);
        if (rows != null) {
            head.put("rows", rows);
        }
        StringBuilder out = new StringBuilder("{");
        for (Map.Entry<String, Object> entry : head.entrySet()) {
            out.append(" ").append(Json.quote(entry.getKey())).append(": ").append(Json.of(entry.getValue())).append(",\n");
        }
        List<String> parts = new ArrayList<>();
        for (Operator operator : operators) {
            parts.add("\n  " + operator.json(job, rows == null));
        }
        return out.append(" \"operators\": [").append(String.join(",", parts)).append("]\n}\n").toString();
    }
}
