package jdk;

import java.lang.reflect.Modifier;
import java.net.URI;
import java.nio.file.*;
import java.util.*;
import java.util.stream.Stream;

/** Prints the JDK's classes whose objects a job may keep: name, kind, what it extends, an enum's constants; without "java.". */
public class Lineage {
    private static final List<String> PACKAGES = List.of(
        "java.lang", "java.math", "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.function",
        "java.util.regex", "java.time", "java.time.temporal", "java.time.chrono", "java.net", "java.io", "java.nio",
        "java.nio.charset", "java.nio.file", "java.text", "java.sql");
    private static final Map<String, Class<?>> found = new TreeMap<>();

    public static void main(String[] arguments) throws Exception {
        FileSystem modules = FileSystems.getFileSystem(URI.create("jrt:/"));
        for (String module : List.of("java.base", "java.sql")) {
            Path root = modules.getPath("/modules/" + module);
            try (Stream<Path> files = Files.walk(root)) {
                for (Path path : (Iterable<Path>) files.filter(f -> f.toString().endsWith(".class"))::iterator) {
                    String name = root.relativize(path).toString().replace('/', '.').replaceAll("\\.class$", "");
                    int end = name.lastIndexOf('.');
                    if (end > 0 && PACKAGES.contains(name.substring(0, end))) {
                        consider(Class.forName(name, false, ClassLoader.getSystemClassLoader()));
                    }
                }
            }
        }
        for (Class<?> c : found.values()) {
            String kind = c.isInterface() ? "interface" : c.isEnum() ? "enum" : Modifier.isFinal(c.getModifiers()) ? "final" : "open";
            StringBuilder line = new StringBuilder(c.getName()).append(' ').append(kind);
            if (c.getSuperclass() != null && c.getSuperclass() != Object.class && known(c.getSuperclass())) {
                line.append(' ').append(c.getSuperclass().getName());
            }
            for (Class<?> above : c.getInterfaces()) {
                if (known(above)) {
                    line.append(' ').append(above.getName());
                }
            }
            if (c.isEnum()) {
                line.append(" |");
                for (Object constant : c.getEnumConstants()) {
                    line.append(' ').append(((Enum<?>) constant).name());
                }
            }
            System.out.println(line.toString().replaceAll("\\bjava\\.", ""));
        }
    }

    private static boolean known(Class<?> c) {
        return found.containsKey(c.getName());
    }

    private static void consider(Class<?> c) {
        boolean container = Collection.class.isAssignableFrom(c) || Map.class.isAssignableFrom(c);
        boolean open = Modifier.isPublic(c.getModifiers());
        for (Class<?> around = c.getEnclosingClass(); around != null; around = around.getEnclosingClass()) {
            open &= Modifier.isPublic(around.getModifiers());
        }
        if (c.isEnum() && c.getEnumConstants().length > 50) {
            return;
        }
        if (!container && (!open || Throwable.class.isAssignableFrom(c) && c != Throwable.class && c != Exception.class)) {
            return;
        }
        for (Class<?> above = c; above != null; above = above.getSuperclass()) {
            found.put(above.getName(), above);
        }
    }
}
