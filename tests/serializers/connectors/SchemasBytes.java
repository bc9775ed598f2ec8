import java.io.*;
import java.util.*;
import org.apache.flink.cdc.common.event.TableId;
import org.apache.flink.cdc.common.schema.*;
import org.apache.flink.cdc.common.types.*;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** Prints what the schema operator of a Flink CDC pipeline keeps: as its coordinator writes it, version, length and schemas. */
public class SchemasBytes extends Printing {
    public static void main(String[] args) throws Exception {
        Map<TableId, SortedMap<Integer, Schema>> original = Map.of(TableId.tableId("shop", "orders"), new TreeMap<>(Map.of(0, schema())));
        Map<TableId, SortedMap<Integer, Schema>> evolved = Map.of(TableId.tableId("wh", "eu", "orders"), new TreeMap<>(Map.of(0, schema(), 1, plain())));
        Object[] behaviors = Class.forName("org.apache.flink.cdc.common.pipeline.SchemaChangeBehavior").getEnumConstants();
        String manager = args[0] + "SchemaManager";
        SimpleVersionedSerializer<Object> serializer = (SimpleVersionedSerializer<Object>) field(manager, "SERIALIZER");
        byte[] data = serializer.serialize(make(manager, original, evolved, behaviors[0]));
        Object read = serializer.deserialize(serializer.getVersion(), data);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(serializer.getVersion());
        out.writeInt(data.length);
        out.write(data);
        out.writeInt(0);
        System.out.println("cdc_schemas_coordinator " + args[1] + " = " + hex(bytes.toByteArray()) + " = "
                + json(map("evolved", tables(field(read, "evolvedSchemas")), "original", tables(field(read, "originalSchemas")),
                        "behavior", field(read, "behavior").toString(), "derivations", List.of())));
    }

    static Schema schema() {
        return Schema.newBuilder()
                .physicalColumn("id", DataTypes.BIGINT().notNull(), "the key").physicalColumn("n\u00e4me", DataTypes.VARCHAR(20), null, "none")
                .physicalColumn("a", DataTypes.DECIMAL(10, 2)).physicalColumn("b", DataTypes.STRING()).physicalColumn("c", DataTypes.BYTES())
                .physicalColumn("d", DataTypes.TIMESTAMP(6)).physicalColumn("e", DataTypes.TIMESTAMP_LTZ(3)).physicalColumn("f", DataTypes.TIMESTAMP_TZ(9))
                .physicalColumn("g", DataTypes.ARRAY(DataTypes.INT())).physicalColumn("h", DataTypes.MAP(DataTypes.CHAR(3), DataTypes.DATE()))
                .physicalColumn("i", DataTypes.ROW(DataTypes.FIELD("x", DataTypes.TIME(3)), DataTypes.FIELD("y", DataTypes.BOOLEAN(), "why")))
                .physicalColumn("j", DataTypes.BINARY(4)).physicalColumn("k", DataTypes.DOUBLE()).physicalColumn("l", DataTypes.TINYINT())
                .metadataColumn("ts", DataTypes.BIGINT(), "op_ts", "when")
                .primaryKey("id").partitionKey("a").option("k1", "v1").comment("orders").build();
    }

    static Schema plain() {
        return Schema.newBuilder().physicalColumn("id", DataTypes.BIGINT().notNull()).build();
    }

    static List<Object> tables(Object schemas) throws Exception {
        List<Object> found = new ArrayList<>();
        for (Map.Entry<?, ?> table : ((Map<?, ?>) schemas).entrySet()) {
            for (Map.Entry<?, ?> version : ((Map<?, ?>) table.getValue()).entrySet()) {
                Schema schema = (Schema) version.getValue();
                List<Object> columns = new ArrayList<>();
                for (Column column : schema.getColumns()) {
                    boolean physical = column instanceof PhysicalColumn;
                    columns.add(map("name", column.getName(), "type", column.getType().asSerializableString(), "comment", column.getComment(),
                            "default", physical ? column.getDefaultValueExpression() : null,
                            "metadata_key", physical ? null : call(column, "getMetadataKey")));
                }
                List<Object> options = new ArrayList<>();
                for (Map.Entry<String, String> option : schema.options().entrySet()) options.add(map("key", option.getKey(), "value", option.getValue()));
                found.add(map("table", table.getKey().toString(), "version", version.getKey(), "columns", columns, "primary_keys", schema.primaryKeys(),
                        "partition_keys", schema.partitionKeys(), "options", options, "comment", schema.comment()));
            }
        }
        return found;
    }
}
