package golden;

import java.util.Collections;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.source.DataStreamScanProvider;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;

/** The connector {@code golden}: a table's rows are those of {@link SqlTables} under the table's name. */
public final class TableFactory implements DynamicTableSourceFactory {
    static final ConfigOption<Boolean> CHANGES =
            ConfigOptions.key("changes").booleanType().defaultValue(false).withDescription("not only insertions");

    @Override
    public String factoryIdentifier() {
        return "golden";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Collections.emptySet();
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Collections.singleton(CHANGES);
    }

    @Override
    public DynamicTableSource createDynamicTableSource(Context context) {
        return new Source(context);
    }

    private static final class Source implements ScanTableSource {
        private final DynamicTableFactory.Context table;

        Source(DynamicTableFactory.Context table) {
            this.table = table;
        }

        @Override
        public ChangelogMode getChangelogMode() {
            return Boolean.parseBoolean(table.getCatalogTable().getOptions().get(CHANGES.key()))
                    ? ChangelogMode.all()
                    : ChangelogMode.insertOnly();
        }

        @Override
        public ScanRuntimeProvider getScanRuntimeProvider(ScanContext scan) {
            String name = table.getObjectIdentifier().getObjectName();
            TableSource source = new TableSource(
                    name, scan.createDataStructureConverter(table.getPhysicalRowDataType()));
            return new DataStreamScanProvider() {
                @Override
                public DataStream<RowData> produceDataStream(ProviderContext context, StreamExecutionEnvironment env) {
                    return env.addSource(source, name, scan.createTypeInformation(table.getPhysicalRowDataType()))
                            .setParallelism(1)
                            .uid(context.generateUid("source").orElse(name));
                }

                @Override
                public boolean isBounded() {
                    return false;
                }
            };
        }

        @Override
        public DynamicTableSource copy() {
            return new Source(table);
        }

        @Override
        public String asSummaryString() {
            return "golden";
        }
    }
}
