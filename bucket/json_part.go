package bucket

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/send"
)

// Part is a handle on a part of a document: what is at a path of it, of type V. It holds nothing.
//
// A path is a JSONPath. It is $, the document, or goes on with a dot or a bracket: $.stock, $.items[0].name, $..price.
//
// A path may match no place. Then an operation does nothing, and returns false. It returns false also without a document, and
// where what is there is of another type than the operation is for. Only Set and Merge add something: the last name of a
// path to an object that is there.
//
// A path may match several places: $..price, $.items[*]. Then a write changes each of them, and its answer is about the first;
// [Part.All] reads all. [Part.Swap], [Part.CompareAndSwap], [Part.CompareAndDelete], [Array.Insert] and [Array.Pop] change
// nothing, and return [ErrInvalidArgument].
//
// Writes keep the time to live of the document.
type Part[V any] struct{ spot[V] }

// At returns a handle on a part of a document. The first type argument is that of the part: bucket.At[string](doc, "$.name").
func At[V, T any](doc *JSON[T], path string) *Part[V] { return &Part[V]{partOf[V](doc.b, path)} }

// partOf returns a place of a document.
func partOf[V any](doc *base, path string) spot[V] {
	b := *doc
	b.Bad = cmp.Or(b.Bad, checkPath(&b, path))
	return newSpot[V](&b, path)
}

// checkPath refuses what is no path, before it is sent. Its errors do not show it, since there may be values in it.
func checkPath(b *base, path string) error {
	switch {
	case !strings.HasPrefix(path, root):
		return fmt.Errorf("%w: a path begins with $", ErrInvalidArgument)
	case path != root && path[1] != '.' && path[1] != '[': // to the module it is a path of the old form, of another place
		return fmt.Errorf("%w: after $ a path goes on with . or [", ErrInvalidArgument)
	case !utf8.ValidString(path):
		return fmt.Errorf("%w: the path is no UTF-8", ErrInvalidArgument)
	}
	return b.Engine.Fits(len(path))
}

// Get returns what is at the path, and whether anything is; of several places, what is at the first. JSON's null is the nil of
// a pointer, an interface, a map or a slice.
//
// Cost: one command. Errors: [ErrDecode], by a *[codec.DecodeError], and then something is there; errors.ErrUnsupported,
// without the module; ctx's error and cause; [ErrInvalidArgument], also for a path that the server cannot read; [ErrClosed];
// Redis' and the network's. Source: RJsonBucket.get(codec, path).
func (p *Part[V]) Get(ctx context.Context) (v V, there bool, err error) { return p.first(ctx) }

// All returns what is at each place that the path matches.
//
// Cost: one command. Errors: as Get. Source: RJsonBucket.get(codec, path).
func (p *Part[V]) All(ctx context.Context) (all []V, err error) {
	got, err := p.get(ctx)
	if err == nil && got.array != "" {
		all, err = p.each(got.array)
	}
	return all, p.b.Failed("get all", err)
}

// Type returns the JSON type of what is at the path: object, array, string, integer, number, boolean or null; number is one
// that has a fraction.
//
// Cost: one command. Errors: as Get. Source: RJsonBucket.getType.
func (p *Part[V]) Type(ctx context.Context) (name string, there bool, err error) {
	got, err := read(ctx, p.b, firstText, readTypes, p.path)
	return got.text, got.there, p.b.Failed("read the type", err)
}

// Len returns how many elements an array, members an object, or bytes a string has that is at the path.
//
// Cost: one script call. Errors: as Get. Source: RJsonBucket.arraySize, RJsonBucket.countKeys, RJsonBucket.stringSize.
func (p *Part[V]) Len(ctx context.Context) (n int64, there bool, err error) {
	got, err := read(ctx, p.b, firstNumber, partLen, p.path)
	return got.n, got.there, p.b.Failed("measure", err)
}

// Keys returns the names of the members of the object at the path.
//
// Cost: one command. Errors: as Get. Source: RJsonBucket.getKeys.
func (p *Part[V]) Keys(ctx context.Context) (names []string, there bool, err error) {
	names, err = read(ctx, p.b, namesOf, readKeys, p.path)
	return names, names != nil, p.b.Failed("read the keys", err)
}

