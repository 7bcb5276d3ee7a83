package bloom

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Filter is a handle on the Bloom filter of one name, which Redisson's RBloomFilter shares. Values are the same if their bytes
// are. It keeps the shape of the filter, and reads it again where that has changed. Any number of goroutines may use it.
type Filter[T any] struct {
	common
	h     *hub
	codec codec.Codec[T]
	kept  atomic.Pointer[shape]
}

// New returns a handle on the filter of that name. It does no I/O. A type that contains a map or an interface is refused:
// equal values of it may have different bytes.
func New[T any](c Client, name string, opts ...Option) *Filter[T] {
	cfg, err := object.Options(config{}, opts, Option.apply)
	var of codec.Codec[T]
	if err == nil {
		of, err = object.MemberCodec[T](c.Engine(), cfg.family, cfg.codec)
	}
	return &Filter[T]{common: newCommon(c, name, err), h: hubOf(c.Engine()), codec: of}
}

// Init makes a filter for n values, in which a value that was not added is found with probability p once there are n. It
// returns false if there is such a filter, made with the same n and p: then it changes nothing. So every process may call it
// when it starts. It returns [ErrOtherShape], which names both shapes, if there is a filter that was made with others.
//
// A filter has about -1.44·n·log2(p) bits, and -log2(p) bits for each value: 14.4 million, which is 1.8 MB, and 10 for a
// million values and p = 0.001. The memory is taken at once. A bitmap of that name that belongs to no filter is deleted.
//
// Cost: one script call, which takes the server about 1 ms for each 1.5 MB, once: 340 ms for the largest filter of 512 MB.
// Errors: [ErrOtherShape]; [ErrInvalidArgument] if n is below 1, p not between 0 and 1, or the filter would have no bit or
// more than 4294967294; [ErrDecode] if its config cannot be read; [ErrOutcomeUnknown], also if ctx ends before the answer;
// ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RBloomFilter.tryInit.
func (f *Filter[T]) Init(ctx context.Context, n int64, p float64) (made bool, err error) {
	var want Shape
	if err = f.o.Usable(ctx); err == nil {
		want, err = shapeFor(n, p)
	}
	if err == nil {
		made, err = send.Writing(f.h.e.Sender, ctx, func() (bool, error) { return f.init(ctx, want) })
	}
	return made, f.failed("init", err)
}

func (f *Filter[T]) init(ctx context.Context, want Shape) (made bool, err error) {
	size, hashes := want.shape().texts()
	got, err := f.h.e.RunBriefly(ctx, initScript, f.o.Keys, []string{
		size, hashes, strconv.FormatInt(want.Insertions, 10), javaDouble(want.FalseProbability), strconv.FormatInt(want.Bits-1, 10),
	})
	if err != nil {
		return false, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return false, err
	}
	there := want
	if made = len(parts) == 0; !made {
		if there, err = parseConfig(textsOf(parts)); err != nil {
			return false, err
		}
	}
	s := there.shape()
	f.kept.Store(&s)
	switch {
	case there.Insertions != want.Insertions || there.FalseProbability != want.FalseProbability:
		return false, fmt.Errorf("%w: it has %v, and was to have %v: Delete removes it", ErrOtherShape, there, want)
	case !made && got.Replayed:
		return false, errWhose
	}
	return made, nil
}

// Shape returns how the filter was made.
//
// Cost: one command. Errors: [ErrNotSet]; [ErrDecode] if its config cannot be read; ctx's error and cause;
// [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source: RBloomFilter.getSize, getHashIterations,
// getExpectedInsertions, getFalseProbability.
func (f *Filter[T]) Shape(ctx context.Context) (s Shape, err error) {
	if err = f.o.Usable(ctx); err == nil {
		s, err = f.h.configs.Do(ctx, f.o.Key, struct{}{})
	}
	return s, f.failed("look at", err)
}

// Add adds values. It may be repeated: an added value stays. After an error some may have been added, and others not.
// After nil all of them are found, as long as the server forgets nothing and the filter is not deleted.
//
// Cost: one script call for each 1,000 bits of values, 16 at a time; none without values; one more command for the first
// operation of the handle, and where the filter was made anew. Errors: [ErrNotSet]; [ErrDecode] if its config cannot be
// read; [ErrOutcomeUnknown], also if ctx ends before the answer; [ErrInvalidArgument]; [ErrOtherShape]; ctx's error and
// cause; [ErrClosed]; Redis' and the network's. Source: RBloomFilter.add.
func (f *Filter[T]) Add(ctx context.Context, vs ...T) error {
	_, err := f.add(ctx, vs, false)
	return err
}

