package restore;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.java.tuple.Tuple;

/** A value as text: of an object of the cells' classes its fields by name. */
final class Show {
    private Show() {}

    static String of(Object value) throws ReflectiveOperationException {
        if (value instanceof Tuple) {
            Map<String, String> parts = new TreeMap<>();
            for (int i = 0; i < ((Tuple) value).getArity(); i++) {
                parts.put("f" + i, of(((Tuple) value).getField(i)));
            }
            return parts.toString();
        }
        if (value instanceof Object[]) {
            return of(Arrays.asList((Object[]) value));
        }
        if (value instanceof List) {
            List<String> elements = new ArrayList<>();
            for (Object element : (List<?>) value) {
                elements.add(of(element));
            }
            return elements.toString();
        }
        if (value instanceof Map) {
            Map<String, String> entries = new TreeMap<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                entries.put(of(entry.getKey()), of(entry.getValue()));
            }
            return entries.toString();
        }
        if (value == null || !value.getClass().getName().startsWith("m.") || value instanceof Enum) {
            return String.valueOf(value);
        }
        Map<String, String> fields = new TreeMap<>();
        for (Class<?> type = value.getClass(); type != Object.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    fields.put(field.getName(), of(field.get(value)));
                }
            }
        }
        return fields.toString();
    }
}
