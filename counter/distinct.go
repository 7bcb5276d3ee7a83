package counter

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Distinct is a handle on a HyperLogLog: it counts different values in 12 KB, with a standard error of 0.81 %, and does not
// keep them. Values are the same if their bytes are. It has no state, so any number of goroutines may use it.
type Distinct[T any] struct {
	common
	h     *hub
	codec codec.Codec[T]
}

// NewDistinct returns a handle on the count of that name. A type that contains a map or an interface is refused: equal values
// of it may have different bytes.
func NewDistinct[T any](c Client, name string, opts ...DistinctOption) *Distinct[T] {
	cfg, err := object.Options(codecs{}, opts, DistinctOption.applyDistinct)
	var of codec.Codec[T]
	if err == nil {
		of, err = object.MemberCodec[T](c.Engine(), cfg.family, cfg.codec)
	}
	h, o := newObject(c, "distinct count", "HyperLogLog", name, whole.Alone, err)
	return &Distinct[T]{common{o}, h, of}
}

// Add adds values. Calls of one client that come while others are under way are sent together. An add may be repeated: a
// value counts once. More than 1,000 values, or 1 MB, are added in parts; after an error some may have been added.
//
// Cost: one command for each part, or a share of one; none without values. Errors: [ErrInvalidArgument];
// [ErrOutcomeUnknown], also if ctx ends before the answer; ctx's error and cause; [ErrClosed]; Redis' and the network's.
// Source: RHyperLogLog.add, addAll.
func (d *Distinct[T]) Add(ctx context.Context, vs ...T) error {
	err := d.o.Usable(ctx)
	var texts []string
	if err == nil {
		texts, err = d.encode(vs)
	}
	for err == nil && len(texts) > 0 {
		some := texts[:portion(len(texts), func(i int) (int, int) { return 1, len(texts[i]) })]
		texts = texts[len(some):]
		_, err = d.h.values.Do(ctx, d.o.Key, some)
	}
	return d.h.failed(d.o, "add to", err)
}

// Count returns about how many different values were added, 0 if there were none.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RHyperLogLog.count.
func (d *Distinct[T]) Count(ctx context.Context) (n int64, err error) { return d.CountWith(ctx) }

// CountWith returns about how many different values were added to this count or to one of the others. On a cluster all names
// share a hash tag, such as a:{1} and b:{1}.
//
// Cost: one command, which takes the server up to 50 µs for each name on Redis 7.0, and a few on Redis 8. Errors: as
// [Distinct.Count].
// Source: RHyperLogLog.countWith.
func (d *Distinct[T]) CountWith(ctx context.Context, others ...string) (n int64, err error) {
	on, err := d.with(ctx, others)
	if err == nil {
		n, err = send.Reading(d.h.e.Sender, ctx, func() (int64, error) {
			return send.Number(d.h.e.Run(ctx, pfcount, on, nil))
		})
	}
	return n, d.h.failed(d.o, "count", err)
}

// Merge adds all that was added to the others. It may be repeated. On a cluster all names share a hash tag, such as a:{1} and
// b:{1}.
//
// Cost: one command, which takes the server as long as that of [Distinct.CountWith]; none without names. Errors: as
// [Distinct.Add].
// Source: RHyperLogLog.mergeWith.
func (d *Distinct[T]) Merge(ctx context.Context, others ...string) error {
	on, err := d.with(ctx, others)
	if err == nil && len(others) > 0 {
		_, err = whole.Write(ctx, d.o, ignored, pfmerge, on)
	}
	return d.h.failed(d.o, "merge into", err)
}

// with returns the keys of this count and of others.
func (d *Distinct[T]) with(ctx context.Context, others []string) ([]string, error) {
	if err := d.o.Usable(ctx); err != nil {
		return nil, err
	}
	on := append(make([]string, 0, 1+len(others)), d.o.Key)
	for _, name := range others {
		key := d.h.e.Map(name)
		if key == "" {
			return nil, fmt.Errorf("%w: empty name", ErrInvalidArgument)
		}
		if err := object.Together(d.h.e, d.o.Key, key); err != nil {
			return nil, err
		}
		on = append(on, key)
	}
	return on, nil
}

// encode returns values as they are sent.
func (d *Distinct[T]) encode(vs []T) ([]string, error) {
	texts := make([]string, len(vs))
	for i, v := range vs {
		text, err := codec.Encode(d.codec, v)
		if err == nil {
			err = d.h.e.Fits(len(text))
		}
		if err != nil {
			return nil, fmt.Errorf("value: %w", err)
		}
		texts[i] = text
	}
	return texts, nil
}

// The bounds of one command, which keep the server for a millisecond at most.
const (
	mostValues = 1000
	mostBytes  = 1 << 20
)

// portion returns how many of n things go out as one, but one at least. of returns the values and the bytes of one.
func portion(n int, of func(i int) (values, bytes int)) int {
	all, size := 0, 0
	for i := range n {
		values, bytes := of(i)
		if all, size = all+values, size+bytes; i > 0 && (all > mostValues || size > mostBytes) {
			return i
		}
	}
	return n
}

type valuesCall = combine.Call[[]string, struct{}]

// cutValues returns how many of the waiting calls are sent as one.
func cutValues(waiting []*valuesCall) int {
	return portion(len(waiting), func(i int) (values, bytes int) {
		for _, text := range waiting[i].Ask {
			bytes += len(text)
		}
		return len(waiting[i].Ask), bytes
	})
}

// sendValues adds the values of all calls.
func (h *hub) sendValues(key string, _ int, batch []*valuesCall) error {
	if err := h.e.Open(); err != nil {
		return err
	}
	all := batch[0].Ask
	if len(batch) > 1 {
		n := 0
		for _, c := range batch {
			n += len(c.Ask)
		}
		all = make([]string, 0, n)
		for _, c := range batch {
			all = append(all, c.Ask...)
		}
	}
	_, err := h.e.Run(context.Background(), pfadd, []string{key}, all)
	return err
}
