package codec

import (
	"fmt"
	"math"
	"reflect"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
)

// The decoder gives an interface the integer of the width that was written, which
// depends on the number, and reads maps with names only. Here an integer in an
// interface is an int64, or a uint64 where no int64 has it.

// anyMap decodes a map into an interface: a map[string]any, or a map[any]any where
// not all of the keys are texts.
func anyMap(d *msgpack.Decoder) (any, error) {
	n, err := d.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	named, all := make(map[string]any), map[any]any(nil)
	for range n {
		key, err := d.DecodeInterface()
		if err != nil {
			return nil, err
		}
		value, err := d.DecodeInterface()
		if err != nil {
			return nil, err
		}
		key = wide(key)
		if name, is := key.(string); is && all == nil {
			named[name] = value
			continue
		}
		if key != nil && !reflect.TypeOf(key).Comparable() {
			return nil, fmt.Errorf("a %T as the key of a map", key)
		}
		if all == nil {
			all = make(map[any]any, n)
			for name, value := range named {
				all[name] = value
			}
		}
		all[key] = value
	}
	if all != nil {
		return all, nil
	}
	return named, nil
}

// wide returns what an interface holds, with its integers as they are in this package.
func wide(v any) any {
	switch v := v.(type) {
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case uint8:
		return int64(v)
	case uint16:
		return int64(v)
	case uint32:
		return int64(v)
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = wide(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = wide(v[name])
		}
	case map[any]any: // its keys are wide
		for key := range v {
			v[key] = wide(v[key])
		}
	}
	return v
}

// widen makes what the interfaces in v hold wide.
func widen(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if v.NumMethod() == 0 && !v.IsNil() && v.CanSet() {
			v.Set(reflect.ValueOf(wide(v.Interface())))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			widen(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && holdsAny(v.Field(i).Type()) {
				widen(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			widen(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			one := reflect.New(v.Type().Elem()).Elem()
			one.Set(v.MapIndex(key))
			widen(one)
			v.SetMapIndex(key, one)
		}
	}
}

var anyHolders sync.Map // reflect.Type -> bool

// holdsAny reports whether a value of the type may have an empty interface in it that
// is decoded, however deep. A type that decodes itself has none.
func holdsAny(t reflect.Type) bool {
	if is, known := anyHolders.Load(t); known {
		return is.(bool)
	}
	is := findsAny(t, map[reflect.Type]bool{})
	anyHolders.Store(t, is)
	return is
}

func findsAny(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || writesItself(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return findsAny(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && findsAny(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