// AddNew adds values, as Add does, and reports of each whether it was certainly not added before. False means that it was
// probably added before, or that other values have its bits. Of equal values of one call, at most one is new.
//
// If a reply is lost, the values are sent again, and one that seems to be there may be so by the first send. Then AddNew
// returns [ErrOutcomeUnknown], and all values are in the filter.
//
// Cost and errors: as Add. Source: RBloomFilter.add.
func (f *Filter[T]) AddNew(ctx context.Context, vs ...T) ([]bool, error) { return f.add(ctx, vs, true) }

func (f *Filter[T]) add(ctx context.Context, vs []T, tell bool) (fresh []bool, err error) {
	values, err := f.hashes(ctx, vs)
	if err == nil && len(values) > 0 {
		fresh, err = send.Writing(f.h.e.Sender, ctx, func() ([]bool, error) { return f.addHashes(ctx, values, tell) })
	}
	return fresh, f.failed("add to", err)
}

// addHashes adds values, all of them anew if the filter turns out to have another shape.
func (f *Filter[T]) addHashes(ctx context.Context, values []hash, tell bool) ([]bool, error) {
	var fresh []bool
	var sent, doubtful atomic.Bool // a value may have been added; one may seem to have been there by that
	var shapes []shape             // in which some may have been added
	err := f.shaped(ctx, func(s shape) error {
		again := slices.Contains(shapes, s)
		defer func() {
			if sent.Swap(false) {
				shapes = append(shapes, s)
			}
		}()
		if tell {
			fresh = make([]bool, len(values))
		}
		return inPieces(ctx, f.h, values, max(1, mostBits/s.k), func(at int, some []hash) error {
			replayed, news, err := f.h.add(ctx, f.o.Key, s, some, tell)
			if replayed || err == nil {
				sent.Store(true)
			}
			if err != nil {
				return err
			}
			if tell && len(news) != len(some) {
				return fmt.Errorf("%d answers about %d values", len(news), len(some))
			}
			for i, is := range news {
				fresh[at+i] = is == 1
			}
			if (replayed || again) && slices.Contains(news, 0) {
				doubtful.Store(true)
			}
			return nil
		})
	})
	switch {
	case err != nil:
		return nil, err
	case doubtful.Load():
		return nil, errDoubtful
	}
	return fresh, nil
}

// Has reports whether a value is probably in the filter. False is certain: it was not added. True is wrong for about
// p of the values that were not added, once the filter has n.
//
// Calls of one client that come while others are under way are sent together.
//
// Cost: one transaction, or a share of one; one more command for the first operation of the handle, and where the filter was
// made anew. Errors: [ErrNotSet]; [ErrDecode] if its config cannot be read; ctx's error and cause; [ErrInvalidArgument];
// [ErrOtherShape]; [ErrClosed]; Redis' and the network's. Source: RBloomFilter.contains.
func (f *Filter[T]) Has(ctx context.Context, v T) (has bool, err error) {
	if err = f.o.Usable(ctx); err == nil {
		var of hash
		if of, err = f.hash(v); err == nil {
			err = f.shaped(ctx, func(s shape) error {
				has, err = f.h.looks.Do(ctx, place{f.o.Key, s}, look{of, s.k})
				return err
			})
		}
	}
	return has, f.failed("look in", err)
}

// HasEach reports of each value what [Filter.Has] reports. The answers are not of one moment if they take more than one
// exchange.
//
// Cost: one transaction for each 1,000 bits of values, 16 at a time; none without values. Errors: as [Filter.Has].
// Source: RBloomFilter.contains, which returns their number.
func (f *Filter[T]) HasEach(ctx context.Context, vs ...T) (has []bool, err error) {
	values, err := f.hashes(ctx, vs)
	if err == nil && len(values) > 0 {
		has, err = send.Reading(f.h.e.Sender, ctx, func() ([]bool, error) {
			all := make([]bool, len(values))
			return all, f.shaped(ctx, func(s shape) error {
				return inPieces(ctx, f.h, values, max(1, mostBits/s.k), func(at int, some []hash) error {
					got, err := f.h.look(ctx, f.o.Key, s, some)
					copy(all[at:], got)
					return err
				})
			})
		})
	}
	if err != nil {
		has = nil
	}
	return has, f.failed("look in", err)
}

