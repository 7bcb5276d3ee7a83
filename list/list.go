package list

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// List is a handle on the list of one name, which Redisson's RList shares. It
// keeps no elements, so it may be used by any number of goroutines, and any number
// of handles on one name are the same list.
type List[T any] struct {
	o     whole.Object
	codec codec.Codec[T]
}

// New returns a handle on the list of that name.
func New[T any](c Client, name string, opts ...Option) *List[T] {
	e := c.Engine()
	l := &List[T]{o: whole.New(e, "list", "list", name, whole.Alone)}
	cfg, err := object.Options(config{}, opts, Option.applyHandle)
	if err == nil {
		l.codec, err = object.Codec[T](e, cfg.family, cfg.codec)
	}
	l.o.Bad = cmp.Or(err, object.CheckAlone(e, l.o.Key))
	return l
}

const (
	// mostIndexes bounds the indexes of one call: each is a walk of the server.
	mostIndexes = 256
	// mostRead bounds the elements of one answer: so many take the server 2 ms.
	mostRead = 2000
)

// Append puts elements at the end, in their order, and returns how many the list has then. Up to 5,000 of them or 1 MB are
// one step. More are appended in parts, one after the other, and after an error the first of them may be there. Without
// elements it is Len. It is sent once.
//
// Cost: one command for each part. Errors: [ErrOutcomeUnknown]; [ErrInvalidArgument]; ctx's error and cause;
// [ErrClosed]; Redis' and the network's. Source: RList.add, addAll.
func (l *List[T]) Append(ctx context.Context, vs ...T) (size int64, err error) {
	size, err = l.push(ctx, rpush, vs)
	return size, l.o.Failed("append to", err)
}

// Prepend puts elements before the first one, so that they have the order of the arguments then. Parts are put there from the
// last to the first. Else it is as Append.
//
// Cost and errors: as Append. Source: RList.addAll(0, elements).
func (l *List[T]) Prepend(ctx context.Context, vs ...T) (size int64, err error) {
	size, err = l.push(ctx, lpush, vs)
	return size, l.o.Failed("prepend to", err)
}

// push sends elements, in the order in which the command takes them.
func (l *List[T]) push(ctx context.Context, by send.Operation, vs []T) (size int64, err error) {
	if len(vs) == 0 {
		return read(ctx, l, send.Number, llen)
	}
	texts, err := l.encodeAll(ctx, vs)
	if by == send.Operation(lpush) {
		slices.Reverse(texts)
	}
	for len(texts) > 0 && err == nil {
		n := part(texts)
		var now int64
		if now, err = write(ctx, l, send.Number, by, texts[:n]...); err == nil {
			size, texts = now, texts[n:]
		}
	}
	return size, err
}

// part returns how many elements one command has.
func part(texts []string) int {
	bytes := 0
	for i, text := range texts {
		if bytes += len(text); i > 0 && (i == paging.Most || bytes > paging.Bytes) {
			return i
		}
	}
	return len(texts)
}

// Insert puts elements before the one that has the index, in their order, and reports whether it did: an index after the end is
// none. The index of the end appends. It is one step: up to 5,000 elements and 1 MB. It is sent once.
//
// Cost: one script call, in which the server walks to the place for each element: 10 to 26 ms in a million. For many
// elements it pushes again what is before or after the place, whichever is less, if that takes less time: it may be a second
// in the middle of a million. Errors: as Append. Source: RList.add(index, element), addAll(index, elements).
func (l *List[T]) Insert(ctx context.Context, i int64, vs ...T) (did bool, err error) {
	texts, err := l.encodeAll(ctx, vs)
	switch {
	case err != nil:
	case i < 0:
		err = fmt.Errorf("%w: index %d", ErrInvalidArgument, i)
	case len(texts) > 0 && part(texts) < len(texts):
		err = fmt.Errorf("%w: %d elements at once: %d or 1 MB at most", ErrInvalidArgument, len(texts), paging.Most)
	case len(texts) == 0:
		n, failed := read(ctx, l, send.Number, llen)
		did, err = failed == nil && i <= n, failed
	default:
		did, err = write(ctx, l, send.Yes, insertScript, append([]string{decimal(i), rand16()}, texts...)...)
	}
	return did, l.o.Failed("insert into", err)
}

