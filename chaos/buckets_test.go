package chaos

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bucket"
)

func bucketOf(c *rueidisson.Client, name string) *bucket.Bucket[int64] {
	return bucket.New[int64](c, name)
}

// useBucket does an operation on a bucket, as one of its own or as one of many.
func useBucket(ctx context.Context, w *worker, _ context.Context, name string) {
	b, many, v := bucketOf(w.c, name), bucket.NewMany[int64](w.c), w.fresh(w.r.proc)
	switch w.rnd.IntN(10) {
	case 0:
		w.exchange(name, "put", v, func() ([]int64, error) { return nil, b.Set(ctx, v) })
	case 1:
		w.exchange(name, "put", v, func() ([]int64, error) { return nil, many.Set(ctx, map[string]int64{name: v}) })
	case 2, 3:
		w.exchange(name, "get", 0, func() ([]int64, error) { return one(b.Get(ctx)) })
	case 4:
		w.exchange(name, "get", 0, func() ([]int64, error) {
			all, err := many.Get(ctx, name)
			v, there := all[name]
			return one(v, there, err)
		})
	case 5:
		w.exchange(name, "swap", v, func() ([]int64, error) { return one(b.Swap(ctx, v)) })
	case 6:
		w.exchange(name, "take", 0, func() ([]int64, error) { return one(b.Take(ctx)) })
	case 7:
		old, there, err := b.Get(ctx)
		if err != nil || !there {
			return
		}
		w.exchange(name, "compare and swap", v, func() ([]int64, error) {
			done, err := b.CompareAndSwap(ctx, old, v)
			return []int64{old}, happened(done, err)
		})
	case 8:
		w.exchange(name, "replace", v, func() ([]int64, error) { return nil, happened(b.SetIfExists(ctx, v)) })
	case 9:
		w.exchange(name, "put if absent", v, func() ([]int64, error) { return nil, happened(b.SetIfAbsent(ctx, v)) })
	}
}

// checkBucket judges a bucket as an entry of a map is judged.
func checkBucket(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	last, err := one(bucketOf(c, name).Get(ctx))
	if err != nil {
		return []string{err.Error()}, 0
	}
	return entryHistory(operations(events, name, ""), last)
}

// updateBucket counts in a bucket.
func updateBucket(ctx context.Context, w *worker, _ context.Context, name string) {
	w.holds++
	_ = w.operation(name, "update", 0, func() (int64, error) {
		v, _, err := bucketOf(w.c, name).Update(ctx, func(old int64, _ bool) (int64, bucket.Verdict, error) { return old + 1, bucket.Store, nil })
		return v, err
	})
}

// updated judges the Updates of a bucket as Computes are judged.
func updated(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	n, _, err := bucketOf(c, name).Get(ctx)
	if err != nil {
		return []string{err.Error()}, 0
	}
	return countedOnce(operations(events, name, "update"), n)
}

// appendOrRead appends a number to bytes, or reads the first ones.
func appendOrRead(ctx context.Context, w *worker, _ context.Context, name string) {
	b := bucket.NewBytes(w.c, name)
	if w.rnd.IntN(4) == 0 {
		w.exchange(name, "read", 0, func() ([]int64, error) {
			p := make([]byte, 8)
			if n, err := b.ReadAt(ctx, p, 0); n < len(p) {
				if err == io.EOF {
					err = nil
				}
				return nil, err
			}
			return []int64{int64(binary.BigEndian.Uint64(p))}, nil
		})
		return
	}
	v := w.fresh(w.r.proc)
	w.exchange(name, "append", v, func() ([]int64, error) {
		size, err := b.Append(ctx, binary.BigEndian.AppendUint64(nil, uint64(v)))
		return []int64{size}, err
	})
}

// appended reads all bytes, and judges them.
func appended(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	all, err := io.ReadAll(bucket.NewBytes(c, name).Reader(ctx))
	if err != nil {
		return []string{err.Error()}, 0
	}
	return appendHistory(operations(events, name, ""), all)
}