// Set writes a value at the path, and reports whether it did. It adds the last name of a path to an object, and makes no other
// part on the way. Without a document it does nothing, unless the path is $: then it makes one, which is permanent. It is sent
// once: after [ErrOutcomeUnknown] it may or may not have been written.
//
// Cost: one command. Errors: [ErrOutcomeUnknown]; errors.ErrUnsupported, without the module; [ErrInvalidArgument], also for a
// path that the server cannot read; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source:
// RJsonBucket.set(path, value).
func (p *Part[V]) Set(ctx context.Context, v V) (did bool, err error) {
	did, err = p.set(ctx, v)
	return did, p.b.Failed("set", err)
}

// SetIfAbsent writes a value as Set does if nothing is at the path, and reports whether it did.
//
// Cost: one command. Errors: as Set. Source: RJsonBucket.setIfAbsent(path, value).
func (p *Part[V]) SetIfAbsent(ctx context.Context, v V) (did bool, err error) {
	did, err = p.set(ctx, v, "NX")
	return did, p.b.Failed("set if absent", err)
}

// SetIfExists writes a value as Set does if something is at the path, and reports whether it did.
//
// Cost: one command. Errors: as Set. Source: RJsonBucket.setIfExists(path, value).
func (p *Part[V]) SetIfExists(ctx context.Context, v V) (did bool, err error) {
	did, err = p.set(ctx, v, "XX")
	return did, p.b.Failed("set if it exists", err)
}

func (p *Part[V]) set(ctx context.Context, v V, cond ...string) (did bool, err error) {
	text, err := p.sent(v)
	if err != nil {
		return false, err
	}
	return write(ctx, p.b, done, jsonSet, append([]string{p.path, text}, cond...)...)
}

// sent returns a value as it is sent, unless the handle is of no use.
func (p *Part[V]) sent(v V) (string, error) {
	if p.b.Bad != nil {
		return "", p.b.Bad
	}
	return p.encoded(v)
}

// Swap writes a value where something is, and returns what was there, and whether it did.
//
// Cost: one script call. Errors: as Set, and [ErrDecode] about what was there: then the value has been written. Source:
// RJsonBucket.getAndSet(path, value).
func (p *Part[V]) Swap(ctx context.Context, v V) (old V, did bool, err error) {
	text, err := p.sent(v)
	var got found
	if err == nil {
		got, err = write(ctx, p.b, p.found, p.answering(documentSwap), p.path, text, lifetime{keep: true}.text(), "0")
	}
	return p.answer("swap", got, err)
}

// CompareAndSwap writes a value if what is at the path equals old, and reports whether it did: see [JSON.CompareAndSwap].
//
// Cost: as [JSON.CompareAndSwap]. Errors: as Set. Source: RJsonBucket.compareAndSet(path, old, value), which compares texts.
func (p *Part[V]) CompareAndSwap(ctx context.Context, old, v V) (did bool, err error) {
	text, err := p.sent(v)
	if err == nil {
		did, err = p.change(ctx, old, true, text, lifetime{keep: true})
	}
	return did, p.b.Failed("compare and swap", err)
}

// CompareAndDelete deletes what is at the path if it equals old, and reports whether it did.
//
// Cost: as CompareAndSwap. Errors: as Set. Source: RJsonBucket.compareAndSet(path, old, null).
func (p *Part[V]) CompareAndDelete(ctx context.Context, old V) (did bool, err error) {
	did, err = p.change(ctx, old, false, "", lifetime{keep: true})
	return did, p.b.Failed("compare and delete", err)
}

// Delete deletes what is at the path, and returns at how many places. With the path $ it deletes the document.
//
// Cost: one command. Errors: as Set. Source: RJsonBucket.delete(path).
func (p *Part[V]) Delete(ctx context.Context) (n int64, err error) {
	n, err = write(ctx, p.b, count, jsonDel, p.path)
	return n, p.b.Failed("delete", err)
}

