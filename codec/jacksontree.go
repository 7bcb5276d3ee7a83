package codec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// classed is a struct that names its Java class, for its use inside of
// another value. "" is a final class or a record: Jackson writes no class for it.
type classed interface{ JavaClass() string }

var classedType = reflect.TypeFor[classed]()

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func named(t reflect.Type) bool { return reflect.PointerTo(deref(t)).Implements(classedType) }

// typed returns the tree of v where Java knows no class beforehand: alone, in a list
// or a map, in a field of any type. class names the class of v, unless it is "".
func typed(v reflect.Value, class string) (any, error) {
	if v.IsValid() && ownJSON(v.Type()) {
		return reread(v, class)
	}
	switch v.Kind() {
	case reflect.Invalid:
		return nil, nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		return typed(v.Elem(), class)
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		n, err := bare(v)
		return pair(orElse(class, classOfLong), n), err
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return composed(v, class)
	}
	return bare(v)
}

var typeOfTime = reflect.TypeFor[time.Time]()

// ownJSON reports a type that says itself what it is, in JSON.
func ownJSON(t reflect.Type) bool {
	return t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer && t != typeOfTime && reflect.PointerTo(t).Implements(jsonMarshaler)
}

// reread returns the tree of what a value says in JSON that it is.
func reread(v reflect.Value, class string) (any, error) {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	said, err := json.Marshal(p.Interface())
	if err != nil {
		return nil, optionf("%w", err)
	}
	tree, err := inJSON{}.parse(string(said))
	if err != nil {
		return nil, optionf("%w", err)
	}
	if tree, err = counted(tree); err != nil {
		return nil, err
	}
	return typed(reflect.ValueOf(tree), class)
}

