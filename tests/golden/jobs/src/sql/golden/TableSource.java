package golden;

import org.apache.flink.table.connector.RuntimeConverter;
import org.apache.flink.table.connector.source.DynamicTableSource.DataStructureConverter;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.Row;

/** Emits the rows of a table in their order when it may, says so, and idles. */
final class TableSource implements LegacySource<RowData> {
    private static final long serialVersionUID = 1L;

    private final String table;
    private final DataStructureConverter converter;
    private volatile boolean running = true;

    TableSource(String table, DataStructureConverter converter) {
        this.table = table;
        this.converter = converter;
    }

    @Override
    public void run(SourceContext<RowData> context) throws Exception {
        converter.open(RuntimeConverter.Context.create(TableSource.class.getClassLoader()));
        while (running && FeedSource.released < 1) {
            Thread.sleep(10);
        }
        synchronized (context.getCheckpointLock()) {
            for (Row row : SqlTables.named(table).rows) {
                context.collect((RowData) converter.toInternal(row));
            }
        }
        FeedSource.emitted.countDown();
        while (running) {
            Thread.sleep(20);
        }
    }

    @Override
    public void cancel() {
        running = false;
    }
}
