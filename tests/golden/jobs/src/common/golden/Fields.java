package golden;

import java.util.LinkedHashMap;

/** The fields of a struct by name, as expected.json shows them. */
final class Fields extends LinkedHashMap<String, Object> {
    private static final long serialVersionUID = 1L;

    Fields with(String name, Object value) {
        put(name, value);
        return this;
    }
}
