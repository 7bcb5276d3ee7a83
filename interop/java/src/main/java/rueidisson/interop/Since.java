package rueidisson.interop;

import java.lang.reflect.InvocationTargetException;
import java.util.List;
import org.redisson.Redisson;

/**
 * What not every Redisson has. The same sources are compiled against old and new versions, so a method
 * that came later is looked up when it is called, and its absence is an answer that says so.
 */
final class Since {
    private Since() {
    }

    static String version() {
        return Redisson.class.getPackage().getImplementationVersion();
    }

    static Object call(Class<?> type, Object target, String method, List<Class<?>> types, Object... args) {
        try {
            return type.getMethod(method, types.toArray(Class<?>[]::new)).invoke(target, args);
        } catch (NoSuchMethodException e) {
            throw missing(type.getSimpleName() + "." + method);
        } catch (InvocationTargetException e) {
            throw unchecked(e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A class by name: one that came later cannot be imported either. */
    static Class<?> type(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException e) {
            throw missing(name);
        }
    }

    /** A constant of an enum that came later. */
    static Object constant(Class<?> type, String name) {
        for (Object constant : type.getEnumConstants()) {
            if (((Enum<?>) constant).name().equals(name)) {
                return constant;
            }
        }
        throw new IllegalArgumentException(type.getSimpleName() + " has no " + name);
    }

    private static UnsupportedOperationException missing(String what) {
        return new UnsupportedOperationException("Redisson " + version() + " has no " + what);
    }

    private static RuntimeException unchecked(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        return cause instanceof RuntimeException e ? e : new IllegalStateException(cause);
    }
}
