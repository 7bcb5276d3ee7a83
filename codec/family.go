package codec

import (
	"reflect"
	"strings"
)

// Family is one way to write values of every type that it has bytes for. [For]
// makes a codec of it. The zero Family is none.
type Family struct {
	kind  kind
	class string // of Java
}

type kind int

const (
	none kind = iota
	text
	raw
	jsonText
	messagePack
	jackson
	jacksonPack
	kryo
)

var (
	// Text writes what has a text: strings as they are, numbers as decimals,
	// true and false, and what has MarshalText. Java: StringCodec, LongCodec,
	// IntegerCodec, DoubleCodec.
	Text = Family{kind: text}

	// Bytes writes []byte, arrays of bytes and strings as they are. Java:
	// ByteArrayCodec.
	Bytes = Family{kind: raw}

	// JSON writes plain JSON, strings spelled as Jackson spells them. Java: new
	// TypedJsonJacksonCodec(K.class, V.class).
	JSON = Family{kind: jsonText}

	// Msgpack writes MessagePack, and is what values are written with unless
	// something else is said. Java: MsgPackJacksonCodec, for scalars only.
	Msgpack = Family{kind: messagePack}

	// Kryo5 writes string, int32 (Integer), int and int64 (Long), float64
	// (Double), bool and []byte as Kryo does. Java: Kryo5Codec, its default.
	Kryo5 = Family{kind: kryo}
)

// Jackson writes JSON with the names of classes in it. class is that of the
// values in Java; "" is what follows from the type: String, Long for int, int64
// and wider ones, Integer for int32 and below, Double, Boolean, byte[], ArrayList, HashMap.
// Structs need one, and those inside of others a method JavaClass() string.
// Java: JsonJacksonCodec.
func Jackson(class string) Family { return Family{jackson, class} }

// JacksonMsgpack writes what [Jackson] writes, in MessagePack. Java: MsgPackJacksonCodec.
func JacksonMsgpack(class string) Family { return Family{jacksonPack, class} }

var names = map[kind]string{
	text: "text", raw: "bytes", jsonText: "json", messagePack: "msgpack",
	jackson: "jackson", jacksonPack: "jackson-msgpack", kryo: "kryo5",
}

// String returns the family as [ParseFamily] reads it.
func (f Family) String() string {
	name := names[f.kind]
	if f.class != "" {
		name += ":" + f.class
	}
	return name
}

// ParseFamily reads text, bytes, json, msgpack, kryo5, jackson and jackson-msgpack. The last two
// may be followed by a colon and a class. Anything else returns [ErrInvalidArgument].
func ParseFamily(s string) (Family, error) {
	name, class, _ := strings.Cut(s, ":")
	for k, n := range names {
		if n == name && (class == "" || k == jackson || k == jacksonPack) {
			return Family{k, class}, nil
		}
	}
	return Family{}, optionf("codec %s is none", quote(s))
}

func (f Family) format() format {
	switch f.kind {
	case text:
		return textFormat{}
	case raw:
		return rawFormat{}
	case jsonText:
		return jsonFormat{}
	case messagePack:
		return packFormat{}
	case jackson:
		return typedFormat{f.class, inJSON{}}
	case jacksonPack:
		return typedFormat{f.class, inPack{}}
	case kryo:
		return kryoFormat{}
	}
	return nil
}

// format is the bytes of one family, for each shape that a value can have.
// Readers read all of their argument and check it; the range of the Go type is
// not theirs to check.
type format interface {
	// takes is the form that values of t are written in, or why they have no
	// bytes.
	takes(t reflect.Type, s shape) (form, error)

	appendString(dst []byte, s string) ([]byte, error)
	appendInt(dst []byte, n int64) ([]byte, error)
	appendUint(dst []byte, n uint64) ([]byte, error)
	appendFloat(dst []byte, f float64, bits int) ([]byte, error)
	appendBool(dst []byte, b bool) ([]byte, error)
	appendBytes(dst []byte, b []byte) ([]byte, error)
	appendOther(dst []byte, from any) ([]byte, error) // a pointer to the value, not nil

	readString(in string) (string, error)
	readInt(in string) (int64, error)
	readUint(in string) (uint64, error)
	readFloat(in string, bits int) (float64, error)
	readBool(in string) (bool, error)
	readBytes(in string) ([]byte, error)
	readOther(in string, to any) error // also a pointer, not nil
}

// narrowing is a format with integers of several widths.
type narrowing interface{ narrow(s shape) format }