// Clear empties arrays and objects at the path, and makes numbers 0, and returns at how many places it changed something.
//
// Cost: one command. Errors: as Set. Source: RJsonBucket.clear(path).
func (p *Part[V]) Clear(ctx context.Context) (n int64, err error) {
	n, err = write(ctx, p.b, count, jsonClear, p.path)
	return n, p.b.Failed("clear", err)
}

// Merge changes what is at the path by a patch, as [JSON.Merge] does, and reports whether it did. Where nothing is, it does what
// Set does.
//
// Cost: one command. Errors: as Set. Source: RJsonBucket.merge(path, value).
func (p *Part[V]) Merge(ctx context.Context, patch any) (did bool, err error) {
	did, err = p.merge(ctx, patch)
	return did, p.b.Failed("merge", err)
}

// Toggle makes true of false at the path, and false of true, and returns which it is now.
//
// Cost: one command. Errors: as Set. Source: RJsonBucket.toggle(path).
func (p *Part[V]) Toggle(ctx context.Context) (now, there bool, err error) {
	got, err := write(ctx, p.b, firstNumber, jsonToggle, p.path)
	return got.n == 1, got.there, p.b.Failed("toggle", err)
}

// Number is a handle on a number of a document: see [Part].
type Number[N ~int | ~int64 | ~float64] struct{ Part[N] }

// NumberAt returns a handle on a number of a document: bucket.NumberAt[int64](doc, "$.stock").
func NumberAt[N ~int | ~int64 | ~float64, T any](doc *JSON[T], path string) *Number[N] {
	return &Number[N]{Part[N]{partOf[N](doc.b, path)}}
}

const (
	// mostAdded bounds integers that are added: the sum of two is one of 64 bits.
	mostAdded = 1 << 62
	mayAdd    = "1"
)

var errInexact = fmt.Errorf("%w: the sum would not be exact: it needs integers below 2^62, and below 2^53 with a float; nothing was added", ErrInvalidArgument)

// Add adds n to the number at the path, which may be below 0, and returns the new one, and whether there is a number.
//
// Integers below 2^62 are added as such, and their sums are exact. A float64 that is whole is added to an integer as an integer,
// and their sum has to be below 2^53. Fractions are added as float64. [ErrInvalidArgument] refuses what the module would round
// or could not keep: larger integers, the sum of a fraction and an integer that is not below 2^53, and a sum that is infinite.
// Then no number of the path is changed.
//
// Cost: one script call. Errors: as Set, and [ErrDecode] about a sum that is no N, such as 1.5 for an int: it has been
// written. Source: RJsonBucket.incrementAndGet.
func (p *Number[N]) Add(ctx context.Context, n N) (now N, there bool, err error) {
	text, err := p.sent(n)
	var got found
	if err == nil {
		var args []string
		if args, err = added(text, n); err == nil {
			got, err = write(ctx, p.b, p.sum, partAdd, append([]string{p.path}, args...)...)
		}
	}
	return p.answer("add to", got, err)
}

// added returns a number as it is sent, the integers that it may be added to, whether it may be to a fraction, and the bound of
// sums with an integer. A float that is whole is sent as an integer, so that an integer stays one.
func added[N ~int | ~int64 | ~float64](text string, n N) ([]string, error) {
	if N(1)/2 == 0 {
		i := int64(n)
		if i > mostAdded || i < -mostAdded {
			return nil, errInexact
		}
		return []string{text, decimal(mostAdded), flag(-exact <= i && i <= exact), strconv.FormatUint(2*mostAdded, 10)}, nil
	}
	switch f := float64(n); {
	case f != math.Trunc(f):
		return []string{text, decimal(exact), mayAdd, decimal(2 * exact)}, nil
	case math.Abs(f) < exact:
		return []string{decimal(int64(f)), decimal(exact), mayAdd, decimal(exact)}, nil
	}
	return []string{text, "0", mayAdd, "0"}, nil
}

