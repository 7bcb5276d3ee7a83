// Package codec turns keys and values into the bytes that Redis keeps, the same
// ones that Java's Redisson writes with a codec of its own.
//
// A [Family] is one way to write values of every type that it has bytes for, and
// [For] makes the [Codec] of a type of it. Nothing in Redis says by which codec
// something was written: everybody who shares an object has to use the same.
//
//	c, err := rueidisson.Open(url, rueidisson.WithCodec(codec.JSON)) // values, of all objects
//	keys, values := codec.Key[int64](), codec.For[Order](codec.Jackson("com.acme.Order"))
//
// # Which codec in Java
//
//	Go                       Java                                             what for
//	Text                     StringCodec, LongCodec, IntegerCodec,            keys; values that people read,
//	                         DoubleCodec                                      and that Redis counts with
//	Bytes                    ByteArrayCodec                                   what has its own format
//	JSON                     new TypedJsonJacksonCodec(K.class, V.class)      structs, shared with Java
//	Msgpack                  MsgPackJacksonCodec: scalars only                values of Go alone, the default
//	Jackson(class)           JsonJacksonCodec                                 Java has it already
//	JacksonMsgpack(class)    MsgPackJacksonCodec                              Java has it already
//	Kryo5                    Kryo5Codec, Java's default: scalars only         Java has it already
//
// Keys are [Text] unless something else is said, so Java's map of text keys and
// JSON values has new CompositeCodec(StringCodec.INSTANCE, new
// TypedJsonJacksonCodec(K.class, V.class)), and its default, Kryo5Codec for both,
// is [Kryo5] for both: rmap.WithCodecs(codec.Kryo5, codec.Kryo5).
//
// # Keys
//
// Two keys are one key when their bytes are. So keys are strings, integers, bools,
// arrays of bytes, and what has MarshalText and UnmarshalText; [KeyOf] refuses
// floats, interfaces, pointers and structs. An integer has one spelling: 042 is
// no key of a map of integers.
//
// # What is refused
//
// Only values that Java reads as the same value are written. Encoding returns
// [ErrInvalidArgument] for text that is no UTF-8, which would change there, for a nil pointer or
// interface, which cannot be stored, and for NaN and infinity in JSON. A nil slice or map
// is written as an empty one. MessagePack and [Text] carry NaN and infinity.
//
// Reading is strict as well: a number has to fit its type, null is no scalar,
// and no data may follow the value. The cause of a failure is in the
// [DecodeError]. Inside of structs and lists encoding/json and
// github.com/vmihailenco/msgpack check: the latter takes 0x7fffffff for an
// int8 field. Fields that a struct does not have are ignored, as in Java.
//
// # Traps
//
//   - TypedJsonJacksonCodec with one class does not serve maps: their values come
//     out as LinkedHashMap. Give it two classes.
//   - [Msgpack] without names of classes: Java reads an integer as Integer if it fits one,
//     else as Long, and refuses structs, lists and maps. A time.Time is an extension
//     that it knows nothing of.
//   - [JSON] and [Jackson] spell strings as Jackson does, so that they can be
//     keys: <, > and & as they are, characters above U+FFFF as two escapes. JSON
//     has the fields of structs in the order of their declaration, Jackson sorts them.
//   - Java's DoubleCodec writes 1.0 and 1.0E7, Go 1 and 1e+07. Both are read; floats
//     are no keys, and are not compared by their bytes.
//   - MessagePack has maps in another order each time, so equal values can be other
//     bytes: compare-and-swap compares bytes.
//   - Jackson and JacksonMsgpack: int, int64 and wider types are Long, int32 and
//     narrower types Integer. In a struct a number is a primitive, and a pointer to one is
//     boxed. A struct inside of another value names its class by a method
//     JavaClass() string. "" means a record or a final class: Jackson writes no name for it, and
//     Java reads it in a field only. time.Time is refused: Java's Date is the
//     milliseconds, an int64 with the class java.util.Date.
//   - Java's MsgPackJacksonCodec writes a BigDecimal of 1.10 as the double 1.1.
//   - [Kryo5] is string, int32 (Integer), int and int64 (Long), float64, bool and
//     []byte. Objects of Kryo are nothing that Go can read.
//
// # What is not promised
//
// A codec does not say what was written by another one: 0x31 is "1" to Text and 49
// to Msgpack. Bytes of a foreign codec may decode to a value that nobody wrote.
package codec