// Count returns about how many different values were added, computed from the number of bits that are set. Of a filter whose
// bits are all set it returns the largest int64.
//
// Cost: one transaction for each 2 MB of the filter, which takes the server about 1 ms, 16 at a time. Several are not of one
// moment. Errors: as [Filter.Has]. Source: RBloomFilter.count.
func (f *Filter[T]) Count(ctx context.Context) (n int64, err error) {
	if err = f.o.Usable(ctx); err == nil {
		n, err = send.Reading(f.h.e.Sender, ctx, func() (about int64, err error) {
			err = f.shaped(ctx, func(s shape) error {
				about, err = f.count(ctx, s)
				return err
			})
			return about, err
		})
	}
	return n, f.failed("count", err)
}

func (f *Filter[T]) count(ctx context.Context, s shape) (int64, error) {
	bytes := int64(s.m+7) / 8
	pages := make([]int64, 0, bytes/mostCounted+1)
	for at := int64(0); at < bytes; at += mostCounted {
		pages = append(pages, at)
	}
	var set atomic.Int64
	err := inPieces(ctx, f.h, pages, 1, func(_ int, page []int64) error {
		n, err := f.h.count(ctx, f.o.Key, s, page[0], min(page[0]+mostCounted, bytes)-1)
		set.Add(n)
		return err
	})
	return estimate(s, set.Load()), err
}

// estimate returns about how many values have set so many bits.
func estimate(s shape, set int64) int64 {
	n := math.Round(-float64(s.m) / float64(s.k) * math.Log(1-float64(set)/float64(s.m)))
	if !(n < math.MaxInt64) {
		return math.MaxInt64
	}
	return max(0, int64(n))
}

// inPieces calls do for each so many of all, and where they are from: first for the first of them, then for several at a time.
// It does not begin further ones after an error. A server without bit fields gets one at a time, since it takes long for each.
func inPieces[E any](ctx context.Context, h *hub, all []E, most int, do func(at int, some []E) error) error {
	if err := do(0, all[:min(most, len(all))]); err != nil {
		return err
	}
	var failed atomic.Bool
	var pieces errgroup.Group
	if pieces.SetLimit(mostPieces); h.plain.Load() {
		pieces.SetLimit(1)
	}
	for at := most; at < len(all) && !failed.Load(); at += most {
		pieces.Go(func() error { // ends with its exchange
			if ctx.Err() != nil {
				failed.Store(true)
				return core.ContextError(ctx)
			}
			err := do(at, all[at:min(at+most, len(all))])
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	return pieces.Wait()
}

// rereads bounds how often a call reads the shape again.
const rereads = 3

// shaped calls do with the shape of the filter, and again where the filter turns out to have another.
func (f *Filter[T]) shaped(ctx context.Context, do func(s shape) error) error {
	for read := 0; ; read++ {
		kept := f.kept.Load()
		if kept == nil {
			of, err := f.h.configs.Do(ctx, f.o.Key, struct{}{})
			if err != nil {
				return err
			}
			s := of.shape()
			kept = &s
			f.kept.Store(kept)
		}
		err := do(*kept)
		if !isChanged(err) {
			return err
		}
		f.kept.CompareAndSwap(kept, nil)
		if read == rereads {
			return err
		}
	}
}

// hash returns what stands for a value.
func (f *Filter[T]) hash(v T) (hash, error) {
	text, err := codec.Encode(f.codec, v)
	if err != nil {
		return hash{}, fmt.Errorf("value: %w", err)
	}
	return hashOf(text), nil
}

// hashes returns what stands for values, if the handle can be used.
func (f *Filter[T]) hashes(ctx context.Context, vs []T) ([]hash, error) {
	if err := f.o.Usable(ctx); err != nil {
		return nil, err
	}
	all := make([]hash, len(vs))
	for i, v := range vs {
		var err error
		if all[i], err = f.hash(v); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// failed adds the operation and the filter to err, and notifies the observer.
func (f *Filter[T]) failed(op string, err error) error {
	f.h.e.Outcome(f.o.Kind, f.o.Key, op, err)
	return f.o.Failed(op, err)
}