// sum returns an answer that is an array of sums, or says that none was made.
func (p *Number[N]) sum(got send.Answer, err error) (f found, _ error) {
	if err != nil || got.Nil {
		return f, err
	}
	if got.IsInt64() {
		return f, errInexact
	}
	array, err := got.ToString()
	if err == nil {
		f.value, err = firstNotNull(array)
	}
	return f, err
}

// Text is a handle on a string of a document: see [Part].
type Text struct{ Part[string] }

// TextAt returns a handle on a string of a document.
func TextAt[T any](doc *JSON[T], path string) *Text {
	return &Text{Part[string]{partOf[string](doc.b, path)}}
}

// Append appends to the string at the path, and returns how many bytes it has then, and whether there is one.
//
// Cost: one command. Errors: as Set. Source: RJsonBucket.stringAppend.
func (p *Text) Append(ctx context.Context, more string) (n int64, there bool, err error) {
	text, err := p.sent(more)
	var got first
	if err == nil {
		got, err = write(ctx, p.b, firstNumber, jsonStrAppend, p.path, text)
	}
	return got.n, got.there, p.b.Failed("append to", err)
}

// Array is a handle on an array of a document, with elements of type E: see [Part].
type Array[E any] struct {
	Part[[]E]
	one spot[E]
}

// ArrayAt returns a handle on an array of a document: bucket.ArrayAt[string](doc, "$.tags").
func ArrayAt[E, T any](doc *JSON[T], path string) *Array[E] {
	return &Array[E]{Part[[]E]{partOf[[]E](doc.b, path)}, partOf[E](doc.b, path)}
}

// Append adds elements at the end of the array, and returns how many it has then, and whether there is one. Without elements
// nothing is sent.
//
// Cost: one command. Errors: as Set. Source: RJsonBucket.arrayAppend.
func (p *Array[E]) Append(ctx context.Context, elements ...E) (n int64, there bool, err error) {
	got, err := p.put(ctx, firstNumber, jsonArrAppend, elements)
	return got.n, got.there, p.b.Failed("append to", err)
}

// mostInserted bounds the elements of one Insert: Lua passes 8,000 arguments at most.
const mostInserted = 7000

// Insert adds elements before the one of that index, and returns how many the array has then, and whether it did. It does not
// if the array has no such index. One below 0 counts from the end. More than 7,000 elements are refused by
// [ErrInvalidArgument].
//
// Cost: one script call. Errors: as Set. Source: RJsonBucket.arrayInsert.
func (p *Array[E]) Insert(ctx context.Context, index int64, elements ...E) (n int64, did bool, err error) {
	var got first
	if len(elements) > mostInserted {
		err = fmt.Errorf("%w: more than %d elements", ErrInvalidArgument, mostInserted)
	} else {
		got, err = p.put(ctx, inserted, partInsert, elements, decimal(index))
	}
	return got.n, got.there, p.b.Failed("insert into", err)
}

// inserted returns an answer that is an array of a length, or says how many places there are.
func inserted(got send.Answer, err error) (f first, _ error) {
	if err != nil || got.Nil || !got.IsInt64() {
		return firstNumber(got, err)
	}
	if n, err := got.AsInt64(); err != nil || n > 1 {
		return f, cmp.Or(err, errSeveral)
	}
	return f, nil
}

// put sends elements.
func (p *Array[E]) put(ctx context.Context, as func(send.Answer, error) (first, error), op send.Operation, elements []E, words ...string) (got first, err error) {
	if err = cmp.Or(p.b.Bad, p.one.b.Bad); err != nil || len(elements) == 0 {
		return got, cmp.Or(err, p.b.Usable(ctx))
	}
	args, size := append([]string{p.path}, words...), 0
	for _, one := range elements {
		text, err := p.one.encoded(one)
		if err != nil {
			return got, err
		}
		size += len(text)
		args = append(args, text)
	}
	if err = p.b.Engine.Fits(size); err != nil {
		return got, err
	}
	return write(ctx, p.b, as, op, args...)
}