// Get returns the element of an index, and whether there is one. A negative index counts from the end: -1 is that of the last
// element.
//
// Cost: one command, in which the server walks to the element from the nearer end. Errors: [ErrDecode], by a
// *[codec.DecodeError], and then there is an element; ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RList.get.
func (l *List[T]) Get(ctx context.Context, i int64) (v T, there bool, err error) {
	got, err := read(ctx, l, elementOf, readOne, decimal(i))
	return l.answer("get", got, err)
}

// GetMany returns the elements of some indexes, by those as they were given; an index that has none is left out. Elements that do not
// decode are left out, too, and are the error in addition to the others. After an error the map has what was read.
//
// Cost: one script call for each 256 indexes, or for as many as have about 1 MB. One call is of one moment. Errors:
// as Get. Source: RList.get(indexes).
func (l *List[T]) GetMany(ctx context.Context, indexes ...int64) (map[int64]T, error) {
	found := make(map[int64]T, len(indexes))
	err := l.o.Usable(ctx)
	var undecoded []error
	for err == nil && len(indexes) > 0 {
		some := indexes[:min(len(indexes), mostIndexes)]
		args := []string{decimal(paging.Bytes)}
		for _, i := range some {
			args = append(args, decimal(i))
		}
		var got []element
		if got, err = read(ctx, l, elementsOf, readMany, args...); err != nil {
			break
		}
		if len(got) == 0 || len(got) > len(some) {
			err = fmt.Errorf("%d elements of %d indexes", len(got), len(some))
			break
		}
		for k, one := range got {
			if v, there, bad := l.decode(one); bad != nil {
				undecoded = append(undecoded, bad)
			} else if there {
				found[some[k]] = v
			}
		}
		indexes = indexes[len(got):]
	}
	return found, l.o.Failed("get", errors.Join(append(undecoded, err)...))
}

// Set replaces the element of an index, and returns what was there. If there is no such index nothing is done, and had is
// false. A negative index counts from the end. It is sent once.
//
// Cost: one script call, in which the server walks to the element twice. Errors: as Append, and [ErrDecode] about what was
// there: then it was replaced. Source: RList.set.
func (l *List[T]) Set(ctx context.Context, i int64, v T) (old T, had bool, err error) {
	var got element
	text, err := l.encode(ctx, v)
	if err == nil {
		got, err = write(ctx, l, elementOf, setScript, decimal(i), text)
	}
	return l.answer("set an element of", got, err)
}

// RemoveAt removes the element of an index, and returns it. If there is no such index nothing is done, and had is false. A
// negative index counts from the end. It is sent once: after [ErrOutcomeUnknown] the element may be gone. It removes no other
// one, however equal, unlike Redisson.
//
// Cost: one script call: at the first and last element a pop, elsewhere the server walks through the list: 26 ms in a million.
// Errors: as Append, and [ErrDecode] about what was there: then it was removed. Source: RList.remove(index).
func (l *List[T]) RemoveAt(ctx context.Context, i int64) (v T, had bool, err error) {
	got, err := write(ctx, l, elementOf, removeAtScript, decimal(i), rand16())
	return l.answer("remove from", got, err)
}

// Remove removes up to n elements that are v, and returns how many it removed. It begins at the
// start, or at the end if n is negative; 0 removes all of them. It compares bytes, not values: a
// codec may have several for one value. It is sent once.
//
// Cost: one command, which looks at every element until it has found them: 26 ms in a million. Errors: as Append. Source:
// RList.remove(element, n), removeAll.
func (l *List[T]) Remove(ctx context.Context, v T, n int64) (removed int64, err error) {
	text, err := l.encode(ctx, v)
	if err == nil {
		removed, err = write(ctx, l, send.Number, lrem, decimal(n), text)
	}
	return removed, l.o.Failed("remove from", err)
}

