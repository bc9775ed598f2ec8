package golden;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.PlanReference;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.StatementSet;
import org.apache.flink.table.api.TableDescriptor;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.api.internal.TableEnvironmentImpl;
import org.apache.flink.table.delegation.Planner;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.utils.LogicalTypeUtils;
import org.apache.flink.table.types.utils.TypeConversions;

/** Queries over tables that never end, run from a compiled plan, which is kept with the snapshot. */
class SqlJob implements Job {
    private JsonNode plan;

    List<SqlQuery> queries(Case options) {
        String version = EnvironmentInformation.getVersion();
        boolean old = version.startsWith("1.17");
        List<SqlQuery> out = new ArrayList<>(SqlAggregates.queries(!old));
        out.addAll(SqlJoins.queries(old));
        out.addAll(SqlRankings.queries(options, version.startsWith("2.")));
        out.addAll(SqlOver.queries());
        out.addAll(SqlWindows.queries(!old));
        return out;
    }

    @Override
    public void build(StreamExecutionEnvironment env, Case options) {
        // A watermark behind every row.
        env.getConfig().setAutoWatermarkInterval(0);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("table.optimizer.agg-phase-strategy", "ONE_PHASE");
        tables.getConfig().set("table.local-time-zone", "UTC");
        SqlTables.create(tables);
        StatementSet all = tables.createStatementSet();
        for (SqlQuery query : queries(options)) {
            tables.createTemporaryTable(query.name, TableDescriptor.forConnector("blackhole")
                    .schema(schema(tables.sqlQuery(query.sql).getResolvedSchema().getColumnDataTypes())).build());
            all.addInsertSql("INSERT INTO " + query.name + " " + query.sql);
        }
        String json = all.compilePlan().asJsonString();
        try {
            plan = new ObjectMapper().readTree(json);
            Planner planner = ((TableEnvironmentImpl) tables).getPlanner();
            for (Transformation<?> sink : planner.translatePlan(planner.loadPlan(PlanReference.fromJsonString(json)))) {
                env.addOperator(sink);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Schema schema(List<DataType> types) {
        Schema.Builder out = Schema.newBuilder();
        for (int i = 0; i < types.size(); i++) {
            LogicalType plain = LogicalTypeUtils.removeTimeAttributes(types.get(i).getLogicalType());
            out.column("c" + i, TypeConversions.fromLogicalToDataType(plain.copy(true)));
        }
        return out.build();
    }

    @Override
    public int sources() {
        int out = 0;
        for (JsonNode node : plan.get("nodes")) {
            out += kind(node).equals("table-source-scan") ? 1 : 0;
        }
        return out;
    }

    /** {@code stream-exec-group-aggregate_1} is a {@code group-aggregate}. */
    private static String kind(JsonNode node) {
        return node.get("type").asText().replaceFirst("^stream-exec-", "").replaceFirst("_\\d+$", "");
    }

    @Override
    public List<Model.Operator> model(Case options) {
        Map<String, Integer> sinks = new HashMap<>();
        for (JsonNode node : plan.get("nodes")) {
            if (kind(node).equals("sink")) {
                String identifier = node.at("/dynamicTableSink/table/identifier").asText();
                sinks.put(identifier.replaceAll(".*`(\\w+)`$", "$1"), node.get("id").asInt());
            }
        }
        List<Model.Operator> out = new ArrayList<>();
        for (SqlQuery query : queries(options)) {
            query.states.forEach((kind, states) -> {
                String uid = upstream(sinks.get(query.name), kind) + "_" + kind;
                Model.Operator operator = new Model.Operator(uid, query.name, options.parallelism).with(states);
                if (query.watermark != null) {
                    Model.OperatorState watermark = new Model.OperatorState("watermark", "UNION");
                    for (int i = 0; i < options.parallelism; i++) {
                        watermark.subtasks.add(java.util.Collections.singletonList(query.watermark));
                    }
                    operator.operatorStates.add(watermark);
                }
                out.add(operator);
            });
        }
        return out;
    }

    /** The id of the node of a kind that is nearest to a sink. */
    private int upstream(int id, String kind) {
        List<Integer> at = new ArrayList<>();
        at.add(id);
        for (int i = 0; i < at.size(); i++) {
            for (JsonNode node : plan.get("nodes")) {
                if (node.get("id").asInt() == at.get(i) && kind(node).equals(kind)) {
                    return at.get(i);
                }
            }
            for (JsonNode edge : plan.get("edges")) {
                if (edge.get("target").asInt() == at.get(i)) {
                    at.add(edge.get("source").asInt());
                }
            }
        }
        throw new IllegalStateException("no " + kind + " in the plan of sink " + id);
    }

    @Override
    public void keep(Path folder) throws IOException {
        try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(folder.resolve("plan.json.gz")))) {
            out.write(plan.toString().getBytes(StandardCharsets.UTF_8));
        }
    }
}