// Index returns the index of the first element that equals e, and whether there is one. The module compares: 1 and 1.0 differ.
// A float64 that is whole is an integer below 1e6, and from there on it is not.
//
// Cost: one command. Errors: as Get. Source: RJsonBucket.arrayIndexOf.
func (p *Array[E]) Index(ctx context.Context, e E) (i int64, there bool, err error) {
	if err = cmp.Or(p.b.Bad, p.one.b.Bad); err != nil {
		return 0, false, p.b.Failed("look into", err)
	}
	text, err := p.one.encoded(e)
	var got first
	if err == nil {
		got, err = read(ctx, p.b, firstNumber, readIndexes, p.path, text)
	}
	if got.n < 0 {
		got = first{}
	}
	return got.n, got.there, p.b.Failed("look into", err)
}

// Pop takes the element of that index out of the array, and returns it, and whether there is one: 0 is the first, -1 the last.
// An index beyond an end is that end.
//
// Cost: one script call. Errors: as Set, and [ErrDecode] about the element: then it is gone. Source: RJsonBucket.arrayPop.
func (p *Array[E]) Pop(ctx context.Context, index int64) (e E, there bool, err error) {
	got, err := write(ctx, p.one.b, element, p.answering(partPop), p.path, decimal(index))
	return p.one.answer("pop from", got, err)
}

// Trim keeps the elements from one index to another, both included, and returns how many these are, and whether there is an
// array. An index below 0 counts from the end.
//
// Cost: one command. Errors: as Set. Source: RJsonBucket.arrayTrim.
func (p *Array[E]) Trim(ctx context.Context, from, to int64) (n int64, there bool, err error) {
	got, err := write(ctx, p.b, firstNumber, jsonArrTrim, p.path, decimal(from), decimal(to))
	return got.n, got.there, p.b.Failed("trim", err)
}

// element returns an answer that is an element, or says how many arrays there are.
func element(got send.Answer, err error) (f found, _ error) {
	if err == nil && !got.Nil && got.IsInt64() {
		f.n, err = got.AsInt64()
		return f, err
	}
	if err != nil {
		return f, unplaced(err)
	}
	f.value, err = valueOf(got, nil)
	return f, err
}

// count returns an answer that says at how many places something was done.
func count(got send.Answer, err error) (int64, error) {
	if err != nil {
		return 0, unplaced(err)
	}
	return got.AsInt64()
}

// first is the answer of the first place of its type.
type first struct {
	n     int64
	text  string
	there bool
}

// firstNumber returns an answer that is a number, or an array of them with nil for places of another type.
func firstNumber(got send.Answer, err error) (f first, _ error) {
	one, there, err := firstOfAll(got, err)
	if err == nil && there {
		f.there = true
		f.n, err = one.AsInt64()
	}
	return f, err
}

// firstText returns an answer that is an array of texts, or, by RESP3, an array of such arrays.
func firstText(got send.Answer, err error) (f first, _ error) {
	one, there, err := firstOfAll(got, err)
	if err == nil && there {
		f.there = true
		f.text, err = one.ToString()
	}
	return f, err
}

// firstOfAll returns the first element of arrays in an answer that is not nil, or the answer if that is no array.
func firstOfAll(got send.Answer, err error) (one rueidis.RedisMessage, there bool, _ error) {
	if err != nil || got.Nil {
		return one, false, unplaced(err)
	}
	return firstIn(got.RedisMessage)
}

func firstIn(m rueidis.RedisMessage) (one rueidis.RedisMessage, there bool, err error) {
	if m.IsNil() {
		return one, false, nil
	}
	if !m.IsArray() {
		return m, true, nil
	}
	all, err := m.ToArray()
	for i := range all {
		if one, there, err = firstIn(all[i]); there || err != nil {
			break
		}
	}
	return one, there, err
}

// namesOf returns an answer that has the names of the members of objects: those of the first one.
func namesOf(got send.Answer, err error) ([]string, error) {
	if err != nil || got.Nil {
		return nil, unplaced(err)
	}
	all, err := got.ToArray()
	for i := range all {
		if all[i].IsArray() {
			names, err := all[i].AsStrSlice()
			if names == nil {
				names = []string{}
			}
			return names, err
		}
	}
	return nil, err
}