// Index returns the index of the first element that is v, and whether there is one. It compares bytes, as Remove does.
//
// Cost: one command, which looks at every element until it has found it: 26 ms in a million. Errors: as Len. Source:
// RList.indexOf, contains.
func (l *List[T]) Index(ctx context.Context, v T) (i int64, there bool, err error) {
	return l.index(ctx, v, "1")
}

// LastIndex returns the index of the last element that is v, as Index does that of the first.
//
// Cost and errors: as Index. Source: RList.lastIndexOf.
func (l *List[T]) LastIndex(ctx context.Context, v T) (i int64, there bool, err error) {
	return l.index(ctx, v, "-1")
}

func (l *List[T]) index(ctx context.Context, v T, rank string) (i int64, there bool, err error) {
	text, err := l.encode(ctx, v)
	if err == nil {
		i, err = read(ctx, l, positionOf, lpos, text, "RANK", rank)
	}
	if err != nil || i < 0 {
		return 0, false, l.o.Failed("look into", err)
	}
	return i, true, nil
}

// positionOf returns the index that LPOS has found, -1 if it has found none.
func positionOf(got send.Answer, err error) (int64, error) {
	if err == nil && got.Nil {
		return -1, nil
	}
	return send.Number(got, err)
}

// Range returns the elements from the first to the last index, that included. Negative indexes count from the end, so that 0 and -1 are
// all. Elements that do not decode are left out, and are the error in addition to the others. After an error it returns what
// was read.
//
// What is read by one call is of one moment. Between two others may change the list, which shifts indexes.
//
// Cost: one script call for each 2,000 elements or about 1 MB. Errors: as Get. Source: RList.range, readAll.
func (l *List[T]) Range(ctx context.Context, first, last int64) (vs []T, err error) {
	var undecoded []error
	for one, err := range l.read(ctx, first, last) {
		if err != nil {
			return vs, l.o.Failed("read", errors.Join(append(undecoded, err)...))
		}
		if v, _, bad := l.decode(one); bad != nil {
			undecoded = append(undecoded, bad)
		} else {
			vs = append(vs, v)
		}
	}
	return vs, l.o.Failed("read", errors.Join(undecoded...))
}

// All walks the elements from the first to the last one, by their indexes. If others remove or insert at the start
// meanwhile, indexes shift: it may miss some, and yield some twice. If an element does not decode, All yields [ErrDecode],
// which wraps rueidisson.ErrNotice too, and continues; another error ends the walk.
//
// Cost: one script call for each 2,000 elements or about 1 MB. Errors: as Get. Source: RList.iterator, which sends a command for each
// element.
func (l *List[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for one, err := range l.read(ctx, 0, math.MaxInt64) {
			var v T
			if err != nil {
				yield(v, l.o.Failed("walk", err))
				return
			}
			if v, _, err = l.decode(one); !yield(v, core.Notice(l.o.Failed("walk", err))) {
				return
			}
		}
	}
}

// read reads the elements from the first to the last index, up to an error.
func (l *List[T]) read(ctx context.Context, first, last int64) iter.Seq2[element, error] {
	return func(yield func(element, error) bool) {
		for {
			got, err := read(ctx, l, pageOf, readRange, decimal(first), decimal(last), decimal(paging.Bytes), decimal(mostRead))
			if err != nil {
				yield(element{}, err)
				return
			}
			for _, one := range got.elements {
				if !yield(one, nil) {
					return
				}
			}
			if len(got.elements) == 0 || got.next > got.last {
				return
			}
			first = got.next
			if last < 0 { // what was counted from the end stays where it was
				last = got.last
			}
		}
	}
}

