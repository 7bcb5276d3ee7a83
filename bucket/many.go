package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Many reads and writes buckets of many names, which Redisson's RBuckets shares. It
// holds nothing, so it may be used by any number of goroutines.
type Many[T any] struct {
	coding[T]
	h   *hub
	bad error // what every operation returns, if the handle cannot be used
}

// NewMany returns a handle on the buckets of a client.
func NewMany[T any](c Client, opts ...Option) *Many[T] {
	e := c.Engine()
	coding, err := newCoding[T](e, opts)
	return &Many[T]{coding, hubOf(e), err}
}

// mostNames bounds the buckets of one command.
const mostNames = 256

// entry is one of many buckets.
type entry struct {
	name string // as the caller wrote it
	key  string // as it is mapped
	text string // what is written
}

// Get returns the values of those of the buckets that exist, by their names. Values that do not decode are
// left out, and are the error in addition to the others. The values of one command are of one moment. A key of another type
// is left out, as if it did not exist. After an error the map has what was read.
//
// Cost: one script call for each 256 names, or for as many as have about 1 MB, one after the other. It looks at the lengths
// first, so that no answer is longer than the first value or 1 MB. On a cluster each slot
// has calls of its own, 32 slots at the same time. Errors: [ErrDecode], by a *[codec.DecodeError]; [ErrSlotMoving];
// ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source: RBuckets.get.
func (m *Many[T]) Get(ctx context.Context, names ...string) (map[string]T, error) {
	all := make([]entry, len(names))
	for i, name := range names {
		all[i].name = name
	}
	found := make(map[string]T, len(names))
	if err := m.usable(ctx, all); err != nil {
		return found, m.failed("get", all, err)
	}
	slices.SortFunc(all, byKey)
	var mu sync.Mutex
	var undecoded []error
	err := m.inGroups(slices.Compact(all), func(some []entry) (n int, err error) {
		texts, err := m.read(ctx, some)
		if err != nil {
			return 0, m.failed("get", some, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for i, got := range texts {
			if v, there, err := m.decode(some[i].name, got); err != nil {
				undecoded = append(undecoded, m.failed("get", some[i:i+1], err))
			} else if there {
				found[some[i].name] = v
			}
		}
		return len(texts), nil
	})
	return found, errors.Join(append(undecoded, err)...)
}

func byKey(a, b entry) int { return cmp.Compare(a.key, b.key) }

// read reads the first of some buckets of one slot: as many as one answer has room for.
func (m *Many[T]) read(ctx context.Context, some []entry) ([]value, error) {
	on := keysOf(some)
	size := m.h.sizes.Of(on[0])
	return send.Reading(m.h.e.Sender, ctx, func() ([]value, error) {
		if err := m.h.e.Open(); err != nil {
			return nil, err
		}
		got, err := m.h.e.Run(ctx, send.Expect(readMany, size.Load()), on, []string{decimal(paging.Bytes)})
		if err != nil {
			return nil, err
		}
		parts, err := got.ToArray()
		if err != nil {
			return nil, err
		}
		if len(parts) == 0 || len(parts) > len(some) {
			return nil, fmt.Errorf("%d values of %d buckets", len(parts), len(some))
		}
		all := make([]value, len(parts))
		for i := range parts {
			if parts[i].IsNil() {
				continue
			}
			text, err := parts[i].ToString()
			if err != nil {
				return nil, err
			}
			m.h.sizes.Of(on[i]).Saw(len(text), 1)
			all[i] = value{text, true}
		}
		return all, nil
	})
}

// Set writes the values of buckets, by their names, as [Bucket.Set] does, all with the same time to live. Those of one
// command appear together: of one slot of a cluster up to 256 buckets or 1 MB. After an error some may have been written,
// and others not.
//
// Cost: one command for each part, MSET, or with [WithTTL] or [WithKeepTTL] one script call. On a cluster each slot has
// commands of its own, 32 slots at the same time. Errors: as [Bucket.Set], and [ErrSlotMoving]. Source: RBuckets.set.
func (m *Many[T]) Set(ctx context.Context, values map[string]T, opts ...SetOption) error {
	all, l, err := m.written(ctx, values, opts)
	if err != nil {
		return m.failed("set", all, err)
	}
	return m.inGroups(all, func(some []entry) (int, error) {
		n := cut(some)
		_, err := m.write(ctx, some[:n], l, mset, false)
		return n, m.failed("set", some[:n], err)
	})
}

// SetAllIfAbsent writes the values of buckets, as Set does, if no key has one of the names, and reports whether it did. It
// is one step, however many there are: the server does nothing else meanwhile. On a cluster the names share a hash
// tag, such as a:{1} and b:{1}.
//
// Cost: one command, MSETNX, or with [WithTTL] one script call. Errors: as Set. Source: RBuckets.trySet.
func (m *Many[T]) SetAllIfAbsent(ctx context.Context, values map[string]T, opts ...SetOption) (did bool, err error) {
	all, l, err := m.written(ctx, values, opts)
	if err == nil && m.h.e.Cluster() && !m.h.e.SameSlot(keysOf(all)...) {
		err = fmt.Errorf("%w: the names are in several slots of the cluster: give them one hash tag", ErrInvalidArgument)
	}
	switch {
	case err != nil:
	case len(all) == 0:
		did = true
	default:
		did, err = m.write(ctx, all, l, msetnx, true)
	}
	return did, m.failed("set all if absent", all, err)
}

// written returns what is to be written, in the order of the keys.
func (m *Many[T]) written(ctx context.Context, values map[string]T, opts []SetOption) (all []entry, l lifetime, err error) {
	for name := range maps.Keys(values) {
		all = append(all, entry{name: name})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	if err = m.usable(ctx, all); err == nil {
		l, err = m.lifetime.of(opts)
	}
	for i := range all {
		if err != nil {
			break
		}
		if all[i].text, err = m.encode(m.h.e, values[all[i].name]); err != nil {
			err = fmt.Errorf("%s: %w", object.Quoted(all[i].name), err)
		}
	}
	slices.SortFunc(all, byKey)
	return all, l, err
}

// write writes some buckets of one slot: by the command where they are permanent, else by the script.
func (m *Many[T]) write(ctx context.Context, some []entry, l lifetime, by send.Operation, ifAbsent bool) (bool, error) {
	on, args := keysOf(some), make([]string, 0, 2*len(some))
	script := l.text() != "" && !(l.keep && ifAbsent) // there is nothing to keep
	if script {
		by, args = setManyScript, append(args, flag(ifAbsent), l.text())
		for _, one := range some {
			args = append(args, one.text)
		}
	} else {
		for _, one := range some {
			args = append(args, one.key, one.text)
		}
		on, args = on[:1], args[1:] // a name stands before each value
	}
	return send.Sent(m.h.e.Sender, ctx, func(ctx context.Context) (bool, error) {
		got, err := m.h.e.RunBriefly(ctx, by, on, args)
		if by == send.Operation(mset) {
			return err == nil, err
		}
		return send.Yes(got, err)
	})
}

// cut returns how many of some buckets go out as one.
func cut(some []entry) int {
	bytes := 0
	for i, one := range some {
		if bytes += len(one.key) + len(one.text); i > 0 && (i == mostNames || bytes > paging.Bytes) {
			return i
		}
	}
	return len(some)
}

// inGroups calls do for the buckets of each slot, see [send.BySlot].
func (m *Many[T]) inGroups(all []entry, do func(some []entry) (n int, err error)) error {
	return send.BySlot(m.h.e.Sender, all, func(one entry) string { return one.key }, mostNames, do)
}

// usable checks what every operation needs, and maps the names.
func (m *Many[T]) usable(ctx context.Context, all []entry) error {
	if err := object.Usable(ctx, m.h.e, m.bad); err != nil {
		return err
	}
	for i := range all {
		all[i].key = m.h.e.Map(all[i].name)
		if err := object.CheckAlone(m.h.e, all[i].key); err != nil {
			return fmt.Errorf("%s: %w", object.Quoted(all[i].name), err)
		}
	}
	return nil
}

// failed names the operation and the buckets, by the first of them, in an error that is not nil.
func (m *Many[T]) failed(op string, some []entry, err error) error {
	if err == nil {
		return nil
	}
	name := ""
	if len(some) > 0 {
		name = some[0].name
	}
	if len(some) > 1 {
		err = fmt.Errorf("with %d others: %w", len(some)-1, err)
	}
	return object.Failed(op, "bucket", name, unsaid(err))
}

// keysOf returns the keys of buckets.
func keysOf(some []entry) []string {
	keys := make([]string, len(some))
	for i, one := range some {
		keys[i] = one.key
	}
	return keys
}