// appendHistory judges what was appended, 8 bytes at a time: each number that was appended is there once, at the end that its caller
// was told; none is there that was not appended; the first one was read by all that read one.
func appendHistory(ops []event, all []byte) (found []string, chances int) {
	if len(all)%8 != 0 {
		return []string{fmt.Sprintf("%d bytes are no whole numbers", len(all))}, 0
	}
	at := map[int64]int64{}
	for i := 0; i < len(all); i += 8 {
		v := int64(binary.BigEndian.Uint64(all[i:]))
		if _, twice := at[v]; twice {
			found = append(found, fmt.Sprintf("%x was appended twice", v))
		}
		at[v] = int64(i + 8)
	}
	known := map[int64]bool{}
	for _, o := range ops {
		switch end, there := at[o.Value]; {
		case o.Op == "read":
			if o.Outcome == done && len(o.Values) > 0 && (len(all) == 0 || at[o.Values[0]] != 8) {
				found = append(found, fmt.Sprintf("%x was read, and is not the first", o.Values[0]))
			}
		case o.Outcome == done && !there:
			found = append(found, fmt.Sprintf("%x was appended, and is gone", o.Value))
		case o.Outcome == done && end != o.Values[0]:
			found = append(found, fmt.Sprintf("%x ends at %d, its caller was told %d", o.Value, end, o.Values[0]))
		case o.Outcome == not && there:
			found = append(found, fmt.Sprintf("%x is there, and its append says: %s", o.Value, o.Error))
		}
		known[o.Value] = true
	}
	for v := range at {
		if !known[v] {
			found = append(found, fmt.Sprintf("%x was never appended", v))
		}
	}
	return found, int(count(ops, unknown))
}

func TestWrongAppendsAreFound(t *testing.T) {
	t.Parallel()
	bytes := func(all ...int64) (b []byte) {
		for _, v := range all {
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		}
		return b
	}
	op := func(name string, value int64, outcome string, values ...int64) event {
		return event{Op: name, Value: value, Outcome: outcome, Values: values}
	}
	for name, c := range map[string]struct {
		ops     []event
		all     []byte
		found   int
		chances int
	}{
		"each is there":               {[]event{op("append", 7, done, 8), op("append", 9, done, 16)}, bytes(7, 9), 0, 0},
		"one may be there":            {[]event{op("append", 7, done, 8), op("append", 9, unknown, 0)}, bytes(7, 9), 0, 1},
		"one may not be there":        {[]event{op("append", 7, done, 8), op("append", 9, unknown, 0)}, bytes(7), 0, 1},
		"one is gone":                 {[]event{op("append", 7, done, 8), op("append", 9, done, 16)}, bytes(7), 1, 0},
		"one is there twice":          {[]event{op("append", 7, unknown, 0)}, bytes(7, 7), 1, 1},
		"one was refused":             {[]event{op("append", 7, not, 0)}, bytes(7), 1, 0},
		"one was never appended":      {nil, bytes(7), 1, 0},
		"one is in another place":     {[]event{op("append", 7, done, 8), op("append", 9, done, 16)}, bytes(9, 7), 2, 0},
		"half of one":                 {[]event{op("append", 7, unknown, 0)}, bytes(7)[:3], 1, 0},
		"the first is read":           {[]event{op("append", 7, done, 8), op("read", 0, done, 7)}, bytes(7), 0, 0},
		"none is read":                {[]event{op("append", 7, done, 8), op("read", 0, done)}, bytes(7), 0, 0},
		"another is read as first":    {[]event{op("append", 7, done, 8), op("append", 9, done, 16), op("read", 0, done, 9)}, bytes(7, 9), 1, 0},
		"what is not there is read":   {[]event{op("append", 7, done, 8), op("read", 0, done, 5)}, bytes(7), 1, 0},
		"a read that was not allowed": {[]event{op("append", 7, done, 8), op("read", 0, not)}, bytes(7), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := appendHistory(c.ops, c.all)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.chances, chances)
		})
	}
}

func TestWrongCountsAreFound(t *testing.T) {
	t.Parallel()
	op := func(value int64, outcome string) event { return event{Value: value, Outcome: outcome} }
	for name, c := range map[string]struct {
		ops   []event
		last  int64
		found int
	}{
		"each counts":             {[]event{op(1, done), op(2, done)}, 2, 0},
		"one may count":           {[]event{op(1, done), op(0, unknown)}, 2, 0},
		"one may not count":       {[]event{op(1, done), op(0, unknown)}, 1, 0},
		"one is lost":             {[]event{op(1, done), op(2, done)}, 1, 1},
		"one counts twice":        {[]event{op(1, done), op(0, unknown)}, 3, 1},
		"two make the same":       {[]event{op(1, done), op(1, done)}, 2, 1},
		"one that failed counted": {[]event{op(1, done), op(0, not)}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _ := countedOnce(c.ops, c.last)
			require.Len(t, found, c.found, found)
		})
	}
}
