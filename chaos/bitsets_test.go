package chaos

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bitset"
)

// bitsBefore has the number that is added to; the bits of its calls follow it.
const bitsBefore = 64

// useBitset adds one to a number of a bitset, or sets a bit that nobody else sets.
func useBitset(ctx context.Context, w *worker, _ context.Context, name string) {
	s := bitset.New(w.c, name)
	if w.rnd.IntN(2) == 0 {
		w.holds++
		_ = w.operation(name, "add", 0, func() (int64, error) { return s.Uint(32, 0).Add(ctx, 1) })
		return
	}
	v := w.fresh(w.r.proc)
	at := bitsBefore + (v>>32)<<16 + v&0xffff
	w.exchange(name, "set", at, func() ([]int64, error) {
		if w.rnd.IntN(2) == 0 {
			return nil, s.SetRange(ctx, at, at+1)
		}
		was, err := s.Set(ctx, at)
		if err == nil && was[0] {
			err = fmt.Errorf("bit %d was set before", at)
		}
		return nil, err
	})
}

// checkBitset judges sums as those of an Update, and bits by what is left of them.
func checkBitset(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	s := bitset.New(c, name)
	n, err := s.Uint(32, 0).Get(ctx)
	if err != nil {
		return []string{err.Error()}, 0
	}
	all, err := s.Bytes(ctx)
	if err != nil {
		return []string{err.Error()}, 0
	}
	found, chances = countedOnce(operations(events, name, "add"), n)
	more, further := bitHistory(operations(events, name, "set"), all)
	return append(found, more...), chances + further
}

// bitHistory judges bits, each set by one call: that of each that was done is 1, that of each that was not is 0, and so is every other.
func bitHistory(ops []event, all []byte) (found []string, chances int) {
	is := func(at int64) bool { return at/8 < int64(len(all)) && all[at/8]>>(7-at%8)&1 == 1 }
	mine := map[int64]bool{}
	for _, o := range ops {
		mine[o.Value] = true
		switch {
		case o.Outcome == done && !is(o.Value):
			found = append(found, fmt.Sprintf("bit %d was set, and is 0", o.Value))
		case o.Outcome == not && is(o.Value):
			found = append(found, fmt.Sprintf("bit %d is 1, and its call says: %s", o.Value, o.Error))
		}
	}
	for at := int64(bitsBefore); at < 8*int64(len(all)); at++ {
		if is(at) && !mine[at] {
			found = append(found, fmt.Sprintf("bit %d is 1, and nobody set it", at))
		}
	}
	return found, int(count(ops, unknown))
}

func TestWrongBitsAreFound(t *testing.T) {
	t.Parallel()
	op := func(at int64, outcome string) event { return event{Op: "set", Value: at, Outcome: outcome} }
	bits := func(all ...byte) []byte { return append(make([]byte, bitsBefore/8), all...) }
	for name, c := range map[string]struct {
		ops            []event
		all            []byte
		found, chances int
	}{
		"each is set":          {[]event{op(64, done), op(73, done)}, bits(0x80, 0x40), 0, 0},
		"one may be set":       {[]event{op(64, done), op(73, unknown)}, bits(0x80, 0x40), 0, 1},
		"one may not be set":   {[]event{op(64, done), op(73, unknown)}, bits(0x80), 0, 1},
		"one is lost":          {[]event{op(64, done), op(73, done)}, bits(0x80), 1, 0},
		"another was set":      {[]event{op(64, done)}, bits(0x40), 2, 0},
		"one was refused":      {[]event{op(64, not)}, bits(0x80), 1, 0},
		"nobody set it":        {nil, bits(0, 1), 1, 0},
		"all are gone":         {[]event{op(64, done)}, nil, 1, 0},
		"the number is no bit": {nil, []byte{0xff, 0, 0, 0, 0, 0, 0, 0}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := bitHistory(c.ops, c.all)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.chances, chances)
		})
	}
}
