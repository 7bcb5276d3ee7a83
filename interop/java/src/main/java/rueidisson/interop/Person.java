package rueidisson.interop;

import java.util.List;

/** A class as programs have them: not final, fields of several types, some of which may be null. */
public class Person {
    public int age;
    public long big;
    public Long boxed;
    public Friend friend;
    public String name;
    public boolean ok;
    public double score;
    public List<String> tags;

    /** A class inside of another one. */
    public static class Friend {
        public String name;
    }
}
