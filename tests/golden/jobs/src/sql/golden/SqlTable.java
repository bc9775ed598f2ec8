package golden;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.flink.table.api.Schema;
import org.apache.flink.types.Row;

/** A table of the SQL job: its columns and all of its rows. */
final class SqlTable {
    final String name;
    final Schema schema;

    /** Names of the columns that the rows have. */
    final List<String> columns;

    final List<Row> rows;

    /** Whether rows are updated and deleted, not only inserted. */
    final boolean changes;

    SqlTable(String name, Schema schema, List<Row> rows, boolean changes) {
        this.name = name;
        this.schema = schema;
        this.rows = rows;
        this.changes = changes;
        this.columns = new ArrayList<>();
        for (Schema.UnresolvedColumn column : schema.getColumns()) {
            if (column instanceof Schema.UnresolvedPhysicalColumn) {
                columns.add(column.getName());
            }
        }
    }

    /** A value as the state shows it: an interval as its number of months or milliseconds. */
    @SuppressWarnings("unchecked")
    <T> T get(Row row, String column) {
        Object value = row.getField(columns.indexOf(column));
        if (value instanceof java.time.Period) {
            return (T) (Object) (int) ((java.time.Period) value).toTotalMonths();
        }
        if (value instanceof java.time.Duration) {
            return (T) (Object) ((java.time.Duration) value).toMillis();
        }
        return (T) value;
    }

    /** Some columns of a row that was inserted. */
    Row only(Row row, String... names) {
        Row out = new Row(names.length);
        for (int i = 0; i < names.length; i++) {
            out.setField(i, get(row, names[i]));
        }
        return out;
    }

    Function<Row, Row> only(String... names) {
        return row -> only(row, names);
    }

    /** The rows by some of their columns. */
    Map<Row, List<Row>> by(String... names) {
        Map<Row, List<Row>> out = new LinkedHashMap<>();
        for (Row row : rows) {
            out.computeIfAbsent(only(row, names), key -> new ArrayList<>()).add(row);
        }
        return out;
    }

    /** The values of a column that are not null. */
    @SuppressWarnings("unchecked")
    <T> List<T> values(List<Row> some, String column) {
        List<T> out = new ArrayList<>();
        for (Row row : some) {
            if (get(row, column) != null) {
                out.add((T) get(row, column));
            }
        }
        return out;
    }

    String[] allColumns() {
        return columns.toArray(new String[0]);
    }

    @Override
    public String toString() {
        return name + Arrays.toString(allColumns());
    }
}
