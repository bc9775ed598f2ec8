import java.io.ByteArrayOutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.*;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** What the printing classes have in common: objects by reflection, because classes differ between versions, hex and JSON. */
class Printing {

    /** Prints a value in Flink's wrapper, and what the serializer's own reading of it gives. */
    static void wrapped(String name, Object serializer, Object value, Describe describe) throws Exception {
        SimpleVersionedSerializer<Object> writer = (SimpleVersionedSerializer<Object>) serializer;
        byte[] data = SimpleVersionedSerialization.writeVersionAndSerialize(writer, value);
        Object read = SimpleVersionedSerialization.readVersionAndDeSerialize(writer, data);
        System.out.println(name + " = " + hex(data) + " = " + json(describe.of(read)));
    }

    /** A value as maps, lists, texts, numbers and flags. */
    interface Describe {
        Object of(Object value) throws Exception;
    }

    /** A map in the order of its arguments: key, value, key, value. */
    static Map<String, Object> map(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) map.put((String) pairs[i], pairs[i + 1]);
        return map;
    }

    static Object make(String name, Object... arguments) throws Exception {
        for (Constructor<?> constructor : Class.forName(name).getDeclaredConstructors()) {
            if (constructor.getParameterCount() != arguments.length) continue;
            constructor.setAccessible(true);
            try {
                return constructor.newInstance(arguments);
            } catch (IllegalArgumentException other) {
                // Parameters of other types: another constructor.
            }
        }
        throw new NoSuchMethodException(name + " with " + arguments.length + " arguments");
    }

    /** Calls a method without parameters, or with these, of an object or (name of a class) a static one. */
    static Object call(Object on, String method, Object... arguments) throws Exception {
        Class<?> start = on instanceof String && ((String) on).contains(".") ? Class.forName((String) on) : on.getClass();
        for (Class<?> type : types(start)) {
            for (Method found : type.getDeclaredMethods()) {
                if (!found.getName().equals(method) || found.getParameterCount() != arguments.length) continue;
                found.setAccessible(true);
                try {
                    return found.invoke(on, arguments);
                } catch (IllegalArgumentException other) {
                    // Parameters of other types: another method.
                } catch (InvocationTargetException failed) {
                    throw new IllegalStateException(failed.getCause());
                }
            }
        }
        throw new NoSuchMethodException(start.getName() + "." + method);
    }

    /** The value of a field of an object or, by the name of a class, a static one. */
    static Object field(Object on, String name) throws Exception {
        Class<?> start = on instanceof String ? Class.forName((String) on) : on.getClass();
        for (Class<?> type = start; type != null; type = type.getSuperclass()) {
            try {
                Field found = type.getDeclaredField(name);
                found.setAccessible(true);
                return found.get(on instanceof String ? null : on);
            } catch (NoSuchFieldException above) {
                // One of the classes above has it.
            }
        }
        throw new NoSuchFieldException(start.getName() + "." + name);
    }

    private static List<Class<?>> types(Class<?> start) {
        List<Class<?>> found = new ArrayList<>();
        Deque<Class<?>> open = new ArrayDeque<>();
        for (Class<?> type = start; type != null; type = type.getSuperclass()) {
            found.add(type);
            open.addAll(List.of(type.getInterfaces()));
        }
        while (!open.isEmpty()) {
            Class<?> next = open.pop();
            found.add(next);
            open.addAll(List.of(next.getInterfaces()));
        }
        return found;
    }

    static String hex(byte[] data) {
        StringBuilder text = new StringBuilder();
        for (byte b : data) text.append(String.format("%02x", b));
        return text.toString();
    }

    static String json(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long
                || value instanceof Short) {
            return String.valueOf(value);
        }
        StringBuilder text = new StringBuilder();
        if (value instanceof Map) {
            for (Map.Entry<?, ?> e : ((Map<?, ?>) value).entrySet()) {
                text.append(text.length() == 0 ? "" : ", ").append(json(e.getKey())).append(": ").append(json(e.getValue()));
            }
            return "{" + text + "}";
        }
        if (value instanceof Iterable) {
            for (Object item : (Iterable<?>) value) text.append(text.length() == 0 ? "" : ", ").append(json(item));
            return "[" + text + "]";
        }
        for (char c : value.toString().toCharArray()) {
            if (c == '"' || c == '\\') text.append('\\').append(c);
            else if (c < ' ' || c > '~') text.append(String.format("\\u%04x", (int) c));
            else text.append(c);
        }
        return "\"" + text + "\"";
    }
}
