package golden;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** Collections whose types Flink 2 works out itself. */
public class Basket {
    public List<String> items;
    public Map<String, Integer> amounts;
    public Set<Long> ids;

    public Basket() {}

    public Basket(List<String> items, Map<String, Integer> amounts, Set<Long> ids) {
        this.items = items;
        this.amounts = amounts;
        this.ids = ids;
    }
}
