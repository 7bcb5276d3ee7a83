package codec

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"

	"github.com/vmihailenco/msgpack/v5"
)

// packFormat is MessagePack without types, as Java's MsgPackJacksonCodec writes
// scalars.
type packFormat struct{ packScalars }

func (packFormat) takes(t reflect.Type, s shape) (form, error) {
	if s.unwritable() {
		return other, optionf("%v has no MessagePack", t)
	}
	if s.text || writesItself(t) {
		return other, nil
	}
	return s.is, nil
}

// writesItself reports what msgpack asks before it looks at the kind.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[msgpack.CustomEncoder]()) || p.Implements(reflect.TypeFor[msgpack.Marshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.BinaryMarshaler]()) || p.Implements(marshaler)
}

func (packFormat) appendOther(dst []byte, from any) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	enc := msgpack.GetEncoder()
	defer msgpack.PutEncoder(enc)
	enc.Reset(out)
	enc.UseCompactInts(true)
	if err := enc.Encode(from); err != nil {
		return dst, optionf("%w", err)
	}
	if err := wellFormed(out.Bytes()[len(dst):]); err != nil {
		return dst, optionf("%w", err)
	}
	return out.Bytes(), nil
}

func (packFormat) readOther(in string, to any) error {
	b := bytesOf(in)
	if err := wellFormed(b); err != nil {
		return err
	}
	if in == "\xc0" {
		return errNull
	}
	dec := msgpack.GetDecoder()
	defer msgpack.PutDecoder(dec)
	dec.Reset(bytes.NewReader(b))
	dec.SetMapDecoder(anyMap)
	if err := dec.Decode(to); err != nil {
		return fmt.Errorf("msgpack: %w", err)
	}
	if t := reflect.TypeOf(to).Elem(); holdsAny(t) {
		widen(reflect.ValueOf(to).Elem())
	}
	switch v := reflect.ValueOf(to).Elem(); v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer:
		if v.IsNil() { // as the decoder takes some extensions
			return errNull
		}
	}
	return nil
}