// counted has int64 and float64 for the numbers of JSON.
func counted(tree any) (_ any, err error) {
	switch tree := tree.(type) {
	case json.Number:
		if n, err := tree.Int64(); err == nil {
			return n, nil
		}
		f, err := tree.Float64()
		if err != nil {
			return nil, optionf("%w", err)
		}
		return f, nil
	case []any:
		for i := range tree {
			if tree[i], err = counted(tree[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range tree {
			if tree[name], err = counted(tree[name]); err != nil {
				return nil, err
			}
		}
	}
	return tree, nil
}

func orElse(class, otherwise string) string {
	if class == "" {
		return otherwise
	}
	return class
}

// bare returns the tree of a scalar that stands without its class.
func bare(v reflect.Value) (any, error) {
	switch s := shapeOf(v.Type()); s.is {
	case aString:
		return v.String(), utf8Only(v.String())
	case aBool:
		return v.Bool(), nil
	case anInt:
		return v.Int(), nil
	case aUint:
		if v.Uint() > math.MaxInt64 {
			return nil, optionf("%d is no Long of Java", v.Uint())
		}
		return int64(v.Uint()), nil
	case aFloat:
		return v.Float(), nil
	}
	return nil, optionf("%v is nothing that Java has", v.Type())
}

func composed(v reflect.Value, class string) (any, error) {
	switch s := shapeOf(v.Type()); {
	case v.Type() == typeOfTime:
		return nil, optionf("time.Time has no class here: take the milliseconds as an int64, with the class java.util.Date")
	case s.text:
		return ownText(v)
	case s.is == someBytes || s.is == byteArray:
		b := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(b), v)
		return b, nil
	case v.Kind() == reflect.Map:
		return mapping(v, orElse(class, classOfMap))
	case v.Kind() == reflect.Struct:
		return structure(v, class)
	}
	items, err := list(v)
	return pair(orElse(class, classOfList), items), err
}

func ownText(v reflect.Value) (any, error) {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	b, err := p.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return nil, optionf("%w", err)
	}
	return string(b), utf8Only(string(b))
}

func list(v reflect.Value) ([]any, error) {
	items := make([]any, v.Len())
	for i := range items {
		item, err := typed(v.Index(i), "")
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return items, nil
}

// mapping sorts, so that equal maps are equal bytes.
func mapping(v reflect.Value, class string) (any, error) {
	o := object{{classProperty, class}}
	for it := v.MapRange(); it.Next(); {
		name, err := propertyName(it.Key())
		if err != nil {
			return nil, err
		}
		value, err := typed(it.Value(), "")
		if err != nil {
			return nil, err
		}
		o = append(o, member{name, value})
	}
	slices.SortFunc(o[1:], func(a, b member) int { return strings.Compare(a.name, b.name) })
	return o, nil
}

func propertyName(key reflect.Value) (string, error) {
	if shapeOf(key.Type()).text {
		text, err := ownText(key)
		name, _ := text.(string)
		return name, err
	}
	switch formOf(key.Type()) {
	case aString:
		return key.String(), utf8Only(key.String())
	case anInt, aUint:
		return fmt.Sprint(key.Interface()), nil
	}
	return "", optionf("%v is no name of a property", key.Type())
}

// structure has its fields sorted, as Jackson writes them, without those that
// are null.
func structure(v reflect.Value, class string) (any, error) {
	o := object{}
	if class == "" {
		if !named(v.Type()) {
			return nil, optionf("%v needs the name of its class: a method JavaClass() string", v.Type())
		}
		p := reflect.New(v.Type())
		class = p.Interface().(classed).JavaClass()
	}
	if class != "" {
		o = append(o, member{classProperty, class})
	}
	for _, f := range fieldsOf(v.Type()) {
		if f.quoted {
			return nil, optionf("%v: field %s is a number in a text, which Java has not", v.Type(), f.name)
		}
		value, err := v.FieldByIndexErr(f.index)
		if err != nil {
			continue // inside of an embedded pointer that is nil
		}
		// Java knows the class of a field that is a scalar; a pointer to one is what Java calls boxed.
		tree, kind := any(nil), value.Kind()
		if ownJSON(value.Type()) || formOf(value.Type()) == other || kind == reflect.Slice || kind == reflect.Array {
			tree, err = typed(value, "")
		} else {
			tree, err = bare(value)
		}
		if err != nil {
			return nil, err
		}
		if tree != nil && !(f.omitZero && value.IsZero()) {
			o = append(o, member{f.name, tree})
		}
	}
	return o, nil
}

type field struct {
	name     string
	index    []int
	omitZero bool
	quoted   bool // encoding/json reads it as a text
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf returns the fields that encoding/json sees, since it reads them.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldCache.Load(t); ok {
		return known.([]field)
	}
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" && options == "" || f.Anonymous && name == "" && deref(f.Type).Kind() == reflect.Struct {
			continue
		}
		fields = append(fields, field{orElse(name, f.Name), f.Index, strings.Contains(options, "omit"), slices.Contains(strings.Split(options, ","), "string")})
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	fieldCache.Store(t, fields)
	return fields
}

// className is what can be the first of a pair.
var className = regexp.MustCompile(`^(\[+[BCDFIJSZ]|(\[+L)?[\pL_$][\pL\pN_$]*(\.[\pL_$][\pL\pN_$]*)+;?)$`)

// strip returns the tree without the names of classes.
func strip(tree any) any {
	switch tree := tree.(type) {
	case []any:
		if len(tree) == 2 {
			if class, ok := tree[0].(string); ok && className.MatchString(class) {
				// A list there is a collection or an array, and no pair, whatever text it begins with; of a reference it is
				// what that refers to.
				items, is := tree[1].([]any)
				if is && !strings.HasSuffix(class, "Reference") && !strings.HasSuffix(class, "Optional") {
					return stripAll(items)
				}
				return strip(tree[1])
			}
		}
		return stripAll(tree)
	case map[string]any:
		delete(tree, classProperty)
		for name := range tree {
			tree[name] = strip(tree[name])
		}
	}
	return tree
}

func stripAll(items []any) any {
	for i := range items {
		items[i] = strip(items[i])
	}
	return items
}
