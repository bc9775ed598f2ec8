package golden;

import java.util.Arrays;
import java.util.List;

/** Some of the queries, one for each way to keep rows. */
final class SqlcoreJob extends SqlJob {
    private static final List<String> CORE = Arrays.asList(
            "retractions", "left_join", "interval_join", "top_changing", "latest", "last_seen", "over_rows", "hopping");

    @Override
    List<SqlQuery> queries(Case options) {
        List<SqlQuery> out = super.queries(options);
        out.removeIf(query -> !CORE.contains(query.name));
        return out;
    }
}