// Trim keeps the elements from the first to the last index, that included, and removes all others. Negative indexes count from the end. It
// is sent once.
//
// Cost: one command, in which the server frees what is removed. Errors: as Append. Source: RList.trim.
func (l *List[T]) Trim(ctx context.Context, first, last int64) error {
	_, err := write(ctx, l, func(_ send.Answer, err error) (bool, error) { return err == nil, err }, ltrim, decimal(first), decimal(last))
	return l.o.Failed("trim", err)
}

// Len returns how many elements there are.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source:
// RList.size.
func (l *List[T]) Len(ctx context.Context) (n int64, err error) {
	n, err = read(ctx, l, send.Number, llen)
	return n, l.o.Failed("measure", err)
}

// encode returns an element as it is in Redis.
func (l *List[T]) encode(ctx context.Context, v T) (string, error) {
	texts, err := l.encodeAll(ctx, []T{v})
	if err != nil {
		return "", err
	}
	return texts[0], nil
}

func (l *List[T]) encodeAll(ctx context.Context, vs []T) ([]string, error) {
	if err := object.Checked(ctx, l.o.Bad); err != nil {
		return nil, err
	}
	texts := make([]string, len(vs))
	for i, v := range vs {
		text, err := codec.Encode(l.codec, v)
		if err == nil {
			err = l.o.Engine.Fits(len(text))
		}
		if err != nil {
			return nil, fmt.Errorf("element: %w", err)
		}
		texts[i] = text
	}
	return texts, nil
}

// decode returns an element, if there is one.
func (l *List[T]) decode(one element) (v T, there bool, err error) {
	if !one.there {
		return v, false, nil
	}
	if v, err = codec.Decode(l.codec, one.text); err != nil {
		err = &codec.DecodeError{Name: l.o.Name, Bytes: []byte(one.text), Cause: err}
	}
	return v, true, err
}

// answer returns the element of an operation, or its error.
func (l *List[T]) answer(op string, one element, err error) (v T, there bool, _ error) {
	if err == nil {
		v, there, err = l.decode(one)
	}
	return v, there, l.o.Failed(op, err)
}

// element is what an index has, or that it has none.
type element struct {
	text  string
	there bool
}

func elementOf(got send.Answer, err error) (one element, _ error) {
	one.text, one.there, err = send.Text(got, err)
	return one, err
}

// elementsOf returns an answer that is an array of elements, or none of some.
func elementsOf(got send.Answer, err error) ([]element, error) {
	if err != nil {
		return nil, err
	}
	parts, err := got.ToArray()
	all := make([]element, len(parts))
	for i := range parts {
		if err == nil && !parts[i].IsNil() {
			all[i].there = true
			all[i].text, err = parts[i].ToString()
		}
	}
	return all, err
}

// page is some elements of a range, the index after them, and the last index of the range.
type page struct {
	next, last int64
	elements   []element
}

func pageOf(got send.Answer, err error) (p page, _ error) {
	all, err := elementsOf(got, err)
	if err == nil && len(all) < 2 {
		err = fmt.Errorf("a range of %d answers", len(all))
	}
	if err != nil {
		return p, err
	}
	p.elements = all[2:]
	p.next, err = strconv.ParseInt(all[0].text, 10, 64)
	if err == nil {
		p.last, err = strconv.ParseInt(all[1].text, 10, 64)
	}
	return p, err
}

// rand16 returns 16 random bytes, which no element is.
func rand16() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return string(b[:])
}

// read sends what changes nothing.
func read[T, A any](ctx context.Context, l *List[T], as func(send.Answer, error) (A, error), op send.Operation, args ...string) (answer A, err error) {
	if err = l.o.Usable(ctx); err != nil {
		return answer, err
	}
	return whole.Read(ctx, &l.o, as, op, args...)
}

// write sends what changes the list. It may be done still when ctx has ended.
func write[T, A any](ctx context.Context, l *List[T], as func(send.Answer, error) (A, error), op send.Operation, args ...string) (answer A, err error) {
	if err = l.o.Usable(ctx); err != nil {
		return answer, err
	}
	return whole.WriteBriefly(ctx, &l.o, as, op, l.o.Keys, args...)
}
